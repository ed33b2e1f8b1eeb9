#!/bin/sh
# Builds the packages that are named (deb, rpm) for $ARCH, this machine's by default, and prints their paths.
# With --look first it only says what is missing for that.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
# What any step needs is looked for first: compiling takes minutes.
tools="apt-get dpkg-source gcc make perl tclsh python3 xz bzip2 patch gzip cpio flock $ARCH-linux-gnu-strip"
only_look=
[ "${1:-}" != --look ] || { only_look=yes && shift; }
for format; do
    case $format in
    deb) tools="$tools dpkg-deb" ;;
    rpm) tools="$tools rpmbuild checkmodule semodule_package" ;;
    *) die "there is no format $format: deb and rpm are" ;;
    esac
done
# shellcheck disable=SC2086
need $tools
[ -z "$only_look" ] || exit 0
[ -n "${MAINTAINER:-}" ] || echo "the packages name nobody who maintains them: for others build with MAINTAINER=\"Name <mailbox>\"" >&2
sh "$here/tree.sh" >/dev/null
for format; do sh "$here/$format/build.sh"; done
