"""Chips that are not up, in no reset of ours: for how long, and when one has dropped. Any thread.

The library does not tell a chip that left the bus from one that another program resets: neither is ready, and both have
the boot status 3 or 0. So only time tells, or the fault that the host's side of the driver raises.
"""

import threading
import time
from collections.abc import Iterable

from cmgr.model.values.chips import ChipId
from cmgr.sentences.sentence import say

FOREIGN_RESET = 600.0
"""The seconds that a reset by somebody else may last, boot and all."""

_SAID = (2, 5, 10, 20, 60, 240, 1440)
"""The minutes after which it is said that a chip has not booted, in other words each time."""


class Downs:
    """`foreign`: after so many seconds a chip that was up once, and is not, has dropped."""

    def __init__(self, foreign: float = FOREIGN_RESET) -> None:
        self._foreign = foreign
        self._lock = threading.Lock()
        self._were_up: set[ChipId] = set()
        self._told: set[ChipId] = set()
        self._since: dict[ChipId, float] = {}

    def is_up(self, chip: ChipId) -> None:
        with self._lock:
            self._were_up.add(chip)
            self._since.pop(chip, None)

    def tell(self, chip: ChipId, *, dropped: bool) -> None:
        """The driver has told that the chip dropped, or that this is over."""
        with self._lock:
            (self._told.add if dropped else self._told.discard)(chip)

    def forget(self, chips: Iterable[ChipId]) -> None:
        """These boot after a reset of ours: whoever ordered that knows how long it may take."""
        with self._lock:
            for chip in chips:
                self._told.discard(chip)
                self._since.pop(chip, None)

    def is_down(self, chip: ChipId) -> bool:
        """The chip is not up, and in no reset of ours. Return whether it has dropped."""
        now = time.monotonic()
        with self._lock:
            self._since.setdefault(chip, now)
            return self._has_dropped(chip, now)

    def _has_dropped(self, chip: ChipId, now: float) -> bool:
        return chip in self._were_up and (chip in self._told or now - self._since[chip] >= self._foreign)

    def trouble(self) -> tuple[str, ...]:
        """Return which chips have not booted for long, and have not dropped yet as far as anybody knows."""
        now = time.monotonic()
        with self._lock:
            waiting = {c: (now - since) / 60 for c, since in self._since.items() if not self._has_dropped(c, now)}
        said: dict[int, list[ChipId]] = {}
        for chip, minutes in sorted(waiting.items()):
            if passed := [each for each in _SAID if each <= minutes]:
                said.setdefault(passed[-1], []).append(chip)
        return tuple(say("driver.not-booted-for", chips=chips, minutes=minutes) for minutes, chips in said.items())
