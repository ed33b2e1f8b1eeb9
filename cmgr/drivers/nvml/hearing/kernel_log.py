"""The kernel's log as the second source of Xids: some are told nowhere else.

The forms of the lines: the maker's kernel modules of 595.45 (kernel-open/nvidia/nv.c and nv-pci.c, uvm_global.c of
kernel-open/nvidia-uvm, osinit.c and osapi.c of arch/nvalloc/unix/src, src/common/nvswitch/kernel, gpu/gsp/kernel_gsp.c,
gpu/arch/ampere/kern_gpu_error_cont_ga100.c), and drivers/base/dd.c of the kernel. They count from their beginning, and
of an Xid only its head up to the pid: what follows has the name of a program, any 15 bytes. Of errors of NVLink the
words are read to the line's end, which are longer than a name. The client of an API
mismatch has 63. The module prints all its lines as ones that go on with another (KERN_CONT, nv_printf of
kernel-open/nvidia/os-interface.c), so that pieces of lines cannot be left out here.

An Xid 45 of R570 and later ends with "caused by previous Xid N". That one has its own line: it is not counted twice.
"""

import re
from collections.abc import Callable

from cmgr.drivers.kernel_log import KernelLog, Record
from cmgr.drivers.nvml.codes import GSP_TIMEOUT
from cmgr.drivers.nvml.hearing import nvlink4, nvlink5
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import say

_SLOT = r"([0-9a-fA-F]{4,8}):([0-9a-fA-F]{2}):([0-9a-fA-F]{2})"
_PART = r"(?: GPU-I:(\d\d)(?: GPU-CI:\d\d)?)?"
_XID = re.compile(rf"NVRM: Xid \((?:PCI:)?{_SLOT}{_PART}\): (\d{{1,6}}), (?:pid=(\d{{1,7}}), )?", re.ASCII)
_SXID = re.compile(
    r"(nvidia-nvswitch\d{1,4}): SXid \(PCI:[0-9a-fA-F:.]{7,20}\): (\d{1,6}), (?!Severity \d|Data \{)(.*)", re.ASCII
)
_GPU = rf"{_SLOT}\.\d"
_END = r"(?: |\\x0a| \\x0a)(?:NVRM: )?"
"""The end of a line within a record, which older drivers do not have everywhere."""

_LOST = re.compile(rf"NVRM: GPU {_GPU}: GPU has fallen off the bus\.?$", re.ASCII)
_DEAD = re.compile(
    rf"NVRM: The NVIDIA GPU {_GPU}{_END}\(PCI ID: [0-9a-fA-F]{{4}}:[0-9a-fA-F]{{4}}\){_END}installed in this system has"
    rf"{_END}fallen off the bus and is not responding to commands\.$",
    re.ASCII,
)
_NOT_PROBED = re.compile(
    rf"(?:nvidia: probe of {_GPU}|nvidia {_GPU}: probe with driver nvidia) failed with error -\d{{1,4}}$", re.ASCII
)
_NOT_BEGUN = re.compile(rf"NVRM: GPU {_GPU}: RmInitAdapter failed!", re.ASCII)
_TAKEN_OUT = re.compile(rf"NVRM: Attempting to remove device {_GPU} with non-zero usage count", re.ASCII)
_LIMITED = re.compile(rf"NVRM: Rate limiting GSP RPC error prints for GPU at PCI:{_SLOT} \(", re.ASCII)
_RESET_WORDS = re.compile(r".*\. RST: (Yes|No), D-RST: (Yes|No)$")
_CONTAINED = frozenset({94, 95})
_LOADED = re.compile(r"NVRM: loading NVIDIA UNIX (?:Open Kernel Module for )?[\w-]+ ")
_UVM = re.compile(
    r"nvidia-uvm: uvm_global\.c:\d+ uvm_global_set_fatal_error_impl\[pid:\d+\] Encountered a global fatal error: "
)

LOST = 79
"""The Xid of a GPU that is lost: it is told in other words, too, and then without a number."""

_FATAL = frozenset({10006, 10007, 10008, *range(26001, 26009)})
"""Errors of a switch that are fatal without the word: it shuts down, does not answer, or its controller failed."""

