"""The processes that keep GPUs open, so that these cannot be reset, and what makes them let go.

In the way is who has a GPU's own file open. The driver counts more: memory that it exported as dma-buf, and GPUs that
were attached over the files for all GPUs. Whoever has only these is perhaps in the way: nobody can say of which GPU.
"""

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from cmgr.drivers.nvml.library.installed import module_version, release_of
from cmgr.drivers.processes import Holder, in_words, opened, process_of, unit_of
from cmgr.model.values.chips import Process
from cmgr.sentences.sentence import say

_MODESET = "sys/module/nvidia_drm/parameters/modeset"
"""Y where that module keeps the GPUs that have a display open, with no process at all."""

_RESET_AWARE = 595
"""From this release on the driver counts no displays, and modeset is Y by default."""

_FOR_ALL = frozenset({"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"})
_OF_ONE = re.compile(r"/dev/nvidia\d+")
_DMA_BUF = ("/dmabuf:", "anon_inode:dmabuf")
"""How a descriptor of exported memory reads, the second before Linux 5.3."""

_EXPORTER = re.compile(r"^exp_name:\s*nvidia", re.MULTILINE)

_NEEDED = frozenset({"nvidia-persistenced.service", "nvidia-fabricmanager.service", "nvidia-imex.service"})
"""nvidia-smi has the first let go by itself; after a restart of the second all GPUs want a reset; without the third a
rack's domain breaks. Whether the driver counts the last two is not known."""

_OURS = b"\0chips\0--serve"
"""In the command line of each process of cmgr's that has GPUs open."""

_MORE = say("driver.look-for-more", command="fuser -v /dev/nvidia*")


def holders_of(minors: Iterable[int], root: Path = Path("/")) -> tuple[Process, ...]:
    """Return the processes that have a device file of these GPUs open, also those that NVML does not list."""
    files = {f"/dev/nvidia{minor}" for minor in minors}
    pids = [pid for pid, names in opened(root) if not files.isdisjoint(names.values())]
    return tuple(process_of(Holder(pid, 0), root / "proc") for pid in pids)


def perhaps_holders(root: Path = Path("/")) -> Iterator[tuple[Process, str]]:
    """Yield the processes that are perhaps in the way of a reset, each with what it has open."""
    for pid, descriptors in opened(root):
        names = {*descriptors.values()}
        # Whoever has some GPU's own file open computes on that one.
        files = [] if any(map(_OF_ONE.fullmatch, names)) or _is_ours(pid, root) else sorted(_FOR_ALL & names)
        if any(name.startswith(_DMA_BUF) and _is_exported(root, pid, number) for number, name in descriptors.items()):
            files.append(say("driver.gpu-memory"))
        if files:
            yield process_of(Holder(pid, 0), root / "proc"), say("word.listed", parts=files)


def _is_exported(root: Path, pid: int, descriptor: str) -> bool:
    try:
        return _EXPORTER.search((root / f"proc/{pid}/fdinfo/{descriptor}").read_text(errors="replace")) is not None
    except OSError:
        return False


def _is_ours(pid: int, root: Path) -> bool:
    try:
        return _OURS in (root / f"proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def who_holds(minors: Iterable[int], root: Path = Path("/")) -> tuple[str, str]:
    """Return in words who has them open, as far as can be seen, and what to type."""
    units = {process: unit_of(process.pid, root / "proc") for process in holders_of(minors, root)}
    named = set(filter(None, units.values()))
    who = _together(
        say("driver.process-of", process=in_words(process), unit=unit) if unit else in_words(process)
        for process, unit in units.items()
    )
    if stopped := sorted(named - _NEEDED):
        command, wanted = f"systemctl stop {' '.join(stopped)}", f"nvml.stop_units = {json.dumps(stopped)}"
        return who, say("driver.stop-units", command=command, wanted=wanted)
    if who and named:
        return who, say("driver.leave-running", names=sorted(named), more=_MORE)
    if who:
        return who, say("driver.stop-it")
    if shows_a_console(root):
        return say("driver.nvidia-drm"), "modprobe -r nvidia_drm"
    perhaps = [say("driver.has-open", process=in_words(each), files=files) for each, files in perhaps_holders(root)]
    return (say("driver.perhaps", who=perhaps) if perhaps else say("driver.unseen")), _MORE


def _together(told: Iterable[str]) -> str:
    found = list(told)
    return say("word.listed", parts=found) if found else ""


def monitors(minors: Iterable[int], root: Path = Path("/")) -> Iterator[tuple[Process, str]]:
    """Yield the processes that keep GPUs open outside of containers, each with its unit."""
    for process in holders_of(minors, root):
        unit = unit_of(process.pid, root / "proc")
        if unit and not process.container and unit not in _NEEDED and not _is_ours(process.pid, root):
            yield process, unit


def users_of(minor: int, root: Path = Path("/")) -> tuple[Process, ...]:
    """Return the processes that use a GPU which does not say who does: those with its file open that are no unit's.

    Units are monitors, and nvidia-smi refuses a reset where one is more than that.
    """
    found = (process for process in holders_of((minor,), root) if not _is_ours(process.pid, root))
    return tuple(process for process in found if process.container or not unit_of(process.pid, root / "proc"))


def shows_a_console(root: Path = Path("/")) -> bool:
    """Return whether the kernel itself keeps GPUs open for a display."""
    try:
        shows = (root / _MODESET).read_text().strip() == "Y"
    except OSError:
        return False
    return shows and release_of(module_version(root)) < _RESET_AWARE
