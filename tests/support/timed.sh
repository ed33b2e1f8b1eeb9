#!/bin/sh
# timed.sh TARGET -c PART: runs a part of a target of make as its shell does, and says how long it took, on standard error and
# in build/times, which tests/docs/made/times.py makes a table of.
target=$1 began=$(date +%s)
sh -c "$3"
status=$?
took=$(($(date +%s) - began))
echo "make $target: $took s: $3" >&2
[ "$status" != 0 ] || { mkdir -p build && printf '%s\t%s\t%s\n' "$target" "$took" "$(printf %s "$3" | tr -s '\\\n\t ' ' ' | sed "s|$PWD/||g")" >>build/times; }
exit "$status"