_HINT = say("driver.log-hint", right="CAP_SYSLOG", setting='nvml.kernel_log = ""')


@dataclass(frozen=True, slots=True)
class Xid:
    """A line about a GPU. `asks`: the recovery action that it asks for in words of its own; 0: none.

    `pid`: the process that it came of, 0 where none is named. `part`: of MIG, the number of the GPU instance.
    `nvlink`: the words of an error of NVLink.
    """

    bus: str
    number: int
    asks: int = 0
    pid: int = 0
    part: int | None = None
    nvlink: nvlink4.Error | nvlink5.Error | None = None


@dataclass(frozen=True, slots=True)
class SwitchXid:
    """A line about a switch of NVLink, which names no GPU. `record` and `seconds`: as in `kernel_log.Record`."""

    switch: str
    number: int
    fatal: bool
    record: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class NotBegun:
    """The driver could not begin with this GPU, which was to be opened."""

    bus: str


@dataclass(frozen=True, slots=True)
class NotProbed:
    """The driver did not take this GPU when the module was loaded, or it was found: it is in no list."""

    bus: str


@dataclass(frozen=True, slots=True)
class TakenOut:
    """This GPU was taken out of the machine. The kernel waits until nobody has it open any more."""

    bus: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """The driver's module was loaded: whatever was wrong with GPUs before, it found them anew."""


@dataclass(frozen=True, slots=True)
class MemoryFailed:
    """The driver's shared memory (UVM) has failed for the whole machine."""


_OF_A_GPU: tuple[tuple[re.Pattern[str], Callable[[str], "OfGpu"]], ...] = (
    (_LOST, lambda bus: Xid(bus, LOST)), (_DEAD, NotProbed), (_NOT_PROBED, NotProbed),
    (_NOT_BEGUN, NotBegun), (_TAKEN_OUT, TakenOut),
    (_LIMITED, lambda bus: Xid(bus, GSP_TIMEOUT)),  # Three in a row; from here on not each has its line.
)  # fmt: skip

OfGpu = Xid | NotBegun | NotProbed | TakenOut
Line = OfGpu | SwitchXid | Loaded | MemoryFailed


def parse(line: Record) -> Line | None:
    """Return what this line of the log says, if it is one of these."""
    text = line.text
    if found := _XID.match(text):
        number, part = int(found[5]), None if found[4] is None else int(found[4])
        asks = _asks(text) if number in _CONTAINED else 0
        return Xid(_bus(found), number, asks, int(found[6] or 0), part, _of_nvlink(number, text[found.end() :]))
    if found := _SXID.match(text):
        fatal = found[3].startswith("Fatal") or int(found[2]) in _FATAL or "Shutting Down" in found[3]
        return SwitchXid(found[1], int(found[2]), fatal, line.number, line.seconds)
    for pattern, meant in _OF_A_GPU:
        if found := pattern.match(text):
            return meant(_bus(found))
    if _LOADED.match(text):
        return Loaded()
    return MemoryFailed() if _UVM.match(text) else None


def _of_nvlink(number: int, words: str) -> nvlink4.Error | nvlink5.Error | None:
    if number == nvlink4.XID:
        return nvlink4.said(words)
    return nvlink5.said(words) if number in nvlink5.XIDS else None


def _asks(text: str) -> int:
    """Return the recovery action of what Xids 94 and 95 say: a reset, or one that may wait until the GPU is idle."""
    said = _RESET_WORDS.fullmatch(text)
    if said is None:
        return 0
    return 1 if said[1] == "Yes" else 4 if said[2] == "Yes" else 0


def _bus(found: re.Match[str]) -> str:
    domain, bus, device = (int(part, 16) for part in [*filter(None, found.groups())][:3])
    return f"{domain:04x}:{bus:02x}:{device:02x}.0"


def _numbered(record: Record) -> tuple[int, Line] | None:
    said = parse(record)
    return None if said is None else (record.number, said)


class XidLog(KernelLog[tuple[int, Line]]):
    """The kernel's log as it tells of Xids, each line with its number."""

    def __init__(self, path: str) -> None:
        super().__init__(path, _numbered, _HINT)
