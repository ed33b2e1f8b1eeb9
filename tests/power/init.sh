#!/bin/sh
# PID 1 of the machine: this system read-only, a disk of its own, Docker, and commands that come in by the console.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/run
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t cgroup2 cgroup2 /sys/fs/cgroup
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs tmpfs /run
set -e
mkdir -p /run/disk /run/chips /run/share
mount -t ext4 /dev/vda /run/disk
# What chips remember is no matter of the machine's memory.
mount -t ext4 -o sync /dev/vdb /run/chips
mount -t 9p -o trans=virtio,version=9p2000.L,cache=none share /run/share
# Docker writes a key there, which nobody needs.
[ ! -d /etc/docker ] || mount -t tmpfs tmpfs /etc/docker
stty -echo
set +e
: >/run/share/up

while read -r number; do
    sh "/run/share/command.$number" >"/run/share/out.$number" 2>&1 </dev/null
    echo $? >"/run/share/code"
    mv /run/share/code "/run/share/code.$number"
done
