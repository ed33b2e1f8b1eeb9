"""The Xids that have happened and still count: an Xid is told in a moment, and what it says of the GPU may last.

An Xid that asks for a reset counts until its GPU was reset. Where the driver itself says which action a GPU needs, its
word is better than the Xid's: once it has had time to speak and asks for none, the Xid counts no more.
"""

import threading
import time
from collections.abc import Callable, Iterable

from cmgr.drivers.nvml import codes
from cmgr.model.values.chips import ChipId

SETTLE = 2.0
"""Seconds in which the driver raises the recovery action after an Xid."""


class Xids:
    """Any thread."""

    def __init__(self, release: int, settle: float = SETTLE, now: Callable[[], float] = time.monotonic) -> None:
        self._release = release
        self.settle = settle
        self._now = now
        self._lock = threading.Lock()
        self._since: dict[ChipId, dict[int, float]] = {}

    def lasts(self, xid: int) -> bool:
        """Return whether this Xid counts after its moment. Of an unknown one only a newer driver says whether."""
        if codes.is_known(xid):
            return codes.lasts(xid)
        return self._release < codes.FIRST_WITH_ACTIONS

    def is_judged(self, xid: int) -> bool:
        """Return whether the driver will say by its recovery action what the Xid asks for."""
        return codes.raises_action(xid, self._release)

    def add(self, chip: ChipId, xid: int) -> None:
        with self._lock:
            self._since.setdefault(chip, {})[xid] = self._now()

    def codes(self, chip: ChipId, action: int | None) -> tuple[str, ...]:
        """Return the codes that count now, when the driver asks for this action."""
        with self._lock:
            there = self._since.get(chip, {})
            for xid in [x for x, since in there.items() if action == 0 and self._is_over(x, since)]:
                del there[xid]
            return tuple(map(codes.code_of, sorted(there)))

    def _is_over(self, xid: int, since: float) -> bool:
        return self.is_judged(xid) and self._now() >= since + self.settle

    def cured(self, chips: Iterable[ChipId]) -> None:
        """Forget those of GPUs that were reset."""
        with self._lock:
            for chip in chips:
                self._since.pop(chip, None)
