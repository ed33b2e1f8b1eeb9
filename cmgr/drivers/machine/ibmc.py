"""The alarms of Huawei's BMC (iBMC) that are active now, by the maker's own IPMI command, which ipmitool passes on.

They have codes of their own, ALM-0x0300000D in the BMC's own pages, of which the first byte is the kind of part.
Source of the command, of the answer's form and of the names of parts: MindCluster's NodeD, which publishes these codes
(component/noded/pkg/monitoring/ipmimonitor and pkg/common of Ascend/mind-cluster). No sensor and no entry of the BMC's
log is taken for one of them.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from cmgr.drivers.machine import ipmi
from cmgr.drivers.machine.source import Off
from cmgr.drivers.machine.sysfs import named
from cmgr.drivers.machine.tool import ask
from cmgr.errors import DriverError
from cmgr.model.values.machine import Symptom
from cmgr.sentences.sentence import say

_BEGIN = ("raw", "0x30", "0x94", "0xdb", "0x07", "0x00", "0x40", "0x00")
_END = ("0x0e", "0xff")
_MAKER = bytes.fromhex("db0700")
_HEAD, _RECORD = 7, 15
_MOST = 100
"""So many questions: NodeD asks as many, too."""

_REFUSED = re.compile(r"rsp=0x[0-9a-f]{2}\b")
"""A completion code in ipmitool's complaint: the BMC has answered, and does not take the command."""

_PARTS = {
    0x00: "CPU", 0x01: "Memory", 0x02: "Disk", 0x03: "PSU", 0x04: "Fan", 0x05: "Disk BP", 0x06: "RAID Card",
    0x08: "PCIe Card", 0x09: "AMC", 0x0A: "HBA", 0x0B: "Mezz Card", 0x0D: "NIC", 0x0E: "Memory Board",
    0x0F: "PCIe Riser", 0x10: "Mainboard", 0x12: "Chassis", 0x14: "Switch Module", 0x1A: "BMC", 0x24: "CPU Board",
    0x26: "PCIe Adapter", 0x28: "Cable", 0x29: "Port", 0x2A: "LSW", 0x2C: "System", 0x3E: "PCIe Switch",
    0x40: "xPU Board", 0x45: "PCIe Retimer", 0x48: "Memory Channel", 0x4D: "Node", 0x53: "OCP Card", 0x56: "NPU",
    0x58: "Expansion Module",
}  # fmt: skip


class Ibmc:
    """The BMC of this machine, if it is Huawei's. Another maker's is asked once."""

    name = "ibmc"
    slow = 1

    def __init__(self, root: Path, program: str, seconds: float) -> None:
        self._root, self._program, self._seconds = root, program, seconds
        self._is_another = False

    def look(self) -> Sequence[Symptom]:
        ipmi.require(self._root)
        found: list[Symptom] = []
        for _ in range(_MOST):
            total, alarms = read(self._ask(len(found)))
            found += alarms
            if not alarms or len(found) >= total:
                return found
        raise DriverError(say("driver.too-many-alarms", count=len(found)))

    def _ask(self, place: int) -> str:
        if not self._is_another:
            words = (*_BEGIN, f"0x{place & 0xFF:02x}", f"0x{place >> 8:02x}", *_END)
            said = ask(self._program, words, self._seconds)
            if said.status == 0 or not _REFUSED.search(said.complaint):
                return ipmi.checked(said, words).text
            self._is_another = True
        raise Off(say("driver.bmc-of-another", maker="Huawei"))


def read(text: str) -> tuple[int, list[Symptom]]:
    """Return how many alarms there are, and those of this answer, by ipmitool's bytes. Raises `DriverError`."""
    try:
        told = bytes.fromhex(text)
    except ValueError:
        told = b""
    if len(told) < _HEAD or not told.startswith(_MAKER) or len(told) < _HEAD + told[5] * _RECORD:
        raise DriverError(say("driver.bmc-not-read"))
    return int.from_bytes(told[3:5], "little"), list(_alarms(told[_HEAD : _HEAD + told[5] * _RECORD]))


def _alarms(records: bytes) -> Iterator[Symptom]:
    for place in range(0, len(records), _RECORD):
        record = records[place : place + _RECORD]
        code = int.from_bytes(record[:4], "little")
        if code:
            yield named(
                f"ALM-0x{code:08X}", f"{_PARTS.get(record[9], 'UNKNOWN')} {record[10]}", say("symptom.bmc-alarm")
            )
