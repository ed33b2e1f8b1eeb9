"""Debian's own kernel and a first root for it, to be booted by qemu: nothing of it is installed here."""

import platform
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from tests.support.daemons.daemon import CannotRun

QEMU, BUSYBOX = "qemu-system-x86_64", "/bin/busybox"


def needed(*more: str) -> None:
    """See that all is there that emulates a machine, and these programs. Raises `CannotRun`."""
    if platform.machine() != "x86_64":
        raise CannotRun("it runs what runs on this machine, and only one of x86_64 is emulated")
    for program in (QEMU, "cpio", "depmod", "mke2fs", *more):
        if shutil.which(program) is None:
            raise CannotRun(f"there is no {program}")


def debians(package: str, folder: Path, modules: Iterable[str], first: str) -> tuple[Path, Path]:
    """Return Debian's kernel of that package's newest version, and its first root. Raises `CannotRun`.

    `first`: the script that the kernel starts, with a place for the names of `{modules}` in the order to load them in.
    """
    if not (found := _newest(package)):
        do("apt-get", "-qq", "update")  # Images often have no lists of packages.
        found = _newest(package)
    if not found:
        raise CannotRun(f"cannot make a machine: there is no package {package}")
    do("apt-get", "-qq", "-oAPT::Sandbox::User=root", "download", *found, where=folder)
    (file,) = folder.glob("linux-image*.deb")
    tree, root, packed = folder / "kernel", folder / "root", folder / "first"
    do("dpkg-deb", "--extract", str(file), str(tree))
    (version,) = [each.name for each in (tree / "lib/modules").iterdir()]
    do("depmod", "-b", str(tree), version)
    (root / "bin").mkdir(parents=True)
    shutil.copy(BUSYBOX, root / "bin/busybox")
    files = dict.fromkeys(file for name in modules for file in _needed(tree, version, name))
    for file in files:
        shutil.copy(file, root)
    (root / "init").write_text(first.format(modules=" ".join(file.name for file in files)))
    (root / "init").chmod(0o755)
    do("sh", "-c", f"find . | cpio --quiet -o -H newc | gzip -1 >{shlex.quote(str(packed))}", where=root)
    return next((tree / "boot").glob("vmlinuz-*")), packed


def _newest(package: str) -> list[str]:
    """Return the package of the newest version that this one stands for; none where it is not known."""
    told = subprocess.run(["apt-cache", "depends", package], capture_output=True, text=True, check=False).stdout
    return [line.split()[-1] for line in told.splitlines() if "Depends: linux-image" in line]


def _needed(tree: Path, version: str, module: str) -> list[Path]:
    """Return the files of a module and of those that it needs, the first to be loaded first; none if it is built in."""
    folder = tree / "lib/modules" / version
    for line in (folder / "modules.dep").read_text().splitlines():
        name, _, rest = line.partition(":")
        if Path(name).name.partition(".")[0] == module:
            return [folder / each for each in (*reversed(rest.split()), name)]
    return []


def do(*command: str, where: Path | None = None) -> str:
    """Run it, and return what it said. Raises `CannotRun`."""
    done = subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotRun(f"cannot make a machine: {command[0]}: {done.stderr.strip()[-400:]}")
    return done.stdout
