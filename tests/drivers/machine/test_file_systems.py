"""File systems that went read-only."""

from pathlib import Path

import pytest

from cmgr.drivers.machine.file_systems import FileSystems, mounts
from cmgr.drivers.machine.source import Off
from tests.fakes.machine.tree import MOUNTS, Tree


def gone(source: FileSystems) -> list[str]:
    return [f"{s.code} {s.part}: {s.text}" for s in source.look()]


def test_what_this_service_may_not_write_is_well(tree: Tree) -> None:
    assert gone(FileSystems(tree.root)) == []


def test_what_fstab_wants_written_is_wrong_from_the_first_look_on(tree: Tree) -> None:
    tree.put("proc/self/mountinfo", MOUNTS.replace("/dev/vda1 rw", "/dev/vda1 ro"))
    assert gone(FileSystems(tree.root)) == ["file-system-read-only /: ext4 on /dev/vda1 was writable"]
    tree.put("etc/fstab", "/dev/vda1 / ext4 ro,noatime 0 1")
    assert gone(FileSystems(tree.root)) == []


def test_what_was_written_before_in_this_life_is_wrong_without_a_line_in_fstab(tree: Tree) -> None:
    source, read_only = FileSystems(tree.root), MOUNTS.replace("nvme0n1p1 rw", "nvme0n1p1 ro")
    assert gone(source) == []
    tree.put("proc/self/mountinfo", read_only)
    assert gone(source) == ["file-system-read-only /data: xfs on /dev/nvme0n1p1 was writable"]
    assert gone(FileSystems(tree.root)) == []
    tree.put("proc/self/mountinfo", MOUNTS)
    assert gone(source) == []


def test_one_that_was_unmounted_and_mounted_to_be_read_is_another_matter(tree: Tree) -> None:
    source = FileSystems(tree.root)
    assert gone(source) == []
    lines = MOUNTS.splitlines()
    tree.put("proc/self/mountinfo", "\n".join(line for line in lines if "/data" not in line))
    assert gone(source) == []
    tree.put("proc/self/mountinfo", MOUNTS.replace("nvme0n1p1 rw", "nvme0n1p1 ro"))
    assert gone(source) == []


def test_a_place_with_a_space_in_its_name_is_found_in_fstab(tree: Tree) -> None:
    tree.put("proc/self/mountinfo", "30 22 8:1 / /a\\040b rw - ext4 /dev/sda1 ro,emergency_ro")
    tree.put("etc/fstab", "/dev/sda1 /a\\040b ext4 defaults 0 2")
    assert gone(FileSystems(tree.root)) == ["file-system-read-only /a b: ext4 on /dev/sda1 was writable"]


def test_a_machine_without_a_disk_of_its_own_is_off(tree: Tree) -> None:
    tree.put("proc/self/mountinfo", "22 1 0:30 / / rw - overlay overlay rw,lowerdir=/l")
    with pytest.raises(Off, match="no file system of a disk"):
        FileSystems(tree.root).look()


def test_the_machine_that_the_tests_run_on_can_be_read() -> None:
    mounted = mounts(Path("/proc/self/mountinfo").read_text())
    assert all(each.place.startswith("/") and each.device.startswith("/dev/") for each in mounted.values())
