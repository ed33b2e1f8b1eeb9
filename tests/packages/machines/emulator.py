"""The package for the architecture that this machine does not have, run by an emulator, as if it were installed here.

Nothing is registered with the kernel for it: whatever is to run under the emulator is started with it.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.packages import dists
from tests.support.daemons.daemon import CannotRun
from tests.support.service import NOW

FOREIGN = next(arch for arch in dists.ARCHES if arch != dists.NATIVE)
LIBRARIES = Path(f"/usr/{FOREIGN}-linux-gnu/lib")
INSTALLED = Path("/usr/lib/cmgr")
LARGEST_PAGES = {"x86_64": 1 << 12, "aarch64": 1 << 16}
"""In bytes. Distributions for servers with aarch64 have such kernels."""

EVERY_SYMBOL = ("-E", "LD_BIND_NOW=1")
"""A function that is nowhere is missed when a file is loaded, not when it is called."""


class Emulator:
    """`python` are the words that start the package's interpreter, as its launcher does, and `program` the launcher."""

    def __init__(self, package: Path, folder: Path) -> None:
        """Raises `CannotRun`."""
        name = f"qemu-{FOREIGN}"
        if shutil.which(name) is None:
            raise CannotRun(f"there is no {name}")
        if not (LIBRARIES / "libstdc++.so.6").exists():
            raise CannotRun(f"there is no libstdc++.so.6 in {LIBRARIES}")
        self.tree = dists.unpacked(package, folder / "tree")
        # The emulator looks for every file here first.
        root = folder / "root"
        (root / "usr/lib").mkdir(parents=True)
        (root / str(INSTALLED)[1:]).symlink_to(self.tree / str(INSTALLED)[1:])
        for libraries in ("lib", "lib64"):
            (root / libraries).symlink_to(LIBRARIES)
        launcher = (self.tree / "usr/lib/cmgr/bin/cmgr").read_text().splitlines()[0]
        interpreter, *options = launcher.removeprefix("#!").split()
        self._interpreter = (name, *EVERY_SYMBOL, "-L", str(root), "-0", interpreter, str(self.tree / interpreter[1:]))
        self.python = (*self._interpreter, *options)
        self.program = (str(INSTALLED / "bin/cmgr"),)

    def with_pages(self, size: int) -> tuple[str, ...]:
        """Return what makes the emulator's kernel one with pages of that size. Raises `CannotRun`."""
        pages = ("-p", str(size))
        if dists.answer((self.python[0], *pages, *self.python[1:]), "import mmap; print(mmap.PAGESIZE)") != size:
            raise CannotRun(f"{self.python[0]} does not pretend pages of {size} bytes")
        return pages

    def once_more(self, *pages: str) -> tuple[tuple[str, ...], Mapping[str, str]]:
        """Return what starts a `cmgr` that can start itself once more, and the environment that it needs."""
        python = (self._interpreter[0], *pages, *self._interpreter[1:])
        words = (*python, "-SP", "-m", "tests.packages.machines.emulated")
        return words, {**self._environment, "EMULATED": json.dumps(words)}

    @property
    def _environment(self) -> Mapping[str, str]:
        paths = f"{INSTALLED / 'lib'}:{dists.ROOT}"
        return {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}

    def module(self, name: str, *words: str) -> str:
        """Run a module of the tests with the package's cmgr, and return what it wrote."""
        command = [*self._interpreter, "-SP", "-m", name, *words]
        environment = self._environment
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)
        assert done.returncode == 0, f"{command}: {done.stdout[-2000:]} {done.stderr[-2000:]}"
        return done.stdout


class Chips:
    """Ascend chips behind an emulated stand-in for libdcmi.so. All orders are emulated, too: `machines.ascend`."""

    def __init__(self, emulator: Emulator, library: Path, family: str) -> None:
        self.library = library
        self._emulator = emulator
        self._order("create", family)

    def _order(self, *words: str) -> str:
        return self._emulator.module("tests.packages.machines.ascend", str(self.library), *words)

    def fault(self, chip: int) -> None:
        self._order("fault", str(chip), NOW)

    def occupy(self, chip: int, pid: int) -> None:
        """Put that process on the chip, for as long as it lives."""
        self._order("process", str(chip), str(pid))

    def resets(self) -> list[tuple[int, int]]:
        """Return the chip and the answer of each."""
        return [(row["chip"], row["answer"]) for row in json.loads(self._order("resets"))]


def compiler(scratch: Path) -> tuple[str, ...]:
    """Return what the package's interpreter was compiled with, to be called as gcc is. Raises `CannotRun`."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = Path(os.environ.get("CMGR_BUILD_CACHE") or home / "cmgr-build")
    pinned = (dists.ROOT / "packaging/constraints.txt").read_text().split()
    version = next(line.removeprefix("ziglang==") for line in pinned if line.startswith("ziglang=="))
    zig = cache / f"zig-{version}-{dists.NATIVE}/ziglang/zig"
    if not zig.exists():
        raise CannotRun(f"there is no {zig}, which building the package leaves")
    caches = (f"ZIG_GLOBAL_CACHE_DIR={scratch}", f"ZIG_LOCAL_CACHE_DIR={scratch}")
    return ("env", *caches, str(zig), "cc", "-target", f"{FOREIGN}-linux-gnu.2.28")
