"""A time of day that tests set, for processes that are started with it."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

from tests.fakes.preloaded import Preloaded

SOURCE = Path(__file__).with_name("clock.c")


class WallClock(Preloaded):
    """Compiled in `folder`. Processes with this `environment` see the time of day plus what it was `set` to."""

    def __init__(self, folder: Path, compiler: Sequence[str] = ("gcc",)) -> None:
        super().__init__(folder, SOURCE, "WALL_CLOCK_AHEAD", compiler)

    def set(self, ahead: timedelta) -> None:
        """Set the clock so far ahead of the true one, at once."""
        self.put(int(ahead.total_seconds()))
