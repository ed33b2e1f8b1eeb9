#!/bin/sh
# Builds the .rpm for $ARCH out of build/packages/$ARCH/tree and the one of the SELinux module, and prints their paths.
# PAYLOAD: how they are packed, as rpm names that; tests want it quickly. TREE: what is packed, where it is not the
# tree that was made for this.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
. "$here/lib.sh"
need rpmbuild checkmodule semodule_package

tree=${TREE:-$root/build/packages/$ARCH/tree}
work="$root/build/packages/$ARCH/rpm"
[ -d "$tree" ] || die "$tree is not there: packaging/tree.sh comes first"
rm -rf "$work"
mkdir -p "$work"
cp -a "$tree" "$work/stage"
install -m 0644 "$root/LICENSE" "$work/stage/usr/share/doc/cmgr/licenses/LICENSE"
mv "$work/stage/usr/share/zsh/vendor-completions" "$work/stage/usr/share/zsh/site-functions"
selinux="$work/selinux/usr/share/selinux"
mkdir -p "$selinux/packages" "$selinux/devel/include/distributed"
# 19 is the form that every system with glibc 2.28 or later reads.
checkmodule -E -M -m -c 19 -o "$work/cmgr.mod" "$here/selinux/cmgr.te" >/dev/null
semodule_package -m "$work/cmgr.mod" -f "$here/selinux/cmgr.fc" -o "$selinux/packages/cmgr.pp"
cp "$here/selinux/cmgr.if" "$selinux/devel/include/distributed/"
dated "$work/stage"

# Directories that are ours alone belong to the package, others do not.
(cd "$work/stage" && find . -mindepth 1 \( ! -type d -o -path './etc/cmgr*' -o -path './usr/lib/cmgr*' -o -path './usr/share/cmgr*' \
    -o -path './usr/share/doc/cmgr*' \) -printf '%y /%P\n' | LC_ALL=C sort -k 2) | while read -r kind path; do
    case $kind:$path in
    f:/etc/logrotate.d/*) echo "%attr(0644, root, root) %config(noreplace) $path" ;;
    f:/etc/*) echo "%attr(0640, root, cmgr) %config(noreplace) $path" ;;
    d:*) echo "%dir %attr(0755, root, root) $path" ;;
    *:/usr/share/doc/cmgr/licenses/*) echo "%license %attr(0644, root, root) \"$path\"" ;;
    *:/usr/share/doc/* | *:/usr/share/man/*) echo "%doc %attr(0644, root, root) \"$path\"" ;;
    l:*) echo "$path" ;;
    *) echo "%attr(-, root, root) \"$path\"" ;;
    esac
done >"$work/files"

built() {
    rpmbuild -bb --quiet --target "$2-linux" --define "_topdir $work/top" --define "cmgr_version $version" \
        --define "cmgr_revision $revision" --define "cmgr_payload ${PAYLOAD:-w3.xzdio}" --define "cmgr_stage $work/$3" --define "cmgr_files $work/files" \
        --define "cmgr_maintainer $maintainer" --define "cmgr_date $(date -u -d "@$SOURCE_DATE_EPOCH" '+%a %b %d %Y')" "$here/rpm/$1.spec" >"$work/log" 2>&1 || {
        cat "$work/log" >&2
        die "rpmbuild failed"
    }
    package="$1-$version-$revision.$2.rpm"
    # Another build may write the module's package, too: the same one.
    cp "$work/top/RPMS/$2/$package" "$dist/.$ARCH.rpm"
    mv "$dist/.$ARCH.rpm" "$dist/$package"
    echo "$dist/$package"
}
dist=${CMGR_DIST:-$root/dist}
mkdir -p "$dist"
built cmgr-selinux noarch selinux
built cmgr "$ARCH" stage
