#!/bin/sh
# Installs what the tests need beside Python, where that is possible: on Debian and its kin, as root.
# Elsewhere the tests that need it are skipped, and say so. With "packages": also what builds and tests the packages.
set -eu

packages=""
command -v dockerd >/dev/null 2>&1 || packages="$packages docker.io"
command -v containerd >/dev/null 2>&1 || packages="$packages containerd"
command -v gcc >/dev/null 2>&1 || packages="$packages gcc libc6-dev"
[ -x /bin/busybox ] || packages="$packages busybox-static"

if [ "${1:-}" = packages ]; then
    while read -r program package; do
        command -v "$program" >/dev/null 2>&1 || packages="$packages $package"
    done <<END
make make
git git
cpio cpio
dpkg-source dpkg-dev
perl perl
patch patch
bzip2 bzip2
xz xz-utils
tclsh tcl
objdump binutils
x86_64-linux-gnu-strip binutils-x86-64-linux-gnu
aarch64-linux-gnu-strip binutils-aarch64-linux-gnu
rpmbuild rpm
rpmlint rpmlint
lintian lintian
shellcheck shellcheck
mmdebstrap mmdebstrap
systemd-nspawn systemd-container
END
fi

[ -n "$packages" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "not installed:$packages (needs root and apt-get); the tests that need it are skipped" >&2
    exit 0
fi

# A policy that starts nothing: the tests start private daemons of their own.
policy=/usr/sbin/policy-rc.d
made=""
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
    made=yes
fi
trap '[ -z "$made" ] || rm -f "$policy"' EXIT

export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
# shellcheck disable=SC2086
apt-get install -y -qq --no-install-recommends $packages >/dev/null
