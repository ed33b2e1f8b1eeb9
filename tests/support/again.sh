#!/bin/sh
# again.sh COMMAND…: runs this pytest command, and what failed once more, alone. What passes then is named, and noted in
# build/second-tries. Without a command: the closing lines of a target of make, which count and name what was noted there.
#
# CI's two cores are shared: a daemon that got no processor for a minute says nothing of cmgr. So CI (CI=true) passes with
# what needed its second try, and shows it. A run by hand fails of it: it is a race, in cmgr or in the test.
set -u
export LC_ALL=C

noted=build/second-tries
if [ $# = 0 ]; then
    [ -s "$noted" ] || exit 0
    echo "passed only at their second try: $(wc -l <"$noted")"
    sed 's/^/  /' "$noted"
    [ "${CI:-}" = true ]
    exit
fi

failed() {
    sed -n 's/^  "\(.*\)": true,*$/\1/p' .pytest_cache/v/cache/lastfailed 2>/dev/null | sort
}

"$@"
code=$?
# 1: tests failed. Everything else (an interrupted run, no test at all) is no test's doing.
[ "$code" = 1 ] || exit "$code"
mkdir -p build
failed >build/failed
echo "what failed is run once more, alone:"
"$@" --last-failed --last-failed-no-failures=none -n 0 --dist no
code=$?
[ "$code" -gt 1 ] && exit "$code"
failed | comm -23 build/failed - >build/passed
sed 's/^/passed only at its second try: /' build/passed
cat build/passed >>"$noted"
exit "$code"
