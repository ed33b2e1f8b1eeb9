"""The kernel's log as the second source of Xids: some are told nowhere else.

The log is also where cmgr notes that a GPU was reset: Xids and what ended them stand in one place, which ends with the
boot. Whoever reads it from the beginning knows which Xids still count.
"""

import re

from cmgr.drivers.kernel_log import KernelLog, Record
from cmgr.frozen import dataclass

_XID = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9a-fA-F]+):([0-9a-fA-F]+):([0-9a-fA-F]+)[^)]*\): (\d+),")
_SXID = re.compile(r"(nvidia-nvswitch\d+): SXid \([^)]*\): (\d+), (Fatal|Non-fatal)")
_RESET = re.compile(r"cmgr: ([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.0) was reset")

_HINT = (
    "run as root; ln -s /usr/lib/cmgr/nvidia.conf /etc/systemd/system/cmgr.service.d/ shows it to the service; "
    'or set nvml.kernel_log = ""'
)


@dataclass(frozen=True, slots=True)
class Xid:
    """A line about a GPU."""

    bus: str
    number: int


@dataclass(frozen=True, slots=True)
class SwitchXid:
    """A line about a switch of NVLink, which names no GPU. `record` and `seconds`: as in `kernel_log.Record`."""

    switch: str
    number: int
    fatal: bool
    record: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class WasReset:
    """cmgr's own line about a reset that worked."""

    bus: str


Line = Xid | SwitchXid | WasReset


def parse(line: Record) -> Line | None:
    """Return what this line of the log says, if it is one of these."""
    text = line.text
    if found := _XID.search(text):
        domain, bus, device = (int(part, 16) for part in found.groups()[:3])
        return Xid(f"{domain:04x}:{bus:02x}:{device:02x}.0", int(found[4]))
    if found := _SXID.search(text):
        return SwitchXid(found[1], int(found[2]), found[3] == "Fatal", line.number, line.seconds)
    if found := _RESET.search(text):
        return WasReset(found[1])
    return None


class XidLog(KernelLog[Line]):
    """The kernel's log as it tells of Xids, and of resets."""

    def __init__(self, path: str) -> None:
        super().__init__(path, parse, _HINT)

    def note_reset(self, bus: str) -> bool:
        """Write that this GPU was reset. Return whether that worked: if not, its Xids come back in the next life."""
        return self.note(f"cmgr: {bus} was reset")
