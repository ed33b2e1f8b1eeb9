#!/bin/sh
# Lays out in build/packages/$ARCH/tree what both packages install, for $ARCH, and prints that directory.
# Needs the development environment (.venv): it says which libraries cmgr needs.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
need python3 gzip cpio flock "$ARCH-linux-gnu-strip"

# One at a time: two would fetch into the same directories, and build the same interpreter.
mkdir -p "$cache"
python=$(flock "$cache/lock" sh "$here/python/build.sh")
native_python=$python
[ "$ARCH" = "$(uname -m)" ] || native_python=$(ARCH=$(uname -m) flock "$cache/lock" sh "$here/python/build.sh" 2>/dev/null)
native_python=$native_python/bin/python3.11
tree="$root/build/packages/$ARCH/tree"
rm -rf "$tree"
mkdir -p "$tree/usr/lib/cmgr/lib" "$tree/usr/bin" "$tree/usr/share/doc/cmgr/licenses"
lib="$tree/usr/lib/cmgr/lib"
doc="$tree/usr/share/doc/cmgr"

# --- The interpreter, the libraries, the program -----------------------------------------------------------------

cp -r "$python" "$tree/usr/lib/cmgr/python"
mv "$tree/usr/lib/cmgr/python/licenses/"* "$doc/licenses/"
rmdir "$tree/usr/lib/cmgr/python/licenses"
rm "$tree/usr/lib/cmgr/python/SOURCES"
# What the interpreter left there while it was built has times in it.
find "$tree/usr/lib/cmgr/python" -depth -name __pycache__ -exec rm -rf {} +

"$root/.venv/bin/python" "$here/closure.py" >"$root/build/packages/$ARCH/closure"
# A wheel that asks for a later glibc than the interpreter does is not taken.
wheels=""
for glibc in 2_28 2_27 2_26 2_24 2_17 2_12 2_5; do wheels="$wheels --platform manylinux_${glibc}_$ARCH"; done
for old in manylinux2014 manylinux2010; do wheels="$wheels --platform ${old}_$ARCH"; done
# shellcheck disable=SC2086
python3 -m pip install --quiet --quiet --disable-pip-version-check --root-user-action ignore --no-deps --no-compile \
    --only-binary=:all: --implementation cp --python-version 3.11 --abi cp311 --abi abi3 --abi none $wheels \
    --target "$lib" -r "$root/build/packages/$ARCH/closure"
rm -rf "${lib:?}/bin"

for info in "$lib"/*.dist-info; do
    name=$(sed -n 's/^Name: //p' "$info/METADATA" | head -n 1)
    mkdir "$doc/licenses/$name"
    find "$info" -type f \( -iname 'licen[cs]e*' -o -iname 'copying*' -o -iname 'notice*' -o -iname 'authors*' \) \
        -exec cp {} "$doc/licenses/$name/" \;
    # Some wheels forget theirs; what they say of it stands in their metadata.
    [ -n "$(ls "$doc/licenses/$name")" ] || sed '/^$/q' "$info/METADATA" >"$doc/licenses/$name/METADATA"
    # APScheduler finds its triggers by its entry points.
    find "$info" -mindepth 1 ! -name METADATA ! -name entry_points.txt -delete
done
find "$lib" \( -name '*.pyi' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.h' -o -name '*.c' -o -name py.typed \) -delete
rm -rf "$tree/usr/lib/cmgr/python/lib/python3.11/ctypes/macholib"
find "$tree/usr/lib/cmgr" -depth -mindepth 1 -name '.*' -exec rm -rf {} +
find "$lib" -depth -type d \( -name tests -o -name testdata -o -path "*/sqlalchemy/testing" -o -name __pycache__ \) -exec rm -rf {} +
find "$lib" -name '*.so*' -type f -exec "$ARCH-linux-gnu-strip" --strip-unneeded {} +

(cd "$root" && find cmgr -type f ! -path '*/__pycache__/*' ! -name py.typed | sort | cpio -pdm --quiet "$lib")

# What is only imported is no program: the modes of wheels and of CPython's sources say otherwise here and there.
find "$lib" "$tree/usr/lib/cmgr/python/lib" "$doc" -type f -exec chmod 0644 {} +
find "$lib" "$tree/usr/lib/cmgr/python/lib" -name '*.py' -exec sed -i '1s/^#!.*$/#/' {} +

# --- What was bundled --------------------------------------------------------------------------------------------

zig=$(sed -n 's/^ziglang==//p' "$here/constraints.txt")
python3 "$here/sbom.py" "$version" "$python/SOURCES" "$root/build/packages/$ARCH/closure" "$zig" >"$doc/sbom.cdx.json"
{
    echo "What the packages of cmgr $version bring along, besides cmgr itself. Licences: licenses/ beside this file."
    echo
    echo "Compiled from the source packages of Debian:"
    sed 's/^/  /' "$python/SOURCES"
    echo "Compiled by ziglang $zig, some of whose run-time code is in them."
    echo "Taken as wheels from PyPI:"
    sed 's/^\(.*\)==\(.*\)$/  \1 \2/' "$root/build/packages/$ARCH/closure"
} >"$doc/bundled.txt"

# --- The files of the repository ---------------------------------------------------------------------------------

grep -v '^#' "$here/contents" | while read -r mode source target; do
    to="$tree/$target"
    if [ "$source" = - ]; then
        install -d -m "$mode" "$to"
    elif [ -e "$root/$source" ]; then
        install -D -m "$mode" "$root/$source" "${to%.gz}"
        case $to in *.gz) gzip -9n "${to%.gz}" ;; esac
    else
        die "$source is missing"
    fi
done
python3 "$here/flat.py" "$doc"
ln -s ../lib/cmgr/bin/cmgr "$tree/usr/bin/cmgr"

# --- Byte code, completions --------------------------------------------------------------------------------------

# Not checked against the sources at run time: nothing but the package changes them.
"$native_python" -ISB "$here/bytecode.py" -q --invalidation-mode unchecked-hash -s "$tree" -p / \
    "$tree/usr/lib/cmgr/python/lib/python3.11" "$lib"

completion() {
    install -d "$tree/usr/share/$(dirname "$2")"
    PYTHONPATH="$lib" _CMGR_COMPLETE="source_$1" "$native_python" -SBc 'from cmgr.cli import main; main()' >"$tree/usr/share/$2"
    grep -q _CMGR_COMPLETE "$tree/usr/share/$2" || die "cmgr printed no completion for $1"
}
# Completions do not depend on the architecture; libraries that are compiled are not loaded for them.
completion bash bash-completion/completions/cmgr
completion zsh zsh/vendor-completions/_cmgr
completion fish fish/vendor_completions.d/cmgr.fish

dated "$tree"
echo "$tree"
