"""A time of day that tests set, for processes that are started with it."""

import mmap
import shutil
import struct
import subprocess
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from tests.support.waiting import PATIENCE

SOURCE = Path(__file__).with_name("clock.c")


class CannotBuild(Exception):
    """Why there can be no such clock here."""


class WallClock:
    """Compiled in `folder`. Processes with this `environment` see the time of day plus what it was `set` to."""

    def __init__(self, folder: Path, compiler: Sequence[str] = ("gcc",)) -> None:
        if shutil.which(compiler[0]) is None:
            raise CannotBuild(f"there is no {compiler[0]}")
        library, ahead = folder / "clock.so", folder / "ahead"
        how = ("-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC")
        subprocess.run([*compiler, *how, "-o", str(library), str(SOURCE)], check=True, timeout=PATIENCE)
        ahead.write_bytes(bytes(8))
        self.environment: Mapping[str, str] = {"LD_PRELOAD": str(library), "WALL_CLOCK_AHEAD": str(ahead)}
        with ahead.open("r+b") as file:
            self._ahead = mmap.mmap(file.fileno(), 8)

    def set(self, ahead: timedelta) -> None:
        """Set the clock so far ahead of the true one, at once."""
        self._ahead[:] = struct.pack("<q", int(ahead.total_seconds()))

    def close(self) -> None:
        self._ahead.close()
