"""Compiling the stand-in for a library of chips, and folders that cmgr may load it from."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from cmgr import trust
from tests.running import reaper
from tests.support.waiting import PATIENCE


class CannotBuild(Exception):
    """Why there can be no stand-in here."""


class Workshop:
    """Compiles each variant of a source once, into a folder that cmgr trusts; `close` removes it.

    `variants`: the compiler's further words for each. `compiler`: what is called as gcc is, for another machine, say.
    """

    def __init__(
        self, source: Path, library: str, variants: Mapping[str, Sequence[str]], compiler: Sequence[str] = ("gcc",)
    ) -> None:
        if shutil.which(compiler[0]) is None:
            raise CannotBuild(f"there is no {compiler[0]}")
        self._source = source
        self._library = library
        self._variants = variants
        self._compiler = compiler
        self.folder = trusted_folder()
        self._made: dict[str, Path] = {}
        self._worlds = 0

    def library(self, variant: str) -> Path:
        """Return the library of that variant, without a machine beside it."""
        if variant not in self._made:
            target = self.folder / f"{variant}.so"
            warnings = ("-Wall", "-Wextra", "-Werror", "-Wno-unused-function")
            how = ("-std=gnu11", "-O1", *warnings, "-shared", "-fPIC", "-pthread", *self._variants[variant])
            subprocess.run(
                [*self._compiler, *how, "-o", str(target), str(self._source), "-ldl"], check=True, timeout=PATIENCE
            )
            self._made[variant] = target
        return self._made[variant]

    def place(self, variant: str) -> Path:
        """Return a copy of the library in a folder of its own: to the loader it is another one."""
        self._worlds += 1
        folder = self.folder / str(self._worlds)
        folder.mkdir(mode=0o755)
        return Path(shutil.copy(self.library(variant), folder / self._library))

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def trusted_folder() -> Path:
    """Return a new folder that nobody else can write, up to the root. Raises `CannotBuild`."""
    for parent in (Path("/var/lib"), Path.home(), Path(__file__).parent):
        try:
            folder = reaper.outside(parent, "cmgr-chips-")
        except OSError:
            continue
        folder.chmod(0o755)
        probe = folder / "probe"
        probe.touch(mode=0o644)
        weak = trust.weakness(probe, itself=True, sticky=False, uid=os.geteuid())
        probe.unlink()
        if weak is None:
            return folder
        folder.rmdir()
    raise CannotBuild("every folder that this user can write can be written by others")
