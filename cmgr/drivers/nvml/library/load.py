"""Which library this driver wants, where the packages of NVIDIA's driver put it, and who may open it.

To that driver a process in a pid namespace of its own is told of nobody outside: each GPU would seem to be free.
"""

from pathlib import Path

from cmgr.drivers.libraries import Wanted
from cmgr.drivers.nvml.library.abi import LIBRARY
from cmgr.errors import DriverMissing
from cmgr.sentences.sentence import say

IN_CONTAINER = "/run/nvidia/driver"
"""The root of a driver that runs in a container, as the GPU Operator's does."""

WANTED = Wanted(
    LIBRARY,
    "nvml.library",
    say("driver.nvidia-driver", names=("libnvidia-ml1", "libnvidia-compute")),
    (
        "/usr/lib/x86_64-linux-gnu",
        "/usr/lib/aarch64-linux-gnu",
        "/usr/lib64",
        "/usr/lib",
        f"{IN_CONTAINER}/usr/lib/x86_64-linux-gnu",
        f"{IN_CONTAINER}/usr/lib/aarch64-linux-gnu",
        f"{IN_CONTAINER}/usr/lib64",
    ),
)

_HOSTS_PIDS = "pid:[4026531836]"
"""The machine's own pid namespace: its number is a constant of Linux (PROC_PID_INIT_INO)."""


def check_host(root: Path = Path("/")) -> None:
    """Raise `DriverMissing` where this process would not see who uses the GPUs. Of a driver that is loaded, that is."""
    if not _is_loaded(root):
        return  # The library says so itself.
    try:
        ours = (root / "proc/self/ns/pid").readlink().as_posix()
    except OSError:
        return  # Nobody can say it.
    if ours != _HOSTS_PIDS:
        raise DriverMissing(
            say("driver.own-pids", library=LIBRARY),
            hint=say("driver.hosts-pids", option="--pid=host"),
        )


def _is_loaded(root: Path) -> bool:
    return (root / "proc/driver/nvidia/version").exists()


def why_not_loaded(root: Path = Path("/")) -> str:
    """Return what to type when the library says that the driver is not loaded; it says so without device files, too."""
    if not _is_loaded(root):
        return say("driver.load-it", command="modprobe nvidia")
    if not (root / "dev/nvidiactl").exists():
        return say("driver.no-device-files", command="nvidia-smi -L")
    return say("driver.see-log")
