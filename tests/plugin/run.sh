#!/bin/sh
# Builds the example job outside the tree against the installed headers, nothing else of the sources
# in reach, and runs it where there is a weir program.
#
#	run.sh BUILD-DIRECTORY SOURCE-ROOT [WEIR]
set -eu
build=$1 root=$2 weir=${3:+$(realpath "$3")}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

mkdir "$tmp/job"
if ! DESTDIR="$tmp/root" meson install -C "$build" --no-rebuild --quiet 2>/dev/null; then
	echo "meson install failed" >&2
	exit 1
fi
include=$(dirname "$(find "$tmp/root" -name weir.h)")/..
cp "$root/docs/examples/first-seen/job.c" "$tmp/job/"
cd "$tmp/job"
for cc in cc clang; do
	command -v $cc >/dev/null || continue
	$cc -std=gnu17 -O2 -Wall -Wextra -Wpedantic -Werror -fPIC -shared -I"$include" -o job.so job.c
done
# Every public header alone, in C and in C++.
for header in "$include"/weir/*.h; do
	name=weir/$(basename "$header")
	echo "#include <$name>" >one.c
	cc -std=gnu17 -Wall -Wextra -Wpedantic -Werror -I"$include" -fsyntax-only one.c
	if command -v c++ >/dev/null; then
		cp one.c one.cpp
		c++ -std=c++17 -Wall -Wextra -Werror -I"$include" -fsyntax-only one.cpp
	fi
done

if [ -z "$weir" ]; then
	echo "built; there is no weir program to run it"
	exit 0
fi
mkdir in
printf 'one\ntwo\none\n\nthree\n\ntwo' >in/a
printf 'four\ntwo\n' >in/b
"$weir" run ./job.so --set job.input=in --set job.output=out --set parallelism=2 >log 2>&1 || {
	cat log >&2
	exit 1
}
find out -name 'part-*' -exec cat {} + | LC_ALL=C sort >got
cat in/a in/b | sed 's/^twofour$/two\nfour/' | LC_ALL=C sort -u >expected
cmp got expected
