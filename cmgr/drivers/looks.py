"""Looking at chips again and again, as every watch does: when for new ones, and how a silent one is noted."""

APART = 1.0
"""Seconds, at the least, between looks for new chips."""


class Silence(str):
    """Why a chip did not answer."""


class Looks:
    """When new chips are looked for: every so many seconds, and soon where somebody asks for that. Any thread.

    Times are those of the monotonic clock. `at`: when the next look is due.
    """

    def __init__(self, every: float) -> None:
        self._every = every
        self._last = -APART
        self.at = 0.0

    def start(self, now: float) -> None:
        """The chips are known now: the first look is due after the usual time."""
        self.at = now + self._every

    def soon(self) -> None:
        """Have it done at the next opportunity, not sooner than `APART` after the last one: then it is put off."""
        self.at = min(self.at, self._last + APART)

    def begin(self, now: float) -> None:
        """A look begins; who asks for one while it goes on gets another."""
        self._last, self.at = now, now + self._every
