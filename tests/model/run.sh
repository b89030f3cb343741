#!/bin/sh
# The model of the barrier protocol: run.sh MODEL clean | mutants
set -u
model=$1
command -v spin >/dev/null || {
	echo "SKIPPED: no spin; the barrier protocol is not checked (apt-get install spin)" >&2
	exit 77
}
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
cp "$model" "$tmp/model.pml" && cd "$tmp" || exit 99

# check NAME FLAGS OPTIMISATION: what the checker says is in NAME.out; true if no rule is broken.
check() {
	spin $2 -a model.pml >"$1.out" 2>&1 || { cat "$1.out"; exit 1; }
	${CC:-cc} "$3" -DSAFETY -w -o "$1" pan.c || exit 1
	"./$1" -m200000 >"$1.out" 2>&1
	grep -q 'errors: 0' "$1.out" && ! grep -q 'not completed\|out of memory\|too small' "$1.out"
}

case $2 in
clean)
	check pan "" -O2 && status=0 || status=1
	grep -E 'violated|errors:|stored$|elapsed' pan.out
	exit $status
	;;
mutants)
	status=0
	for mutant in NO_CLOSE NO_LATE NO_BOUND NO_STALE NO_CANCEL NO_ORDER; do
		if check $mutant -D$mutant -O0; then
			echo "$mutant: not found"
			status=1
		else
			grep -m 1 violated $mutant.out || { cat $mutant.out; status=1; }
		fi
	done
	exit $status
	;;
esac
