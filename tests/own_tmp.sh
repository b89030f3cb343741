#!/bin/sh
# own_tmp.sh COMMAND...: run a test in a temporary directory of its own, which must be empty when the
# test has passed. What a failed one leaves is there to be looked at.
set -u
TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/weir-test-XXXXXX") || exit 99
export TMPDIR
chmod 1777 "$TMPDIR" # some tests become another user
"$@"
status=$?
rmdir "$TMPDIR" 2>/dev/null && exit $status
case $status in
0 | 77)
	echo "left behind in the temporary directory:" >&2
	(cd "$TMPDIR" && find . -mindepth 1 | head -n 20) >&2
	rm -rf "$TMPDIR"
	exit 1
	;;
*)
	echo "left for inspection: $TMPDIR" >&2
	exit $status
	;;
esac
