"""The kernel's log as a source of the machine's faults."""

import time
from datetime import timedelta
from pathlib import Path

import pytest

from cmgr.drivers.kernel_log import Record
from cmgr.drivers.machine.kernel import MOST, Kernel, said
from cmgr.drivers.machine.source import Off
from tests.fakes.machine.tree import BOOT, Tree

ID = "ab" * 32
OOM = (
    f"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=docker-{ID}.scope,mems_allowed=0,"
    f"oom_memcg=/system.slice/docker-{ID}.scope,task_memcg=/system.slice/docker-{ID}.scope,task=python3,pid=4242,uid=0"
)


@pytest.mark.parametrize(
    ("line", "code", "part"),
    [
        ("mce: [Hardware Error]: Machine check events logged", "machine-check", ""),
        ("mce: [Hardware Error]: CPU 3: Machine Check Exception: 5 Bank 9: be00000000800400", "machine-check", ""),
        ("{1}[Hardware Error]: event severity: corrected", "processor-corrected", ""),
        ("{1}[Hardware Error]: event severity: recoverable", "machine-check", ""),
        (
            "Memory failure: 0x3f5a1: recovery action for dirty LRU page: Recovered",
            "memory-uncorrected",
            "",
        ),
        (
            "nvme 0000:3b:00.0: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)",
            "pci-corrected",
            "0000:3b:00.0",
        ),
        (
            "pcieport 0000:00:1c.0: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer",
            "pci-uncorrected",
            "0000:00:1c.0",
        ),
        (
            "pcieport 0000:00:1c.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Transaction Layer",
            "pci-fatal",
            "0000:00:1c.0",
        ),
        ("INFO: task jbd2/sda1-8:312 blocked for more than 122 seconds.", "task-hung", "jbd2/sda1-8"),
        ("watchdog: BUG: soft lockup - CPU#7 stuck for 26s! [kworker/7:1:88]", "processor-stuck", "CPU#7"),
        ("I/O error, dev sda, sector 2048 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 2", "disk-error", "sda"),
        ("blk_update_request: critical medium error, dev nvme0n1, sector 9", "disk-error", "nvme0n1"),
        ("EXT4-fs error (device sda1): ext4_find_entry:1682: inode #2: reading", "file-system-error", "sda1"),
        ("XFS (nvme0n1p1): Metadata I/O Error (0x4) detected at", "file-system-error", "nvme0n1p1"),
        (
            "pcieport 0000:00:1c.0: AER: PCIe Bus Error: severity=Correctable, type=Data Link Layer",
            "pci-corrected",
            "0000:00:1c.0",
        ),
        ("BUG: workqueue lockup - pool cpus=2 node=0 flags=0x0 nice=0 stuck for 33s!", "processor-stuck", "cpus=2"),
        ("INFO: task a b:7 blocked in I/O wait for more than 122 seconds.", "task-hung", "a b"),
        (
            "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,task=a,pid=1,uid=0",
            "memory-exhausted",
            "",
        ),
    ],
)
def test_a_line_means(line: str, code: str, part: str) -> None:
    found = said(Record(line))
    assert found is not None
    assert (found.code, found.part, found.text) == (code, part, line)


@pytest.mark.parametrize(
    "line",
    [
        "usb 1-1: new device",
        "",
        f"a: {OOM}",
        OOM.replace("/system.slice", "/user.slice/user-7.slice"),
        "NVRM: Xid (PCI:0000:3b:00): 79, x",
        OOM.replace(f"docker-{ID}", "sshd"),
    ],
)
def test_the_rest_means_nothing(line: str) -> None:
    assert said(Record(line)) is None


def test_memory_that_a_container_used_up_names_the_container() -> None:
    found = said(Record(OOM))
    assert found is not None
    assert (found.code, found.container, found.text) == (
        "container-out-of-memory",
        ID,
        "the kernel killed python3, for its memory is limited",
    )


def test_what_happened_is_marked_by_its_record_and_as_old_as_that(tree: Tree) -> None:
    now = time.clock_gettime(time.CLOCK_MONOTONIC)
    tree.log("INFO: task a:1 blocked for more than 120 seconds.", number=7, seconds=max(0.1, now - 3600))
    source = Kernel(tree.root)
    (symptom,) = source.look()
    assert (symptom.mark, symptom.part) == (f"{BOOT}:7", "a")
    assert symptom.age is not None
    assert symptom.age >= min(timedelta(seconds=now - 0.2), timedelta(hours=1))
    tree.log("INFO: task a:1 blocked for more than 120 seconds.", number=9, seconds=now)
    tree.log("INFO: task b:1 blocked for more than 120 seconds.", number=10, seconds=now)
    assert [s.mark for s in source.look()] == [f"{BOOT}:9", f"{BOOT}:10"]
    assert [s.mark for s in source.look()] == [f"{BOOT}:9", f"{BOOT}:10"]


def test_a_log_of_many_kinds_keeps_the_newest(tree: Tree) -> None:
    source = Kernel(tree.root)
    for n in range(MOST + 20):
        tree.log(f"I/O error, dev sd{n}, sector 1", number=n + 1, seconds=1.0)
        if n % 100 == 0:
            source.look()
    assert [s.part for s in source.look()] == [f"sd{n}" for n in range(20, MOST + 20)]


def test_without_a_log_or_the_right_to_it_there_is_nothing_to_look_at(tmp_path: Path) -> None:
    with pytest.raises(Off, match=r"cannot read the kernel log .*machine\.conf"):
        Kernel(tmp_path).look()
