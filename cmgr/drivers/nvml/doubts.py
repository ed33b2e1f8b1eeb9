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
from cmgr.errors import system_words
from cmgr.frozen import dataclass
from cmgr.model.values.chips import ChipId
from cmgr.ports import Doubt
from cmgr.sentences.sentence import say

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
        yield Doubt(say("driver.updated-while-running", why=seen.mismatch), say("driver.load-new-modules"))
    why = weakness(settings.tool)
    if why:
        yield Doubt(
            say("driver.gpus-not-reset", path=settings.tool, why=why), say("driver.correct", setting="nvml.tool")
        )
    why = _cannot_rescan(root / RESCAN)
    if why:
        yield Doubt(
            say("driver.no-rescan", path=f"/{RESCAN}", why=why),
            say("driver.outside-containers", path="/sys", unit="cmgr-chips@.service"),
        )
    found = set(seen.modes)
    if abi.VIRTUAL_GPU in found:
        yield Doubt(
            say("driver.vgpus"),
            say("driver.vgpus-hint", setting="levels.RestartNPU.reset = false", other="FreeRestartNPU"),
        )
    elif abi.PASSED_THROUGH in found:
        yield Doubt(say("driver.passed-through"), say("driver.passed-through-hint", command="nvidia-smi --gpu-reset"))
    if seen.divided and not settings.mig_tool:
        yield Doubt(say("driver.mig-not-reset"), say("driver.name-mig-tool"))
    if seen.divided:
        yield from _monitor_is_missing(root)
    if seen.transient:
        enable = "systemctl --no-reload enable --now nvidia-persistenced"
        hint = say("driver.or-at-boot", command=enable, other="nvidia-smi -pm 1")
        yield Doubt(say("driver.not-persistent", chips=seen.transient), hint)
    yield from _kept_open(settings, seen.minors, root)


def _cannot_rescan(file: Path) -> str:
    """Return why nvidia-smi, which is run where this process is, cannot have the kernel look for a GPU again."""
    try:
        os.close(os.open(file, os.O_WRONLY))
    except FileNotFoundError:
        return ""  # Then it is no machine with GPUs on PCI.
    except OSError as error:
        return system_words(error)
    return ""


def _kept_open(settings: Nvml, minors: Iterable[int], root: Path) -> Iterator[Doubt]:
    for process, unit in monitors(minors, root):
        if unit not in settings.stop_units:
            wanted = json.dumps([*settings.stop_units, unit])
            text = say("driver.keeps-open", process=in_words(process), unit=unit)
            yield Doubt(text, say("driver.have-it-stopped", wanted=f"nvml.stop_units = {wanted}"))
    if shows_a_console(root):
        yield Doubt(
            say("driver.shows-console"),
            say("driver.no-modeset", line="options nvidia_drm modeset=0", path="/etc/modprobe.d"),
        )


def _monitor_is_missing(root: Path) -> Iterator[Doubt]:
    try:
        told = re.search(r"DeviceFileMinor:\s*(\d+)", (root / _MONITOR).read_text(errors="replace"))
    except OSError:
        return
    file = f"dev/nvidia-caps/nvidia-cap{told[1] if told else 2}"
    if not (root / file).exists():
        text = say("driver.no-mig-monitor", path=f"/{file}")
        yield Doubt(text, say("back.type", command=f"nvidia-modprobe -f /{_MONITOR}"))
