"""Storms: a chip that tells of so many faults that each alone would cost more than it says."""

from collections import deque

from cmgr.model.values.chips import ChipId

STORM = 64
"""A chip that tells of more faults than these within `WITHIN` storms."""

WITHIN = 1.0
"""In seconds."""

PAUSE = 0.08
"""A chip that storms is heard after so many seconds each time, with all that it has told by then."""


class Storms:
    """Which chips storm. Whoever asks sees to it that one thread does at a time."""

    def __init__(self) -> None:
        self._told: dict[ChipId, deque[float]] = {}

    def has(self, chip: ChipId, at: float) -> bool:
        """Return whether the chip, which tells of a fault now, storms. `at`: in seconds, by whatever clock."""
        told = self._told.setdefault(chip, deque(maxlen=STORM))
        storms = len(told) == STORM and 0 <= at - told[0] < WITHIN
        told.append(at)
        return storms
