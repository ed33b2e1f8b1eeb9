#!/bin/sh
# Builds the packages that are named (deb, rpm) for $ARCH, this machine's unless told, and prints their paths.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
sh "$here/tree.sh" >/dev/null
for format; do sh "$here/$format/build.sh"; done
