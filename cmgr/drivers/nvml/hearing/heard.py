"""The Xids that were heard just now: two sources tell the same one."""

import math
import threading
import time
from collections.abc import Iterable, Set

from cmgr.model.values.chips import ChipId

MOST = 1024
"""So many are remembered; what is older than the time in which the same one is one is forgotten then."""

OF_NOBODY = -1
"""The process of an Xid that was told of none."""


class Heard:
    """Any thread. `same`: seconds in which the same Xid is one."""

    def __init__(self, same: float) -> None:
        self._same = same
        self._lock = threading.Lock()
        self._at: dict[tuple[ChipId, int, int], float] = {}

    def is_news(self, chip: ChipId, xid: int, pid: int = 0) -> bool:
        """Return whether this Xid was not heard just now: of this process, or told of none; of none, of any."""
        now = time.monotonic()
        with self._lock:
            recent = [at for whose in {pid, OF_NOBODY if pid else 0} if (at := self._at.get((chip, xid, whose)))]
            if any(now < at + self._same for at in recent):
                return False
            if len(self._at) >= MOST:
                self._at = {key: at for key, at in self._at.items() if now < at + self._same}
            self._at |= dict.fromkeys([(chip, xid, 0), (chip, xid, pid or OF_NOBODY)], now)
        return True

    def is_known(self, chip: ChipId, xids: Iterable[int]) -> bool:
        """Return whether one of these Xids was heard just now, of whatever process."""
        now = time.monotonic()
        with self._lock:
            return any(now < self._at.get((chip, xid, 0), -math.inf) + self._same for xid in xids)

    def forget(self, chips: Set[ChipId]) -> None:
        """The same Xid of these is another one from now on."""
        with self._lock:
            self._at = {key: at for key, at in self._at.items() if key[0] not in chips}
