# What the packaging scripts share; they source it. Needs $here (packaging/) and $ARCH.
# shellcheck shell=sh

umask 022
LC_ALL=C.UTF-8
export LC_ALL

root=$(cd "$here/.." && pwd)
cache=${CMGR_BUILD_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/cmgr-build}

die() {
    echo "cannot build: $*" >&2
    exit 1
}

case ${ARCH:=$(uname -m)} in
x86_64) deb_arch=amd64 ;;
aarch64) deb_arch=arm64 ;;
*) die "architecture $ARCH is neither x86_64 nor aarch64" ;;
esac

need() {
    missing=""
    for tool; do command -v "$tool" >/dev/null 2>&1 || missing="$missing $tool"; done
    [ -z "$missing" ] || die "missing:$missing (hint: on Debian apt-get install$(for tool in $missing; do packages_of "$tool"; done))"
}

packages_of() {
    case $1 in
    apt-get) echo " apt" ;;
    dpkg-deb) echo " dpkg" ;;
    dpkg-source) echo " dpkg-dev" ;;
    gcc) echo " gcc libc6-dev" ;;
    tclsh) echo " tcl" ;;
    xz) echo " xz-utils" ;;
    flock) echo " util-linux" ;;
    dpkg-scanpackages) echo " dpkg-dev" ;;
    createrepo_c) echo " createrepo-c" ;;
    gpg) echo " gnupg" ;;
    rpmbuild | rpmsign) echo " rpm" ;;
    checkmodule) echo " checkpolicy" ;;
    semodule_package) echo " semodule-utils" ;;
    *-strip) echo " binutils-${1%-strip}" | sed 's/x86_64/x86-64/' ;;
    *) echo " $1" ;;
    esac | tr -d '\n'
}

# The one place of the version is cmgr/__init__.py. Both formats want 1.0rc1 written 1.0~rc1, so that 1.0 is newer.
version=$(sed -n 's/^__version__ = "\(.*\)"$/\1/p' "$root/cmgr/__init__.py" | sed -E 's/\.?(a|b|rc|dev)([0-9]+)/~\1\2/')
[ -n "$version" ] || die "cmgr/__init__.py names no version"
revision=${REVISION:-1}

# Only whoever hands packages on can say who reads the mail about them. A name that RFC 2606 keeps from ever being a
# mailbox's says that nobody has.
maintainer=${MAINTAINER:-nobody is named <unset@maintainer.invalid>}
printf '%s\n' "$maintainer" | grep -Eqx '[^<>|&%\]+ <[^<>|&%\ ]+@[^<>|&%\ ]+>' || die "MAINTAINER is no \"Name <mailbox>\": $maintainer"

# Files in a package are as old as the last commit; outside a checkout, as old as the change log.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || stat -c %Y "$root/CHANGELOG.md")}
export SOURCE_DATE_EPOCH

# Units are as old as their last change: systemd asks for a reload of one that is newer than what it has read.
dated() {
    find "$1" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
    for unit in "$1"/usr/lib/systemd/system/cmgr*; do
        changed=$(git -C "$root" log -1 --format=%ct -- "packaging/${unit##*/}" 2>/dev/null) || changed=
        touch --date="@${changed:-$SOURCE_DATE_EPOCH}" "$unit"
    done
}
