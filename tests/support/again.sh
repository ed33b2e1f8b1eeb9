#!/bin/sh
# Runs this pytest command. In CI what failed is run once more, alone, and has to pass then.
# CI's two cores are shared: a daemon that got no processor for a minute says nothing of cmgr. Both runs are printed, so that
# a test which needs its second try is seen, and mended. By hand (without CI=true) nothing is tried twice.
set -u

"$@"
failed=$?
# 1: tests failed. Everything else (an interrupted run, no test at all) is no test's doing.
[ "$failed" = 1 ] && [ "${CI:-}" = true ] || exit "$failed"
echo "what failed is run once more, alone:"
exec "$@" --last-failed --last-failed-no-failures=none -n 0 --dist no
