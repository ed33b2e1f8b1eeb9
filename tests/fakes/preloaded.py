"""A library that is preloaded into processes, and a number for it that tests set while they run."""

import mmap
import shutil
import struct
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.fakes.workshop import CannotBuild
from tests.support.waiting import PATIENCE


class Preloaded:
    """Compiled in `folder` from `source`, which includes preloaded.h. Processes with this `environment` have it.

    `number_in`: the variable that names the number's file. Raises `CannotBuild`.
    """

    def __init__(self, folder: Path, source: Path, number_in: str, compiler: Sequence[str] = ("gcc",)) -> None:
        if shutil.which(compiler[0]) is None:
            raise CannotBuild(f"there is no {compiler[0]}")
        library, place = folder / f"{source.stem}.so", folder / f"{source.stem}.number"
        how = ("-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC")
        subprocess.run([*compiler, *how, "-o", str(library), str(source)], check=True, timeout=PATIENCE)
        place.write_bytes(bytes(8))
        self.environment: Mapping[str, str] = {"LD_PRELOAD": str(library), number_in: str(place)}
        with place.open("r+b") as file:
            self._number = mmap.mmap(file.fileno(), 8)

    def put(self, number: int) -> None:
        self._number[:] = struct.pack("<q", number)

    def close(self) -> None:
        self._number.close()
