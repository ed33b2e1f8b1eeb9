"""Things of a machine that keep GPUs from being reset, or Xids from being heard: what `cmgr check` warns of."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from cmgr.drivers.nvml import abi
from cmgr.drivers.nvml.settings import Nvml
from cmgr.drivers.nvml.tool import Tool
from cmgr.ports import Doubt

DROP_IN = "usr/lib/cmgr/nvidia.conf"
"""The package's file, which gives the unit what GPUs need beyond other chips."""

_UNIT = "usr/lib/systemd/system/cmgr.service"
_PLACES = ("etc/systemd/system", "run/systemd/system", "usr/lib/systemd/system")
_LINK = (
    f"mkdir -p /etc/systemd/system/cmgr.service.d && ln -s /{DROP_IN} /etc/systemd/system/cmgr.service.d/ && "
    "systemctl daemon-reload && systemctl restart cmgr"
)


def doubts(settings: Nvml, modes: Iterable[int], root: Path = Path("/"), *, divided: bool = False) -> Iterator[Doubt]:
    """Yield them. `modes`: how each GPU is virtual, in the library's numbers. `root`: where the machine's files are.

    `divided`: MIG has made parts of one.
    """
    weakness = Tool(settings.tool).weakness()
    if weakness:
        yield Doubt(f"GPUs cannot be reset: {settings.tool}: {weakness}", "correct nvml.tool")
    found = set(modes)
    if abi.VIRTUAL_GPU in found:
        yield Doubt(
            "this machine has virtual GPUs (vGPU), which cannot be reset from inside of it",
            "recover them where the physical GPU is; here set levels.RestartNPU.reset = false, and FreeRestartNPU's",
        )
    elif abi.PASSED_THROUGH in found:
        yield Doubt(
            "the GPUs are passed through to this virtual machine: in many of these a reset is refused",
            "see that nvidia-smi --gpu-reset works here; if not, the hypervisor has to do it",
        )
    if divided and not settings.mig_tool:
        yield Doubt(
            "GPUs are divided by MIG: they are not reset, and isolated when that would have been needed",
            "set nvml.mig_tool to a program that makes their parts again",
        )
    if settings.kernel_log and (root / _UNIT).exists() and not _log_is_shown(root):
        yield Doubt(
            "the unit hides the kernel's log from the service: Xids that only the kernel tells are missed",
            f"type: {_LINK}",
        )


def _log_is_shown(root: Path) -> bool:
    files = (file for place in _PLACES for file in (root / place / "cmgr.service.d").glob("*.conf"))
    return any("ProtectKernelLogs=no" in file.read_text(errors="replace").split() for file in files)
