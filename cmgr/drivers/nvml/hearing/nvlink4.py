"""Errors of NVLink up to the fourth (Xid 74), of which the bits of the line say whether anything has to be done.

NVIDIA's procedure for them is WORKFLOW_NVLINK_ERR of its RAS catalogue, which NVIDIA/NVSentinel#364 has word for word:
a line has seven registers, of which Hopper uses the first, the third, the fourth and the fifth.
"""

import re

from cmgr.drivers.nvml.hearing.nvlink5 import Decision
from cmgr.drivers.nvml.library import abi
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import say

XID = 74

_WORDS = re.compile(
    r"(?:pid='<unknown>', )?(?:name=.{0,60}?, )?NVLink: fatal error detected on link (\d{1,4})"
    r"\((0x[0-9a-f]{1,8}(?:, 0x[0-9a-f]{1,8}){6})\)",
    re.ASCII,
)

_HARMLESS = {0: (0, 23, 30), 4: (20, 23, 26, 29)}
"""By register the bits that can be ignored, and those of corrected errors that became many: work goes on."""


@dataclass(frozen=True, slots=True)
class Error:
    """The words of a line."""

    link: int
    registers: tuple[int, ...]

    @property
    def where(self) -> str:
        return say("driver.link", link=self.link)


def said(text: str) -> Error | None:
    """Return what a line says after the number of its Xid, and that of its process; None where that is no error."""
    found = _WORDS.fullmatch(text)
    return None if found is None else Error(int(found[1]), tuple(int(word, 16) for word in found[2].split(", ")))


def decision(error: Error, architecture: int) -> Decision:
    """Return what is to be done. `architecture`: of the GPU, as NVML has it."""
    if architecture != abi.HOPPER or not any(error.registers):
        return Decision.ASK
    harmless = {register: sum(1 << bit for bit in bits) for register, bits in _HARMLESS.items()}
    grave = any(value & ~harmless.get(register, 0) for register, value in enumerate(error.registers))
    return Decision.ASK if grave else Decision.IGNORE
