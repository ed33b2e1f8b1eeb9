#!/bin/sh
# Unpacks the newest Docker (with its clients), containerd and etcd that Debian's suites have into a directory of their own;
# prints their versions.
# SUITES: only of these. trixie alone has Docker 26 and containerd 1.7, with sid it is Docker 28 and containerd 2.
# Nothing is installed, and apt's own lists stay as they are. Their runc is left out: it needs a later glibc than an older Debian has.
# What a suite does not have is left out: bullseye's docker is in docker.io.
# Usage: newest.sh DIRECTORY [SUITES] (what is there already is kept)
set -eu

mkdir -p "$1"
# As a whole: apt looks for what is told in part elsewhere.
to=$(cd "$1" && pwd)
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
mirror=${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(LABEL) $(SITE)' 'Created-By: Packages' | sed -n 's/^Debian //p' | sort -u | head -n 1)}
[ -n "$mirror" ] || { echo "apt knows no mirror of Debian (DEBIAN_MIRROR names one)" >&2; exit 1; }

there=yes
for program in sbin/dockerd bin/containerd bin/docker bin/etcd bin/etcdctl; do [ -x "$to/usr/$program" ] || there=""; done
if [ -z "$there" ]; then
    rm -rf "$to"
    mkdir -p "$to/apt/lists/partial" "$to/apt/cache/archives/partial" "$to/apt/parts"
    for suite in ${2:-trixie sid}; do
        echo "deb [signed-by=$keyring] $mirror $suite main"
    done >"$to/apt/sources.list"
    : >"$to/apt/status"
    # Mirrors lag behind, and sid's lists are good for a week: they are signed all the same.
    set -- -qq -o Acquire::Check-Valid-Until=false -o Dir::Etc::sourcelist="$to/apt/sources.list" -o Dir::Etc::sourceparts="$to/apt/parts" \
        -o Dir::Etc::preferences=/dev/null -o Dir::Etc::preferencesparts="$to/apt/parts" \
        -o Dir::State::lists="$to/apt/lists" -o Dir::State::status="$to/apt/status" -o Dir::Cache="$to/apt/cache" \
        -o APT::Sandbox::User=root -o Acquire::Languages=none -o Acquire::Retries=3
    apt-get "$@" update
    (
        cd "$to/apt"
        # shellcheck disable=SC2046  # Names of packages.
        apt-get "$@" download $(apt-cache "$@" pkgnames | grep -x -e docker.io -e docker-cli -e docker-compose -e containerd \
            -e etcd-server -e etcd-client)
        for package in *.deb; do dpkg-deb --extract "$package" "$to"; done
    )
    rm -rf "$to/apt" "$to/usr/bin/runc" "$to/usr/sbin/runc"
    # Compose 1 is a program of that suite's Python.
    ! head -n 1 "$to/usr/bin/docker-compose" 2>/dev/null | grep -q python || rm "$to/usr/bin/docker-compose"
fi
"$to/usr/sbin/dockerd" --version
"$to/usr/bin/containerd" --version
[ ! -x "$to/usr/bin/docker-compose" ] || "$to/usr/bin/docker-compose" version
"$to/usr/bin/etcd" --version
