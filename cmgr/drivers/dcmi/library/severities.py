"""How grave the driver calls each fault: by its own list, by what it has told, and by the health of the chip.

Events of a code that the list lacks have severity 1, and a chip's health is the gravest severity of all faults that it
has: both by the maker's driver of 2026-07. Lists of a chip's codes come without severities.
"""

import re
import threading
from pathlib import Path

from cmgr.drivers.dcmi.library import abi

LIST = Path("/etc/dms_events_conf.lst")
"""The driver's package installs it, readable by root alone; older packages perhaps do not."""

UNLISTED = 1
MOST_TOLD = 512
_MOST_BYTES = 1 << 20
_LINE = re.compile(r"^\s*0[xX]([0-9A-Fa-f]{1,8})\s+([0-3])\s*$", re.MULTILINE)


class Severities:
    """Any thread. The list is read once."""

    def __init__(self, path: Path = LIST) -> None:
        self._listed = _read(path)
        self._told: dict[str, int] = {}
        self._lock = threading.Lock()

    def tell(self, code: str, severity: int) -> None:
        """Remember what the driver has told of this code."""
        with self._lock:
            if len(self._told) >= MOST_TOLD and code not in self._told:
                del self._told[next(iter(self._told))]
            self._told[code] = severity

    def of(self, code: str, most: int | None) -> int | None:
        """Return how grave the driver calls a fault with this code; None: nobody knows.

        `most`: the health of the chip that has it, None where that is not known.
        """
        known = self._listed.get(code, self._told.get(code))
        if known is None and self._listed and not code.startswith(abi.CONTROLLER):
            known = UNLISTED
        return min((severity for severity in (known, most) if severity is not None), default=None)


def _read(path: Path) -> dict[str, int]:
    """Return the list's severities by code; none where there is no list that can be read."""
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES).decode(errors="replace")
    except OSError:
        return {}
    return {code.upper().rjust(8, "0"): int(severity) for code, severity in _LINE.findall(text)}
