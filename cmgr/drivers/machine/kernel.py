"""The word of the kernel's log on the machine: hardware errors, buses, disks, tasks that hang, memory that ran out.

Source of the lines: the kernel's own source (arch/x86/kernel/cpu/mce, drivers/acpi/apei/ghes.c, drivers/pci/pcie/aer.c,
kernel/hung_task.c, kernel/watchdog.c, mm/oom_kill.c, block/blk-core.c, fs/ext4/super.c).
"""

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from cmgr.drivers.kernel_log import KernelLog, Record
from cmgr.drivers.machine.source import Off, word
from cmgr.drivers.processes import outermost
from cmgr.errors import DriverError
from cmgr.frozen import dataclass
from cmgr.model.values.faults import FaultCode
from cmgr.model.values.machine import Symptom
from cmgr.sentences.sentence import parts, say

MOST = 200
"""Kinds of events that are remembered, the newest ones."""

_ROOM = 2048
"""So much of a line is looked at; the lines that matter are shorter."""

_HINT = say("driver.shown-by", path="/usr/lib/cmgr/machine.conf")

_XFS = ("Corruption", "Metadata", "Log I/O", "User initiated shut", "xfs_do_force_shut", "Filesystem has been shut")
_DISK = r"(?:(?:blk_update_request|print_req_error): )?(?:I/O|critical (?:medium|target)) "
_PCI = r"(?:\S{1,32} )?([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]): (?:AER: )?PCIe Bus Error: severity="

_LINES = tuple(
    (code, re.compile(pattern, re.ASCII))
    for code, pattern in (
        ("processor-corrected", r"(?:\{\d+\})?\[Hardware Error\]: event severity: corrected()$"),
        ("machine-check", r"(?:\{\d+\})?\[Hardware Error\]: event severity: (?:recoverable|fatal)()$"),
        ("machine-check", r"(?:mce: )?\[Hardware Error\]: Machine check events logged()$"),
        (
            "machine-check",
            r"(?:mce: )?\[Hardware Error\]: CPU \d+: Machine Check(?: Exception)?: [0-9a-f]+ Bank \d+:()",
        ),
        (
            "memory-uncorrected",
            r"Memory failure: 0x[0-9a-f]+: recovery action for [\w -]+: (?:Recovered|Failed|Ignored)()$",
        ),
        ("pci-corrected", _PCI + "Correct"),
        ("pci-fatal", _PCI + r"Uncorrect\w+ \(Fatal\)"),
        ("pci-uncorrected", _PCI + "Uncorrect"),
        ("task-hung", r"INFO: task (.{0,64}):\d+ blocked (?:in I/O wait )?for more than \d+ seconds\.$"),
        ("processor-stuck", r"(?:(?:NMI )?watchdog: )?BUG: soft lockup - (CPU#\d+) stuck for \d+s! \["),
        ("processor-stuck", r"BUG: workqueue lockup - pool (cpus=[0-9,-]{1,64}) "),
        ("disk-error", _DISK + r"error, dev ([\w!.-]{1,64}), sector \d"),
        ("file-system-error", r"(?:EXT4-fs|BTRFS) error \(device ([^): ]{1,64})"),
        ("file-system-error", rf"XFS \(([^)]{{1,64}})\): (?:{'|'.join(_XFS)})"),
        ("memory-exhausted", r"oom-kill:constraint=CONSTRAINT_(?:NONE|CPUSET|MEMORY_POLICY)(),nodemask="),
    )
)
"""The meaning of a line by its beginning: in its middle may be a program's name, or a stranger's word."""

_KILLED = re.compile(
    r"oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(?:\(null\)|[0-9,-]+),cpuset=[^,]*,mems_allowed=[0-9,-]*,"
    r"oom_memcg=[^,]*,task_memcg=(/[^,]{1,512}),task=(.{0,64}),pid=\d+,uid=\d+",
    re.ASCII,
)
"""Without a comma in the names of control groups: who may make one could have it name another's container."""


@dataclass(frozen=True, slots=True)
class _Heard:
    symptom: Symptom
    seconds: float


class Kernel:
    """The kernel's log, from its beginning on: what happened before cmgr was started counts by its age."""

    name = "kernel"
    slow = 1

    def __init__(self, root: Path) -> None:
        self._path = root / "dev/kmsg"
        self._boot = root / "proc/sys/kernel/random/boot_id"
        self._log: KernelLog[_Heard] | None = None
        self._heard: dict[tuple[FaultCode, str, str], _Heard] = {}
        self._id = ""

    def look(self) -> Sequence[Symptom]:
        if self._log is None:
            self._id = word(self._boot)
            try:
                self._log = KernelLog(str(self._path), self._parse, _HINT)
            except DriverError as error:
                raise Off(parts((error.message, _HINT))) from error
        for heard in self._log.so_far():
            symptom = heard.symptom
            key = symptom.code, symptom.part, symptom.container
            self._heard.pop(key, None)
            self._heard[key] = heard
        for key in list(self._heard)[:-MOST]:
            del self._heard[key]
        now = time.clock_gettime(time.CLOCK_MONOTONIC)
        return [replace(h.symptom, age=timedelta(seconds=max(0.0, now - h.seconds))) for h in self._heard.values()]

    def _parse(self, record: Record) -> _Heard | None:
        found = said(record)
        return None if found is None else _Heard(replace(found, mark=f"{self._id}:{record.number}"), record.seconds)


def said(record: Record) -> Symptom | None:
    """Return what this line of the log means, without when it was; None for nothing that matters here."""
    if not record.whole:
        return None
    line = record.text[:_ROOM]
    if killed := _KILLED.fullmatch(line):
        container = outermost(killed[1])
        text = say("symptom.out-of-memory", name=killed[2])
        return Symptom(FaultCode("container-out-of-memory"), text=text, container=container) if container else None
    for code, pattern in _LINES:
        if match := pattern.match(line):
            return Symptom(FaultCode(code), match[1], line.strip())
    return None
