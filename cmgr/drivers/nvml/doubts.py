"""Things of a machine that keep GPUs from being reset or seen as they are: what `cmgr check` warns of."""

import json
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from cmgr.drivers.nvml.library import abi
from cmgr.drivers.nvml.resetting.holders import monitors, shows_a_console
from cmgr.drivers.nvml.resetting.tool import RESCAN, weakness
from cmgr.drivers.nvml.settings import Nvml
from cmgr.drivers.processes import in_words
from cmgr.frozen import dataclass
from cmgr.model.values.chips import ChipId, listed
from cmgr.ports import Doubt

_MONITOR = "proc/driver/nvidia/capabilities/mig/monitor"
"""Which device file is MIG's right to monitor; a kernel without this file asks for root alone."""


@dataclass(frozen=True, slots=True)
class Seen:
    """The GPUs as the library sees them. `modes`: how each is virtual, in its numbers. `divided`: MIG has made parts.

    `minors`: N of each /dev/nvidiaN. `transient`: those without persistence mode. `mismatch`: in words, that the files
    of the driver are not those of its module.
    """

    modes: tuple[int, ...] = ()
    minors: tuple[int, ...] = ()
    divided: bool = False
    transient: tuple[ChipId, ...] = ()
    mismatch: str = ""


def doubts(settings: Nvml, seen: Seen, root: Path = Path("/")) -> Iterator[Doubt]:
    """Yield them. `root`: where the machine's files are."""
    if seen.mismatch:
        yield Doubt(
            f"the driver was updated while it runs ({seen.mismatch}): no GPU can be reset, and nothing started on one",
            "restart the machine, or load the new modules once nobody uses a GPU",
        )
    why = weakness(settings.tool)
    if why:
        yield Doubt(f"GPUs cannot be reset: {settings.tool}: {why}", "correct nvml.tool")
    why = _cannot_rescan(root / RESCAN)
    if why:
        yield Doubt(
            f"GPUs cannot be reset from here: /{RESCAN} cannot be written: {why}",
            "have systemd begin cmgr, outside of containers; nothing may make /sys read-only to cmgr-chips@.service",
        )
    found = set(seen.modes)
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
    if seen.divided and not settings.mig_tool:
        yield Doubt(
            "GPUs are divided by MIG: they are not reset, and a ring that needs it waits for a person",
            "set nvml.mig_tool to a program that makes their parts again",
        )
    if seen.divided:
        yield from _monitor_is_missing(root)
    if seen.transient:
        text = (
            f"without persistence mode, {listed(seen.transient)}: a GPU that nobody has open takes seconds to be opened"
        )
        yield Doubt(text, "systemctl --no-reload enable --now nvidia-persistenced, or at each boot: nvidia-smi -pm 1")
    yield from _kept_open(settings, seen.minors, root)


def _cannot_rescan(file: Path) -> str:
    """Return why nvidia-smi, which is run where this process is, cannot have the kernel look for a GPU again."""
    try:
        os.close(os.open(file, os.O_WRONLY))
    except FileNotFoundError:
        return ""  # Then it is no machine with GPUs on PCI.
    except OSError as error:
        return error.strerror or str(error)
    return ""


def _kept_open(settings: Nvml, minors: Iterable[int], root: Path) -> Iterator[Doubt]:
    for process, unit in monitors(minors, root):
        if unit not in settings.stop_units:
            wanted = json.dumps([*settings.stop_units, unit])
            text = f"{in_words(process)} of {unit} keeps GPUs open: while it does, no GPU of these is reset"
            yield Doubt(text, f"have it stopped for resets: nvml.stop_units = {wanted}")
    if shows_a_console(root):
        yield Doubt(
            "the kernel's module nvidia_drm shows a console (modeset): a GPU with a display may be free for no reset",
            "where no display is needed: options nvidia_drm modeset=0 in a file of /etc/modprobe.d, and a restart",
        )


def _monitor_is_missing(root: Path) -> Iterator[Doubt]:
    try:
        told = re.search(r"DeviceFileMinor:\s*(\d+)", (root / _MONITOR).read_text(errors="replace"))
    except OSError:
        return
    file = f"dev/nvidia-caps/nvidia-cap{told[1] if told else 2}"
    if not (root / file).exists():
        text = f"/{file}, MIG's right to monitor, is missing: divided GPUs tell of the processes of each part only"
        yield Doubt(text, f"type: nvidia-modprobe -f /{_MONITOR}")
