#!/bin/sh
# Installs what the tests need beside Python, where that is possible: on Debian and its kin, as root.
# Elsewhere the tests that need it are skipped, and say so. With "power": also the machine whose power can be cut, with
# "packages": that, and what builds and tests the packages, with "machine": the same, and what reads a policy of SELinux.
set -eu

venv=$(dirname "$0")/../../.venv
packages=""
tools=""
command -v dockerd >/dev/null 2>&1 || packages="$packages docker.io"
command -v containerd >/dev/null 2>&1 || packages="$packages containerd"
command -v podman >/dev/null 2>&1 || packages="$packages podman"
command -v gcc >/dev/null 2>&1 || packages="$packages gcc libc6-dev"
command -v dbus-daemon >/dev/null 2>&1 || packages="$packages dbus-daemon"
[ -x /lib/systemd/systemd ] || packages="$packages systemd"
command -v mandoc >/dev/null 2>&1 || packages="$packages mandoc"
command -v curl >/dev/null 2>&1 || packages="$packages curl"
command -v docker-compose >/dev/null 2>&1 || packages="$packages docker-compose"
command -v logrotate >/dev/null 2>&1 || packages="$packages logrotate"
command -v etcd >/dev/null 2>&1 || packages="$packages etcd-server"
command -v etcdctl >/dev/null 2>&1 || packages="$packages etcd-client"
command -v faketime >/dev/null 2>&1 || packages="$packages faketime"
command -v smartctl >/dev/null 2>&1 || [ -x /usr/sbin/smartctl ] || packages="$packages smartmontools"
command -v ipmitool >/dev/null 2>&1 || packages="$packages ipmitool"
command -v ipmi_sim >/dev/null 2>&1 || packages="$packages openipmi"
command -v openssl >/dev/null 2>&1 || packages="$packages openssl"
command -v chromium >/dev/null 2>&1 || packages="$packages chromium"
# Chinese letters, for the pictures of the page.
[ -e /usr/share/fonts/truetype/wqy/wqy-microhei.ttc ] || packages="$packages fonts-wqy-microhei"
[ -x /bin/busybox ] || packages="$packages busybox-static"
command -v promtool >/dev/null 2>&1 || [ -x "$venv/bin/promtool" ] || tools=" promtool"

# What emulates a machine is used for x86-64 alone.
if [ -n "${1:-}" ] && [ "$(uname -m)" = x86_64 ]; then
    command -v qemu-system-x86_64 >/dev/null 2>&1 || packages="$packages qemu-system-x86"
    command -v depmod >/dev/null 2>&1 || packages="$packages kmod"
    command -v cpio >/dev/null 2>&1 || packages="$packages cpio"
    command -v mke2fs >/dev/null 2>&1 || packages="$packages e2fsprogs"
fi

if [ "${1:-}" = machine ]; then
    command -v sesearch >/dev/null 2>&1 || packages="$packages setools"
fi

if [ "${1:-}" = packages ] || [ "${1:-}" = machine ]; then
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
dnf dnf
createrepo_c createrepo-c
gpg gnupg
checkmodule checkpolicy
semodule_package semodule-utils
ansible-playbook ansible-core
END
    [ -e /usr/share/selinux/devel/Makefile ] || packages="$packages selinux-policy-dev"
    # Without what qemu-user recommends: that would have the kernel run every program of the other architecture.
    case $(uname -m) in
    aarch64) foreign=x86_64 libraries=amd64 ;;
    *) foreign=aarch64 libraries=arm64 ;;
    esac
    command -v "qemu-$foreign" >/dev/null 2>&1 || packages="$packages qemu-user"
    [ -e "/usr/$foreign-linux-gnu/lib/libstdc++.so.6" ] || packages="$packages libstdc++6-$libraries-cross"
fi

# A second checker of the page, one file. It is in no package of Debian, and to install npm for it would be too much.
sniffer=$venv/share/HTMLCS.js
if [ ! -e "$sniffer" ] && command -v npm >/dev/null 2>&1; then
    folder=$(mktemp -d)
    if (cd "$folder" && npm pack --silent html_codesniffer@2.5.1 >/dev/null 2>&1 && tar -xzf html_codesniffer-2.5.1.tgz); then
        mkdir -p "$venv/share"
        install -m 644 "$folder/package/build/HTMLCS.js" "$sniffer"
    else
        echo "not fetched: html_codesniffer; the tests that need it are skipped" >&2
    fi
    rm -rf "$folder"
fi

[ -n "$packages$tools" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "not installed:$packages$tools (needs root and apt-get); the tests that need it are skipped" >&2
    exit 0
fi

# A policy that starts nothing: the tests start private daemons of their own.
policy=/usr/sbin/policy-rc.d
made=""
folder=""
trap '[ -z "$made" ] || rm -f "$policy"; [ -z "$folder" ] || rm -rf "$folder"' EXIT
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod 755 "$policy"
    made=yes
fi

export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
if [ -n "$packages" ]; then
    # shellcheck disable=SC2086
    apt-get install -y -qq --no-install-recommends $packages >/dev/null
fi
if [ -n "$tools" ]; then
    # Taken out of its package: installed as a whole, that brings a server which starts at the next boot.
    folder=$(mktemp -d)
    (
        cd "$folder"
        apt-get download -qq -o APT::Sandbox::User=root prometheus
        dpkg-deb --extract prometheus_*.deb .
    )
    mkdir -p "$venv/bin"
    install -m 755 "$folder/usr/bin/promtool" "$venv/bin/promtool"
fi
