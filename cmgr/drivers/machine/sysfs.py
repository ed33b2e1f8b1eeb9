"""Sources that are files of the kernel: EDAC, disks, md, hwmon.

Source of the names: the kernel's documentation, admin-guide/ras, admin-guide/md, hwmon/sysfs-interface, and the
drivers of NVMe and SCSI disks.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from cmgr.drivers.machine.source import Off, below, number, word
from cmgr.model.values.faults import FaultCode
from cmgr.model.values.machine import Symptom
from cmgr.sentences.sentence import say

_SPARE = {"raid4": 1, "raid5": 1, "raid6": 2}
"""So many disks may be missing in arrays of these levels."""


def named(code: str, part: str, text: str = "", mark: str = "") -> Symptom:
    return Symptom(FaultCode(code), part, text, mark)


class Memory:
    """Errors of the memory that its controllers have counted since the machine was started (EDAC)."""

    name = "memory"
    slow = 1

    def __init__(self, root: Path) -> None:
        self._controllers = root / "sys/devices/system/edac/mc"
        self._boot = root / "proc/sys/kernel/random/boot_id"

    def look(self) -> Sequence[Symptom]:
        controllers = below(self._controllers, "mc[0-9]*")
        if not controllers:
            raise Off(say("driver.no-edac"))
        boot = word(self._boot)
        return [symptom for controller in controllers for symptom in _errors(controller, boot)]


def _errors(controller: Path, boot: str) -> Iterator[Symptom]:
    modules = [path for kind in ("dimm", "rank", "csrow") for path in below(controller, f"{kind}[0-9]*")]
    for code, short in (("memory-uncorrected", "ue"), ("memory-corrected", "ce")):
        left = number(controller / f"{short}_count") or 0
        for module in modules:
            file = module / f"{'dimm_' if not module.name.startswith('csrow') else ''}{short}_count"
            if count := number(file) or 0:
                label = word(module / "dimm_label") or module.name
                left -= count
                yield named(code, f"{controller.name} {label}", _since_boot(count, short), f"{boot}:{count}")
        # Those that the controller could not pin on a module.
        if left > 0:
            yield named(code, controller.name, _since_boot(left, short), f"{boot}:{left}")


def _since_boot(count: int, short: str) -> str:
    return say("symptom.corrected", count=count) if short == "ce" else say("symptom.uncorrected", count=count)


class Disks:
    """Disks that the kernel has given up."""

    name = "disks"
    slow = 1

    def __init__(self, root: Path) -> None:
        self._controllers = root / "sys/class/nvme"
        self._disks = root / "sys/block"

    def look(self) -> Sequence[Symptom]:
        states = [(path.name, word(path / "state")) for path in below(self._controllers, "nvme*")]
        states += [(path.parents[1].name, word(path)) for path in below(self._disks, "*/device/state")]
        if not states:
            raise Off(say("driver.no-disk-state"))
        gone = ("dead", "offline", "transport-offline")
        found = [(name, state) for name, state in dict(states).items() if state in gone]
        return [named("disk-gone", name, say("symptom.state", state=state)) for name, state in found]


class Raid:
    """md arrays that miss disks."""

    name = "raid"
    slow = 1

    def __init__(self, root: Path) -> None:
        self._disks = root / "sys/block"

    def look(self) -> Sequence[Symptom]:
        arrays = [path for path in below(self._disks, "md*") if (path / "md").is_dir()]
        if not arrays:
            raise Off(say("driver.no-array"))
        return [symptom for array in arrays for symptom in _array(array)]


def _array(array: Path) -> Iterator[Symptom]:
    md = array / "md"
    state, level = word(md / "array_state"), word(md / "level")
    disks, missing = number(md / "raid_disks") or 0, number(md / "degraded") or 0
    faulty = sorted(
        path.parent.name.removeprefix("dev-") for path in below(md, "dev-*/state") if "faulty" in word(path)
    )
    text = say("symptom.raid", level=level, missing=missing, count=disks)
    if faulty:
        text = say("symptom.raid-failed", level=level, missing=missing, count=disks, names=faulty)
    spare = _SPARE.get(level, disks - 1)
    if state == "broken" or (disks and missing > spare):
        yield named("raid-failed", array.name, text)
    elif missing:
        is_rebuilt = word(md / "sync_action") == "recover"
        yield named("raid-degraded", array.name, say("symptom.rebuilt", what=text) if is_rebuilt else text)


class Sensors:
    """Temperatures beyond what their makers call critical, and fans that have failed, as the kernel's drivers tell."""

    name = "sensors"
    slow = 1

    def __init__(self, root: Path) -> None:
        self._devices = root / "sys/class/hwmon"

    def look(self) -> Sequence[Symptom]:
        devices = below(self._devices, "hwmon[0-9]*")
        if not devices:
            raise Off(say("driver.no-sensor"))
        return [symptom for device in devices for symptom in (*_heat(device), *_fans(device))]


def _heat(device: Path) -> Iterator[Symptom]:
    for path in below(device, "temp[0-9]*_input"):
        sensor = path.name.removesuffix("_input")
        now, most = number(path), number(device / f"{sensor}_crit")
        alarms = [number(device / f"{sensor}_{kind}_alarm") for kind in ("crit", "emergency")]
        # Some boards' limits are 0, or below what they measure in the cold.
        beyond = now is not None and most is not None and most > 0 and now >= most
        if beyond or 1 in alarms:
            text = say("symptom.temperature", now=now // 1000) if now is not None else ""
            if now is not None and most and most > 0:
                text = say("symptom.temperature-most", now=now // 1000, most=most // 1000)
            yield named("temperature-critical", _sensor(device, sensor), text)


def _fans(device: Path) -> Iterator[Symptom]:
    for path in below(device, "fan[0-9]*_fault"):
        if number(path) == 1:
            yield named("fan-failed", _sensor(device, path.name.removesuffix("_fault")))


def _sensor(device: Path, sensor: str) -> str:
    return f"{word(device / 'name') or device.name} {word(device / f'{sensor}_label') or sensor}"
