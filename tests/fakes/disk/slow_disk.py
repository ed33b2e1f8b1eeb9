"""A disk that takes its time to sync, for processes that are started with it."""

import mmap
import shutil
import struct
import subprocess
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

from tests.support.waiting import PATIENCE

SOURCE = Path(__file__).with_name("sync.c")


class CannotBuild(Exception):
    """Why there can be no such disk here."""


class SlowDisk:
    """Compiled in `folder`. To processes with this `environment` each fsync takes longer by what it was `set` to."""

    def __init__(self, folder: Path, compiler: Sequence[str] = ("gcc",)) -> None:
        if shutil.which(compiler[0]) is None:
            raise CannotBuild(f"there is no {compiler[0]}")
        library, longer = folder / "sync.so", folder / "longer"
        how = ("-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC")
        subprocess.run([*compiler, *how, "-o", str(library), str(SOURCE)], check=True, timeout=PATIENCE)
        longer.write_bytes(bytes(8))
        self.environment: Mapping[str, str] = {"LD_PRELOAD": str(library), "SLOW_DISK": str(longer)}
        with longer.open("r+b") as file:
            self._longer = mmap.mmap(file.fileno(), 8)

    def set(self, longer: timedelta) -> None:
        """Let each sync that begins from now on take so much longer."""
        self._longer[:] = struct.pack("<q", longer // timedelta(milliseconds=1))

    def close(self) -> None:
        self._longer.close()
