"""Compiling the stand-in for libdcmi.so, and a folder that it may be loaded from."""

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from cmgr.drivers.dcmi.abi import LIBRARY
from cmgr.drivers.libraries import Where, search

SOURCE = Path(__file__).with_name("libdcmi.c")

FAMILIES = {"one": ("-DONE",), "two": ("-DTWO",), "both": ("-DONE", "-DTWO"), "none": ()}


class CannotBuild(Exception):
    """Why there can be no stand-in here."""


class Workshop:
    """Compiles each family once, into a folder that cmgr trusts; `close` removes it.

    `compiler`: what is called as gcc is, for another machine than this one, say.
    """

    def __init__(self, compiler: Sequence[str] = ("gcc",)) -> None:
        if shutil.which(compiler[0]) is None:
            raise CannotBuild(f"there is no {compiler[0]}")
        self._compiler = compiler
        self.folder = trusted_folder()
        self._made: dict[str, Path] = {}
        self._worlds = 0

    def library(self, family: str) -> Path:
        """Return the library of that family, without a machine beside it."""
        if family not in self._made:
            target = self.folder / f"{family}.so"
            warnings = ("-Wall", "-Wextra", "-Werror", "-Wno-unused-function")
            how = ("-std=gnu11", "-O1", *warnings, "-shared", "-fPIC", "-pthread", *FAMILIES[family])
            subprocess.run([*self._compiler, *how, "-o", str(target), str(SOURCE), "-ldl"], check=True, timeout=60)
            self._made[family] = target
        return self._made[family]

    def place(self, family: str) -> Path:
        """Return a copy of the library in a folder of its own: to the loader it is another one."""
        self._worlds += 1
        folder = self.folder / str(self._worlds)
        folder.mkdir(mode=0o755)
        return Path(shutil.copy(self.library(family), folder / LIBRARY))

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def trusted_folder() -> Path:
    """Return a new folder that nobody else can write, up to the root. Raises `CannotBuild`."""
    for parent in (Path("/var/lib"), Path.home(), Path(__file__).parent):
        try:
            folder = Path(tempfile.mkdtemp(prefix="cmgr-dcmi-", dir=parent))
        except OSError:
            continue
        folder.chmod(0o755)
        probe = folder / LIBRARY
        probe.touch(mode=0o644)
        refusals = [c.refusal for c in search(Where(str(probe))) if c.refusal]
        probe.unlink()
        if not refusals:
            return folder
        folder.rmdir()
    raise CannotBuild("every folder that this user can write can be written by others")
