#!/bin/sh
# Runs pytest on the interpreter that the .deb in dist/ brings along, with its libraries. What only tests need comes after
# them from .venv; cmgr is that of this checkout. Usage: shipped.sh DIRECTORY WORDS… (the package is unpacked there)
set -eu

root=$(cd "$(dirname "$0")/../.." && pwd)
to=$1
shift
set -- "$(ls "$root"/dist/cmgr_*_"$(dpkg --print-architecture)".deb)" "$@"
[ -f "$1" ] || { echo "dist/ has not the one package for this machine: make deb builds it" >&2; exit 1; }
rm -rf "$to"
dpkg-deb --extract "$1" "$to"
shift
to=$(cd "$to/usr/lib/cmgr" && pwd)
tools=$("$root/.venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
export PYTHONPATH="$root:$to/lib:$tools" PYTHONDONTWRITEBYTECODE=1
# What runs in the host is started without this environment. Debian's Python looks for libraries there.
mkdir -p "$to/python/lib/python3/dist-packages"
printf '%s\n' "$root" "$to/lib" "$tools" >"$to/python/lib/python3/dist-packages/tests.pth"
"$to/python/bin/python3.11" -c 'import h11, sys; print("tests run on", sys.version, "with", h11.__file__)'
exec sh "$root/tests/support/again.sh" "$to/python/bin/python3.11" -m pytest "$@"
