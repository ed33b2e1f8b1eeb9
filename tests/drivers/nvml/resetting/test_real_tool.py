"""NVIDIA's own nvidia-smi and libnvidia-ml, of Debian's non-free part, as a unit of a real systemd: without a GPU.

As root they make device files: here in a /dev of their own. They are run, and not taken apart.
"""

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from cmgr.drivers.nvml.resetting.tool import Ended
from cmgr.host.act import Act
from cmgr.host.host import Host
from tests.host.programs import LONG, NEVER, PATH
from tests.packages.machines.machine import sources
from tests.support.daemons.daemon import CannotRun

PACKAGES = ("nvidia-smi", "libnvidia-ml1")
TOOL, LIBRARY = "usr/lib/nvidia/current/nvidia-smi", "libnvidia-ml.so.1"
CONTROL = (195, 255)
"""The numbers of /dev/nvidiactl."""


def apt(folder: Path, *words: str) -> None:
    places = {"Dir::Etc::SourceList": folder / "sources", "Dir::Etc::SourceParts": "/dev/null"}
    places |= {"Dir::State::Lists": folder / "lists", "Dir::Cache": folder / "cache", "APT::Sandbox::User": "root"}
    options = [f"-o{name}={value}" for name, value in places.items()]
    done = subprocess.run(["apt-get", "-qq", *options, *words], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CannotRun(done.stderr.strip()[-300:])


def unpacked(folder: Path) -> Path:
    """Return where both are unpacked. Raises `CannotRun`."""
    for program in ("apt-get", "dpkg-deb", "unshare"):
        if shutil.which(program) is None:
            raise CannotRun(f"there is no {program}")
    (folder / "sources").write_text(sources("non-free"))
    for name in ("lists/partial", "cache/archives/partial", "root/dev"):
        (folder / name).mkdir(parents=True)
    apt(folder, "update")
    apt(folder, "download", *PACKAGES)
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg-deb", "--extract", str(package), str(folder / "root")], check=True)
    return folder / "root"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    try:
        return unpacked(tmp_path)
    except CannotRun as why:
        pytest.skip(f"NVIDIA's packages are not to be had: {why}")


def test_without_a_driver_it_says_so_which_is_no_failed_reset_and_makes_its_device_file(
    by_systemd: Host, root: Path
) -> None:
    library = next(root.glob(f"usr/lib/*/nvidia/current/{LIBRARY}"))
    run = f'mount --bind {root}/dev /dev && exec {root}/{TOOL} "$@"'
    words = ("/usr/bin/unshare", "--mount", "/bin/sh", "-c", run, "sh", "--gpu-reset", "-i", "0")
    environment = {**PATH, "LD_LIBRARY_PATH": str(library.parent), "LC_ALL": "C"}
    told = by_systemd.run(Act(root.parent.name, words, environment, LONG), NEVER)
    assert told.code == 9, told
    assert "couldn't communicate with the NVIDIA driver" in told.output
    assert Ended(told.code, told.output).not_begun
    made = (root / "dev/nvidiactl").stat()
    assert stat.S_ISCHR(made.st_mode)
    assert (os.major(made.st_rdev), os.minor(made.st_rdev)) == CONTROL
