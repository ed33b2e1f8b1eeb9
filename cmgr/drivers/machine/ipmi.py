"""The BMC's word on power supplies, fans, temperatures and the rest, asked by ipmitool: its sensors, and its log.

The sensors say what is so now; of the log only what no sensor shows any more counts: errors of memory, processors and
buses. Its entries may be years old, and its clock may be wrong: their age is taken from the BMC's own time.
Source of the words: ipmitool 1.8.19, which takes them from the IPMI specification 2.0, section 42.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cmgr.drivers.asked import Said
from cmgr.drivers.machine.source import Off
from cmgr.drivers.machine.sysfs import named
from cmgr.drivers.machine.tool import ask
from cmgr.errors import DriverError
from cmgr.model.values.machine import Symptom
from cmgr.sentences.sentence import say

_DEVICES = ("dev/ipmi0", "dev/ipmi/0", "dev/ipmidev/0")
_NEWEST = "128"
"""So many entries of the log are read: a BMC gives about fifty in a second."""

_MOST_LINES = 4096
_POWER = re.compile(r"10\.\d+")
"""The entity of a power supply."""

_STATES = (
    ("psu-failed", ("Power Supply AC lost", "AC out-of-range", "Power Supply Inactive", "Failure detected")),
    ("psu-failed", ("Predictive failure", "Config Error")),
    ("redundancy-lost", ("Redundancy Lost", "Non-Redundant", "Redundancy Degraded")),
    ("disk-failing", ("Drive Fault", "Predictive Failure", "In Failed Array", "In Critical Array")),
)
"""The meaning of a sensor's states, by how ipmitool's words for them begin."""

_UNITS = (("RPM", "fan-failed"), ("degrees", "temperature-critical"))

_EVENTS = (
    ("Memory", "memory-uncorrected", ("Uncorrectable ECC",)),
    ("Memory", "memory-corrected", ("Correctable ECC",)),
    ("Processor", "processor-corrected", ("Correctable machine check",)),
    ("Processor", "processor-failed", ("IERR", "Thermal Trip", "FRB", "Uncorrectable machine check")),
    ("Critical Interrupt", "pci-corrected", ("Bus Correctable",)),
    ("Critical Interrupt", "pci-fatal", ("Bus Fatal",)),
    ("Critical Interrupt", "pci-uncorrected", ("Bus Uncorrectable", "PCI SERR", "PCI PERR")),
)
"""The meaning of an entry of the log by the kind of its sensor, and by how ipmitool's words for it begin."""


class Ipmi:
    """The BMC of this machine."""

    name = "ipmi"
    slow = 5

    def __init__(self, root: Path, program: str, seconds: float) -> None:
        self._root = root
        self._program = program
        self._seconds = seconds
        self._before: frozenset[str] | None = None

    def look(self) -> Sequence[Symptom]:
        require(self._root)
        sensors = sensed(self._ask("sdr", "elist").text)
        now = moment(*self._ask("sel", "time", "get").text.partition(" ")[::2])
        log = entries(self._ask("-c", "sel", "list", "last", _NEWEST).text)
        marks = frozenset(symptom.mark for symptom, _ in log)
        # An entry without a time is new if it was not there when this life began.
        before = marks if self._before is None else self._before
        self._before = before
        events = [
            replace(symptom, age=now - at if now is not None and at is not None else timedelta())
            for symptom, at in log
            if (now is not None and at is not None) or symptom.mark not in before
        ]
        return [*sensors, *events]

    def _ask(self, *words: str) -> Said:
        return checked(ask(self._program, words, self._seconds), words)


def require(root: Path) -> None:
    """Raise `Off` where the kernel knows no BMC."""
    if not any((root / device).exists() for device in _DEVICES):
        raise Off(say("driver.no-bmc", path="/dev/ipmi0"))


def checked(said: Said, words: Sequence[str]) -> Said:
    """Return what ipmitool has said to these words. Raises `Off` and `DriverError` where it has failed."""
    complaint = next(reversed(said.complaint.strip().splitlines()), "")[:200] or say("driver.it-does-not-say")
    if said.status != 0 and "Permission denied" in said.complaint:
        raise Off(say("driver.tool-has-no-right", program="ipmitool", why=complaint))
    if said.status != 0:
        raise DriverError(say("driver.tool-failed", call=f"ipmitool {' '.join(words[-2:])}", why=complaint))
    return said


def sensed(text: str) -> list[Symptom]:
    """Return what is wrong by the text of `ipmitool sdr elist`: name, number, status, entity, reading or states."""
    found: list[Symptom] = []
    for line in text.splitlines()[:_MOST_LINES]:
        fields = [field.strip() for field in line.split("|")]
        if len(fields) == 5:
            found += _sensor(*fields)
    return found


def _sensor(name: str, _number: str, status: str, entity: str, reading: str) -> Iterator[Symptom]:
    # Power supplies are mostly all called Status.
    is_power = _POWER.fullmatch(entity) is not None
    part = f"BMC {name} {entity}" if is_power else f"BMC {name}"
    if status in ("cr", "nr", "lcr", "ucr", "lnr", "unr"):
        code = next((code for unit, code in _UNITS if unit in reading.split(" ")), "sensor-critical")
        yield named(code, part, reading)
        return
    told = [state.strip() for state in reading.split(",")]
    for code, states in _STATES:
        if code == "psu-failed" and not is_power:
            continue
        if any(state.startswith(states) for state in told) and "Fully Redundant" not in told:
            yield named(code, part, reading)
            return


def entries(text: str) -> list[tuple[Symptom, datetime | None]]:
    """Return what the log's entries mean that are not over, by the text of `ipmitool -c sel list`, with their times.

    Of each kind of event of a sensor the last one counts.
    """
    found: dict[tuple[str, str], tuple[Symptom, datetime | None]] = {}
    for line in text.splitlines()[:_MOST_LINES]:
        fields = [field.strip() for field in line.split(",")]
        if len(fields) < 6:
            continue
        number, date, time, sensor, event, direction = fields[:6]
        code = _meaning(sensor, event)
        if code and direction == "Asserted":
            symptom = named(code, f"BMC {sensor}", event, f"{number} {date} {time}")
            found[code, sensor] = symptom, moment(date, time)
        elif code:
            found.pop((code, sensor), None)
    return list(found.values())


def _meaning(sensor: str, event: str) -> str:
    for kind, code, events in _EVENTS:
        if re.fullmatch(rf"{kind}(?: #0x[0-9a-f]{{2}})?", sensor) and event.startswith(events):
            return code
    return ""


def moment(date: str, time: str) -> datetime | None:
    """Return the time that ipmitool writes like this; None where the BMC did not know it, or nobody can read it."""
    text = f"{date.strip()} {time.strip().split(' ')[0]}"
    for form in ("%m/%d/%y %H:%M:%S", "%m/%d/%Y %H:%M:%S"):
        try:
            return datetime.strptime(text, form).replace(tzinfo=UTC)
        except ValueError:
            continue
    return None
