"""Which library this driver wants, where the packages of the Ascend driver put it, and who may open it.

To the kernel's side of that driver a process is on the host only in init's mount namespace. In another it is an
ordinary container, but for one with root and all capabilities in init's user namespace, and no read-only memory cgroup.
When an ordinary one opens the library, it takes every chip away from all other containers; its lists of processes are
empty, and each of its resets is refused. (The maker's driver of 2026-07: docker_query.c 26-147, ka_system.c 177-213.)
"""

from pathlib import Path

from cmgr.drivers.dcmi.library.abi import LIBRARY
from cmgr.drivers.libraries import Wanted
from cmgr.errors import DriverMissing
from cmgr.host.mounts import in_the_host
from cmgr.sentences.sentence import say

WANTED = Wanted(
    LIBRARY,
    "dcmi.library",
    say("driver.ascend-driver"),
    (
        "/usr/local/dcmi",
        "/usr/local/Ascend/driver/lib64/driver",
        "/usr/local/Ascend/driver/lib64",
        "/usr/lib64",
        "/usr/lib",
    ),
)

_CAPABILITIES = 38

_OF_INIT = ["0", "0", "4294967295"]
"""The map of the user namespace of init: each number is its own."""

_GROUPS = "/sys/fs/cgroup/memory"

_MAKING = ("ProtectSystem=", "PrivateTmp=", "ReadWritePaths=")
"""Some settings of a unit that give it a mount namespace."""


def check_host(proc: Path = Path("/proc")) -> None:
    """Raise `DriverMissing` where the library is not to be opened, because this process would be a container to it."""
    # Where nobody can say it the library refuses by itself those that must not use it.
    if in_the_host(proc=proc) or not (lacks := _lacks(proc)):
        return
    raise DriverMissing(
        say("driver.a-container", library=LIBRARY, lacks=lacks),
        hint=say("driver.out-of-namespace", command="nsenter --target 1 --mount cmgr check", options=_MAKING),
    )


def _lacks(proc: Path) -> str:
    """Return why this process is not the host's all the same, in words; nothing where it is."""
    status = dict(line.split(":", 1) for line in _read(proc, "status").splitlines() if ":" in line)
    effective = int(status["CapEff"], 16)
    if lacking := [str(number) for number in range(_CAPABILITIES) if not effective >> number & 1]:
        return say("driver.lacks-capabilities", numbers=lacking)
    if status["Uid"].split()[1] != "0" or _read(proc, "uid_map").split() != _OF_INIT:
        return say("driver.not-root")
    mounts = (line.split() for line in _read(proc, "mountinfo").splitlines())
    sealed = any(words[4] == _GROUPS and "ro" in words[5].split(",") for words in mounts)
    return say("driver.has-read-only", path=_GROUPS) if sealed else ""


def _read(proc: Path, name: str) -> str:
    return (proc / "self" / name).read_text(errors="replace")
