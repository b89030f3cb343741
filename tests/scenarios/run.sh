#!/bin/sh
# run.sh PROGRAM ROOT KIND: run the scenario files of a kind that lie beside the project, or in
# WEIR_SCENARIOS. Exit 77 (skipped), loudly, if there are none.
set -u
program=$1 root=$2 kind=$3
for dir in "${WEIR_SCENARIOS:-/nonexistent}" "$root/../shared/scenarios" "$root/../../shared/scenarios"; do
	set -- "$dir/$kind"/*.scn
	[ -e "$1" ] && exec "$program" "$@"
done
echo "SKIPPED: no $kind scenarios beside $root and none in WEIR_SCENARIOS" >&2
exit 77
