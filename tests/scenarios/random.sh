#!/bin/sh
# Random scenarios, with the expectations of an oracle that shares nothing with the product.
# random.sh SCENARIO ORACLE-DIR KIND FIRST COUNT
set -u
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
export PYTHONDONTWRITEBYTECODE=1
python3 "$2/$3.py" random "$4" "$5" "$tmp/random.scn" || exit 1
"$1" "$tmp/random.scn"
