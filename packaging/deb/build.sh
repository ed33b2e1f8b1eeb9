#!/bin/sh
# Builds the .deb for $ARCH out of build/packages/$ARCH/tree, and prints its path.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
. "$here/lib.sh"
need dpkg-deb gzip

tree="$root/build/packages/$ARCH/tree"
stage="$root/build/packages/$ARCH/deb"
[ -d "$tree" ] || die "$tree is not there: packaging/tree.sh comes first"
rm -rf "$stage"
cp -a "$tree" "$stage"
doc="$stage/usr/share/doc/cmgr"

# Debian reads no presets: postinst enables the service.
rm -r "$stage/usr/lib/systemd/system-preset"

install -D -m 0644 "$here/deb/lintian-overrides" "$stage/usr/share/lintian/overrides/cmgr"
install -m 0644 "$here/deb/copyright" "$doc/copyright"
date=$(date -u -R -d "@$SOURCE_DATE_EPOCH")
printf 'cmgr (%s-%s) unstable; urgency=medium\n\n  * What is new stands in changelog.gz.\n\n -- %s  %s\n' \
    "$version" "$revision" "$maintainer" "$date" | gzip -9n >"$doc/changelog.Debian.gz"

mkdir "$stage/DEBIAN"
for script in preinst postinst prerm postrm; do install -m 0755 "$here/deb/$script" "$stage/DEBIAN/$script"; done
(cd "$stage" && find etc -type f | sort | sed 's|^|/|') >"$stage/DEBIAN/conffiles"
(cd "$stage" && find . -type f ! -path './DEBIAN/*' ! -path './etc/*' -printf '%P\0' | sort -z | xargs -0 md5sum) >"$stage/DEBIAN/md5sums"
size=$(find "$stage" -type f -printf '%s\n' | awk '{ kib += int(($1 + 1023) / 1024) } END { print kib }')
sed -e "s/@VERSION@/$version-$revision/" -e "s/@ARCH@/$deb_arch/" -e "s/@SIZE@/$size/" -e "s|@MAINTAINER@|$maintainer|" "$here/deb/control" >"$stage/DEBIAN/control"
dated "$stage"

dist=${CMGR_DIST:-$root/dist}
mkdir -p "$dist"
package="$dist/cmgr_$version-${revision}_$deb_arch.deb"
# One thread: what xz writes depends on whether there are more.
DPKG_DEB_THREADS_MAX=1 dpkg-deb --root-owner-group -Zxz -z3 --build "$stage" "$package" >/dev/null
echo "$package"
