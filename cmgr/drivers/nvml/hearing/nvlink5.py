"""Errors of NVLink 5 (Xids 144 to 150), of which the unit, the subcode and the bits decide, and not the number.

nvlink5.json is NVIDIA's own decode of them. It beats the word of the line where they differ: some that say "Fatal" ask
for nothing. The firmware words the line, so that its form is that of real ones (NVIDIA/NVSentinel#1357; leptonai/gpud
#1160, #1174). Before R575 the bits were others. No two rows that ask for different things fit one line, so that nobody
has to know the driver's release: all pairs were compared.
"""

import json
import re
from enum import IntEnum
from functools import cache
from pathlib import Path

from cmgr.frozen import dataclass
from cmgr.sentences.sentence import say

XIDS = frozenset(range(144, 151))

_NETIR = 149
"""Of this one errorStatus is a number; of the others each bit is an error of its own."""

# The name of a program is 15 bytes, each of which the log may write as four: too few for what follows here.
_WORDS = re.compile(
    r"(?:pid='<unknown>', )?(?:name=.{0,60}?, )?([A-Z0-9_]+)(?:/[A-Z0-9_]+)? +(Fatal|Nonfatal) +XC\d+ +i\d+ +"
    r"Link +(-?\d{1,4}) +\(0x([0-9a-f]{8}) +0x([0-9a-f]{8})[ 0-9a-fx]*\)?",
    re.ASCII,
)


class Decision(IntEnum):
    """For an Xid nothing is done, or whatever the driver will ask for, or what its level says."""

    IGNORE = 0
    ASK = 1
    LEVEL = 2


_RESOLUTIONS = {"IGNORE": Decision.IGNORE, "XID_154_EVAL": Decision.ASK, "RESET_GPU": Decision.LEVEL}


@dataclass(frozen=True, slots=True)
class Error:
    """The words of a line. `link`: -1 where it is none alone. `info` and `status`: intrInfo and errorStatus."""

    unit: str
    fatal: bool
    link: int
    info: int
    status: int

    @property
    def where(self) -> str:
        return say("driver.unit-link", unit=self.unit, link=self.link)


@dataclass(frozen=True, slots=True)
class _Row:
    xid: int
    status: int
    forms: tuple[tuple[int, int], ...]
    decision: Decision


@cache
def _rows() -> tuple[_Row, ...]:
    read = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))["rows"]
    rows = []
    for xid, _, *words, resolution in read:
        status, mask, value, mask_since, value_since = (int(word, 16) for word in words)
        rows.append(_Row(xid, status, ((mask, value), (mask_since, value_since)), _RESOLUTIONS[resolution]))
    return tuple(rows)


def said(text: str) -> Error | None:
    """Return what a line says after the number of its Xid, and the number of its process; None where that is no error.

    The closing bracket, and words before it, may be cut off.
    """
    found = _WORDS.fullmatch(text)
    if found is None:
        return None
    return Error(found[1], found[2] == "Fatal", int(found[3]), int(found[4], 16), int(found[5], 16))


def decision(xid: int, error: Error) -> Decision:
    """Return what is to be done.

    Where NVIDIA's decode does not have the error its word decides: the driver is asked about a fatal one.
    """
    rows = [row for row in _rows() if row.xid == xid and any(error.info & mask == value for mask, value in row.forms)]
    if same := [row.decision for row in rows if row.status == error.status]:
        return max(same)
    parts = [row for row in rows if xid != _NETIR and row.status & error.status]
    if parts and sum({row.status for row in parts}) == error.status:
        return max(row.decision for row in parts)
    return Decision.ASK if error.fatal else Decision.IGNORE
