"""A disk that takes its time to sync, for processes that are started with it."""

from datetime import timedelta
from pathlib import Path

from tests.fakes.preloaded import Preloaded

SOURCE = Path(__file__).with_name("sync.c")


class SlowDisk(Preloaded):
    """Compiled in `folder`. To processes with this `environment` each fsync takes longer by what it was `set` to."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, SOURCE, "SLOW_DISK")

    def set(self, longer: timedelta) -> None:
        """Let each sync that begins from now on take so much longer."""
        self.put(longer // timedelta(milliseconds=1))
