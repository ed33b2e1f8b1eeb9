"""The disks' own word (SMART), asked by smartctl.

Source of the names: smartctl(8), and the fields of NVMe's health log (NVM Express Base Specification, log page 02h).
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cmgr.drivers.machine.source import Off, below, number
from cmgr.drivers.machine.sysfs import named
from cmgr.drivers.machine.tool import ask
from cmgr.errors import DriverError
from cmgr.model.values.machine import Symptom
from cmgr.sentences.sentence import parts, say
from cmgr.words import json_of

_ASK = ("--json=c", "--health", "--attributes", "--nocheck=standby")

_UNREADABLE = 0b11
"""The bits of its status for a command line that it cannot read, and a disk that it cannot open."""

_WARNINGS = {
    0: say("symptom.little-space"),
    2: say("symptom.unreliable"),
    3: say("symptom.read-only"),
    4: say("symptom.memory-not-kept"),
    5: say("symptom.memory-unreliable"),
}
"""The bits of an NVMe disk's critical warning; its temperature (1) is no matter of the disk."""

_NO_RIGHT = ("permission denied", "operation not permitted")


class Smart:
    """Disks that say that they fail, or that they are worn out."""

    name = "smart"
    slow = 10

    def __init__(self, root: Path, program: str, seconds: float) -> None:
        self._root = root
        self._program = program
        self._seconds = seconds

    def look(self) -> Sequence[Symptom]:
        disks = self._disks()
        if not disks:
            raise Off(say("driver.no-disk"))
        found, refusals = list[Symptom](), list[str]()
        for disk in disks:
            told = _told(ask(self._program, (*_ASK, f"/dev/{disk}"), self._seconds).text)
            if why := _refusal(told):
                refusals.append(why)
            else:
                found += _disk(disk, told)
        if len(refusals) == len(disks):
            raise Off(say("driver.no-disk-asked", why=refusals[0]))
        return found

    def _disks(self) -> list[str]:
        controllers = [path.name for path in below(self._root / "sys/class/nvme", "nvme[0-9]*")]
        disks = [path.name for path in below(self._root / "sys/block", "sd[a-z]*") if number(path / "size")]
        return controllers + disks


def _told(text: str) -> Mapping[str, Any]:
    try:
        told = json_of(text)
    except ValueError:
        told = None
    if not isinstance(told, dict) or not isinstance(told.get("smartctl"), dict):
        raise DriverError(say("driver.not-json", program="smartctl"), hint=say("driver.at-least", version=7))
    return told


def _refusal(told: Mapping[str, Any]) -> str:
    """Return why the disk could not be asked; nothing when it could."""
    own = told["smartctl"]
    status, messages = own.get("exit_status"), own.get("messages")
    if not isinstance(status, int) or not status & _UNREADABLE:
        return ""
    said = (
        [str(m["string"]) for m in messages if isinstance(m, dict) and "string" in m]
        if isinstance(messages, list)
        else []
    )
    why = said[0] if said else say("driver.program-does-not-say", program="smartctl")
    if any(words in why.lower() for words in _NO_RIGHT):
        return parts((why, say("driver.right-by", path="/usr/lib/cmgr/machine.conf")))
    return why


def _disk(disk: str, told: Mapping[str, Any]) -> Iterator[Symptom]:
    model = told.get("model_name")
    name = f"{disk} {model}" if isinstance(model, str) else disk
    verdict, log = _part(told, "smart_status"), _part(told, "nvme_smart_health_information_log")
    warning, used = log.get("critical_warning"), log.get("percentage_used")
    reasons = [text for bit, text in _WARNINGS.items() if _whole(warning) >> bit & 1]
    failed = verdict.get("passed") is False
    # Of a hot NVMe disk its own verdict is "failed", too.
    if reasons or (failed and _whole(warning) != 0b10):
        yield named("disk-failing", name, parts(reasons) or say("symptom.own-test"))
    elif _whole(used) >= 100:
        yield named("disk-worn", name, say("symptom.worn", percent=_whole(used)))


def _part(told: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = told.get(key)
    return part if isinstance(part, dict) else {}


def _whole(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < 1 << 16 else 0
