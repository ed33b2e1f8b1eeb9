"""Which library this driver wants, where the packages of the Ascend driver put it, and who may open it.

To the kernel's side of that driver a process is on the host only in init's mount namespace. In another it is an
ordinary container, but for one with all capabilities. When that opens the library, it takes every chip away from all
other containers; its lists of processes are empty, and each of its resets is refused.
"""

from pathlib import Path

from cmgr.drivers.dcmi.library.abi import LIBRARY
from cmgr.drivers.libraries import Wanted
from cmgr.errors import DriverMissing
from cmgr.host.mounts import in_the_host

WANTED = Wanted(
    LIBRARY,
    "dcmi.library",
    "the Ascend driver",
    (
        "/usr/local/dcmi",
        "/usr/local/Ascend/driver/lib64/driver",
        "/usr/local/Ascend/driver/lib64",
        "/usr/lib64",
        "/usr/lib",
    ),
)

_CAPABILITIES = 38


def check_host(proc: Path = Path("/proc")) -> None:
    """Raise `DriverMissing` where the library is not to be opened, because this process would be a container to it."""
    # Where nobody can say it the library refuses by itself those that must not use it.
    if in_the_host(proc=proc) or not (lacking := _lacking(proc)):
        return
    numbers = ", ".join(map(str, lacking))
    raise DriverMissing(
        f"cannot open {LIBRARY} here: this process is not in the mount namespace of init and lacks the capabilities "
        f"{numbers}, so it is a container to the Ascend driver, which would take the chips from all others",
        hint="nsenter --target 1 --mount cmgr check shows whether it works there; of a unit take out whatever makes "
        "a mount namespace (ProtectSystem=, PrivateTmp=, ReadWritePaths= and their like): systemctl edit UNIT",
    )


def _lacking(proc: Path) -> list[int]:
    """Return the numbers of the capabilities, of those that the driver asks for, that this process does not have."""
    status = (proc / "self" / "status").read_text(errors="replace").splitlines()
    effective = int(next(line for line in status if line.startswith("CapEff:")).split()[1], 16)
    return [number for number in range(_CAPABILITIES) if not effective >> number & 1]
