#!/bin/sh
# The README's first command on bare roots of Debian's suites: a Debian with python3, pip, make and git, and nothing else.
# Where that Python is new enough the demo has to go through as an ordinary user, and the core suites after it; where it is too old
# make has to say so. As root, with mmdebstrap.
# Usage: fresh.sh SUITE…
set -eu
checkout=$(cd "$(dirname "$0")/../.." && pwd)
# shellcheck disable=SC2016  # A form of apt's.
mirror=${DEBIAN_MIRROR:-$(apt-get indextargets --format '$(LABEL) $(SITE)' 'Created-By: Packages' | sed -n 's/^Debian //p' | sort -u | head -n 1)}
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
chmod 755 "$place"
failed=""

for suite in "$@"; do
    root=$place/$suite
    # Mirrors lag behind, and sid's lists are good for a week: they are signed all the same.
    mmdebstrap --quiet --mode=root --variant=minbase --include=python3,python3-venv,python3-pip,make,git,ca-certificates,procps \
        --aptopt='Acquire::Check-Valid-Until "false"' "$suite" "$root" "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main"
    cp /etc/resolv.conf /etc/hosts "$root/etc/"
    # Where a package index is reached by an authority of one's own.
    [ -z "${PIP_CERT:-}" ] || cp --parents -L "$PIP_CERT" "$root/"
    git clone --quiet "$checkout" "$root/home/cmgr"
    chown -R nobody "$root/home"
    enter() {
        # shellcheck disable=SC2016
        unshare --mount --pid --fork --kill-child sh -c \
            'mount -t proc proc "$1/proc" && mount --rbind /dev "$1/dev" && exec chroot --userspec=65534:65534 "$1" sh -c "cd /home/cmgr && PATH=/usr/local/bin:/usr/bin:/bin HOME=/home $2"' - "$root" "$1"
    }
    old=$(chroot "$root" python3 -c 'import sys; print("old" if sys.version_info < (3, 11) else "")')
    version=$(chroot "$root" python3 -c 'import platform; print(platform.python_version())')
    if enter "make demo" >"$place/said" 2>&1; then
        [ -z "$old" ] && enter "make quick CMGR_WALKS=1" >"$place/said" 2>&1 && code=0 || code=1
    else
        [ -n "$old" ] && head -n 1 "$place/said" | grep -q "needs Python 3.11 or newer" && code=0 || code=1
    fi
    if [ "$code" = 0 ]; then
        came=${old:+refused, with what to do}$([ -n "$old" ] || tail -n 1 "$place/said" | sed 's/^=* *//; s/ *=*$//')
        echo "$suite: Python $version: $came"
        [ -z "${CMGR_PARTS:-}" ] || CMGR_SUITE=$suite "$checkout/.venv/bin/python" -m tests.docs.made.parts Python "$version" "make demo, make quick: $came"
    else
        tail -n 40 "$place/said"
        failed="$failed $suite"
    fi
    rm -rf "$root"
done
[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
