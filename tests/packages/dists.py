"""The packages that were built, and later ones made of them."""

import fcntl
import json
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cmgr import __version__

ROOT = Path(__file__).parents[2]
DIST = ROOT / "dist"
DEB_NAMES = {"x86_64": "amd64", "aarch64": "arm64"}
NATIVE = subprocess.run(["uname", "-m"], capture_output=True, text=True, check=True).stdout.strip()
ARCHES = tuple(DEB_NAMES)


def deb(arch: str = NATIVE) -> Path:
    return _built(f"cmgr_{__version__}-1_{DEB_NAMES[arch]}.deb")


def rpm(arch: str = NATIVE) -> Path:
    return _built(f"cmgr-{__version__}-1.{arch}.rpm")


def selinux() -> Path:
    return _built(f"cmgr-selinux-{__version__}-1.noarch.rpm")


def _built(name: str) -> Path:
    path = DIST / name
    assert path.exists(), f"{path} was not built (make test-packages builds it)"
    return path


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, folder or link of a package."""

    mode: str
    owner: str
    path: str
    target: str = ""


def entries(package: Path) -> list[Entry]:
    """Return what a .deb contains; paths without the leading dot."""
    listed = said("dpkg-deb", "--contents", str(package))
    found = []
    for line in listed.splitlines():
        mode, owner, _size, _day, _hour, rest = line.split(None, 5)
        path, _, target = rest.partition(" -> ")
        found.append(Entry(mode, owner, path.removeprefix(".").rstrip("/"), target))
    return found


def said(*command: str) -> str:
    """Run a command that must succeed, and return what it wrote."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}: {done.stdout[-2000:]} {done.stderr[-2000:]}"
    return done.stdout


def built(to: Path, *scripts: str, **variables: str) -> str:
    """Build with these scripts of packaging/, and return what the last one wrote; the packages are left in `to`.

    One at a time: all of them work in build/packages, and other workers install those in dist/ in the meantime.
    """
    settings = [f"CMGR_DIST={to}", *(f"{name}={value}" for name, value in variables.items())]
    with (ROOT / "build/packages.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return [said("env", *settings, "sh", str(ROOT / "packaging" / script)) for script in scripts][-1]


def unpacked(package: Path, to: Path) -> Path:
    """Unpack a .deb with its control files."""
    said("dpkg-deb", "--raw-extract", str(package), str(to))
    return to


def answer(python: Sequence[str], script: str) -> Any:
    """Run a script, and return what it printed, read as JSON."""
    return json.loads(said(*python, "-c", script))


def later(package: Path, to: Path, version: str, *, configuration: str = "", unit: str = "") -> Path:
    """Return a .deb of the same program as another version, with this as its file, and more at the end of its unit."""
    stage = unpacked(package, to / f"stage-{version}")
    control = stage / "DEBIAN/control"
    control.write_text(re.sub(r"(?m)^Version: .*$", f"Version: {version}-1", control.read_text()))
    program = stage / "usr/lib/cmgr/lib/cmgr"
    (program / "__init__.py").write_text(f'"""A later cmgr."""\n\n__version__ = "{version}"\n')
    for stale in (program / "__pycache__").glob("__init__.*"):
        stale.unlink()
    if configuration:
        (stage / "etc/cmgr/cmgr.toml").write_text(configuration)
    with (stage / "usr/lib/systemd/system/cmgr.service").open("a") as file:
        file.write(unit)
    made = to / f"cmgr_{version}-1.deb"
    said("dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", str(stage), str(made))
    return made
