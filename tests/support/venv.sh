#!/bin/sh
# Puts cmgr and what it needs into an environment of its own, with whatever pip is there.
# Usage: venv.sh PYTHON VENV WHAT (WHAT: . to run it, .[dev] to work on it)
set -eu
python=$1 venv=$2 what=$3

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
    if command -v "$python" >/dev/null; then found=$("$python" --version 2>&1); else found="not there"; fi
    cat >&2 <<END
cmgr: cannot use $python: it is $found, and cmgr needs Python 3.11 or newer
hint: make demo PYTHON=python3.12, if another one is there; without root: uv python install 3.13, then
      make demo PYTHON="\$(uv python find 3.13)". The packages bring their own Python (docs/install.md).
END
    exit 1
fi

echo "cmgr: installs into $venv what it needs; the first time takes a minute or two" >&2
[ -x "$venv/bin/python" ] || "$python" -m venv --without-pip "$venv"
# The environment is lent the pip of that Python, and nothing else of it: Debian's python3 may come without ensurepip, and pip
# before 22.3 (Ubuntu 22.04's) cannot install for another Python.
lent=$(mktemp -d)
trap 'rm -rf "$lent"' EXIT
if pip=$("$python" -c 'import os, pip; print(os.path.dirname(pip.__file__))' 2>/dev/null); then
    ln -s "$pip" "$lent/pip"
elif ! "$venv/bin/python" -m ensurepip >/dev/null 2>&1; then
    echo "cmgr: cannot install: $python has no pip (hint: apt-get install python3-pip, or: dnf install python3-pip)" >&2
    exit 1
fi
# Quiet but on a terminal, where somebody waits. What a demo does not load is not compiled for it: that took a fifth of the time.
options=--quiet
if [ "$what" = . ]; then
    if [ -t 2 ]; then options=--no-compile; else options="--quiet --no-compile"; fi
fi
# shellcheck disable=SC2086
PYTHONPATH=$lent "$venv/bin/python" -m pip install $options --disable-pip-version-check -c packaging/constraints.txt -e "$what"
