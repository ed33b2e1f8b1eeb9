"""The processes that keep GPUs open, so that these cannot be reset, and what makes them let go."""

import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from cmgr.drivers.processes import Holder, in_words, process_of, unit_of
from cmgr.model.values.chips import Process

_MODESET = "sys/module/nvidia_drm/parameters/modeset"
"""Y where that module keeps the GPUs that have a display open, with no process at all."""

_LETS_GO = frozenset({"nvidia-persistenced.service", "nvidia-fabricmanager.service"})
"""nvidia-smi has the first let go by itself; after a restart of the second all GPUs want a reset."""


def holders_of(minors: Iterable[int], root: Path = Path("/")) -> tuple[Process, ...]:
    """Return the processes that have a device file of these GPUs open, also those that NVML does not list."""
    files = {f"/dev/nvidia{minor}" for minor in minors}
    found = []
    for descriptors in sorted(root.glob("proc/[0-9]*/fd")):
        try:
            names = {file.readlink().as_posix() for file in descriptors.iterdir()}
        except OSError:
            continue  # It has ended, or is nobody's business.
        if names & files:
            found.append(process_of(Holder(int(descriptors.parent.name), 0), root / "proc"))
    return tuple(found)


def who_holds(minors: Iterable[int], root: Path = Path("/")) -> tuple[str, str]:
    """Return in words who has them open, as far as can be seen, and what to type."""
    units = {process: unit_of(process.pid, root / "proc") for process in holders_of(minors, root)}
    named = sorted(set(filter(None, units.values())) - _LETS_GO)
    who = ", ".join(in_words(process) + (f" of {unit}" if unit else "") for process, unit in units.items())
    if named:
        return who, f"systemctl stop {' '.join(named)}; or have cmgr do that: nvml.stop_units = {json.dumps(named)}"
    if who:
        return who, "stop it; the reset is tried again"
    if shows_a_console(root):
        return "the kernel's module nvidia_drm", "modprobe -r nvidia_drm"
    return "somebody whom cmgr cannot see", "look for more with fuser -v /dev/nvidia*"


def monitors(minors: Iterable[int], root: Path = Path("/")) -> Iterator[tuple[Process, str]]:
    """Yield the processes that keep GPUs open outside of containers, each with its unit."""
    for process in holders_of(minors, root):
        unit = unit_of(process.pid, root / "proc")
        if unit and not process.container and process.pid != os.getpid() and unit not in _LETS_GO:
            yield process, unit


def shows_a_console(root: Path = Path("/")) -> bool:
    """Return whether the kernel itself keeps GPUs open for a display."""
    try:
        return (root / _MODESET).read_text().strip() == "Y"
    except OSError:
        return False
