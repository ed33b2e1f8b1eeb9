"""A time of day that tests set, for processes that are started with it."""

import mmap
import shutil
import struct
import subprocess
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

SOURCE = Path(__file__).with_name("clock.c")


class CannotBuild(Exception):
    """Why there can be no such clock here."""


class WallClock:
    """Compiled in `folder`. Processes with this `environment` see the time of day plus what it was `set` to."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("gcc") is None:
            raise CannotBuild("there is no gcc")
        library, ahead = folder / "clock.so", folder / "ahead"
        how = ("-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC")
        subprocess.run(["gcc", *how, "-o", str(library), str(SOURCE)], check=True, timeout=60)
        ahead.write_bytes(bytes(8))
        self.environment: Mapping[str, str] = {"LD_PRELOAD": str(library), "WALL_CLOCK_AHEAD": str(ahead)}
        with ahead.open("r+b") as file:
            self._ahead = mmap.mmap(file.fileno(), 8)

    def set(self, ahead: timedelta) -> None:
        """Set the clock so far ahead of the true one, at once."""
        self._ahead[:] = struct.pack("<q", int(ahead.total_seconds()))

    def close(self) -> None:
        self._ahead.close()
