"""The words of the vendor's `hccn_tool` about the chips' network ports: link, speed, and the optical module.

libdcmi has no function for them. The tool takes long: it is asked on a thread of its own, at most once in `EVERY` and
only while somebody wants to know, and whoever wants to know is told what it said last.
"""

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from cmgr.drivers.asked import ask
from cmgr.errors import DriverError

EVERY = 60.0
SECONDS = 5.0
"""How long one answer may take; then the chip is left out of this round."""

STALE = EVERY + 60.0
"""After so many seconds an answer is no longer told."""

# The maker's manuals have "device" there, his driver of 2026-07 prints "devid".
_LINE = re.compile(r"(?:\[(?:device|devid) \d+\])?\s*(?P<key>[^:]+?)\s*:\s*(?P<value>.*)")
_NUMBER = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?)(?: ?(\S+))?")
_QUESTIONS: tuple[str, ...] = ("-link", "-speed", "-link_stat", "-optical")
_BY_PORTS = ("-g", "-dev_info")
_LANE = re.compile(r"(Tx|Rx) ?Power ?([0-9]?)")

Values = dict[str, float]
_Asked = tuple[bool, int]


class Optics:
    """`of` on any thread. `path` empty: nobody is asked."""

    def __init__(self, path: str, now: Callable[[], float] = time.monotonic) -> None:
        self._path, self._now = path, now
        self._lock = threading.Lock()
        self._told: dict[_Asked, tuple[float, Values]] = {}
        self._wanted: set[_Asked] = set()
        self._began: float | None = None
        self._busy = False
        self._closed = False

    def of(self, number: int, *, by_ports: bool = False) -> Mapping[str, float]:
        """Return what the tool said of this chip last; nothing where it said nothing, or long ago. Does not block.

        `number`: the chip's in the words of the tool. `by_ports`: of a chip with many ports (950) the tool tells in
        other words.
        """
        if not self._path:
            return {}
        chip = (by_ports, number)
        with self._lock:
            self._wanted.add(chip)
            due = self._began is None or self._now() - self._began >= EVERY
            if due and not self._busy and not self._closed:
                self._busy = True
                threading.Thread(target=self._round, name="hccn-tool", daemon=True).start()
            at, values = self._told.get(chip, (0.0, {}))
            return values if self._now() - at < STALE else {}

    def close(self) -> None:
        """Ask no more. Does not wait: the tool that runs is left to its limit."""
        with self._lock:
            self._closed = True

    def _round(self) -> None:
        asked: set[_Asked] = set()
        while True:
            with self._lock:
                if not asked:
                    self._began = self._now()
                left = sorted(self._wanted - asked)
                if not left or self._closed:
                    self._wanted.clear()
                    self._busy = False
                    return
            asked.add(left[0])
            by_ports, number = left[0]
            found = self._ports(number) if by_ports else self._asked(number)
            with self._lock:
                self._told[left[0]] = (self._now(), found)

    def _asked(self, number: int) -> Values:
        values: Values = {}
        for question, read in zip(_QUESTIONS, (_link, _speed, _ups, _module), strict=True):
            values |= read(_lines(self._said("-i", str(number), question, "-g")))
        return values

    def _ports(self, number: int) -> Values:
        return _table(self._said(*_BY_PORTS, "-i", str(number)))

    def _said(self, *words: str) -> str:
        """Return the tool's answer; nothing where it fails."""
        with suppress(DriverError):
            said = ask(self._path, words, SECONDS, "dcmi.hccn_tool")
            return said.text if said.status == 0 else ""
        return ""


def _lines(text: str) -> Sequence[tuple[str, str]]:
    found = (_LINE.fullmatch(line.strip()) for line in text.splitlines())
    return [(line["key"], line["value"].strip()) for line in found if line]


def _value(text: str, *units: str) -> float | None:
    """Return the number, where it has one of these units."""
    found = _NUMBER.fullmatch(text)
    return float(found[1]) if found and (found[2] or "") in units else None


def _first(lines: Sequence[tuple[str, str]], key: str) -> str:
    return next((value for name, value in lines if name == key), "")


def _table(text: str) -> Values:
    """Return the state of each port, by its die and number, from a table with these columns: speeds are in Gb/s."""
    values: Values = {}
    columns: list[str] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        columns = cells if "PortID" in cells else columns
        row = dict(zip(columns, cells, strict=False))
        die, port = (row.get(name, "") for name in ("UdieID", "PortID"))
        if not (die.isdecimal() and port.isdecimal()):
            continue
        if (state := row.get("Link Status", "").upper()) in ("UP", "DOWN"):
            values[f"udie{die}port{port}_up"] = float(state == "UP")
        if (gigabits := _value(row.get("Speed", ""), "", "G")) is not None:
            values[f"udie{die}port{port}_megabits"] = 1000 * gigabits
    return values


def _link(lines: Sequence[tuple[str, str]]) -> Values:
    state = _first(lines, "link status").upper()
    return {"roce_up": float(state == "UP")} if state in ("UP", "DOWN") else {}


def _speed(lines: Sequence[tuple[str, str]]) -> Values:
    megabits = _value(_first(lines, "Speed"), "Mb/s")
    return {} if megabits is None else {"roce_megabits": megabits}


def _ups(lines: Sequence[tuple[str, str]]) -> Values:
    times = _value(_first(lines, "link up count"), "")
    return {} if times is None else {"roce_ups": times}


def _module(lines: Sequence[tuple[str, str]]) -> Values:
    present = _first(lines, "present")
    if present not in ("present", "not present"):
        return {}
    values: Values = {"optics_present": float(present == "present")}
    if present != "present":
        return values  # The other lines say what was there before.
    for key, text in lines:
        lane = _LANE.fullmatch(key)
        if lane and (milliwatts := _value(text, "mW")) is not None:
            way = {"Tx": "sent", "Rx": "received"}[lane[1]]
            values[f"optics_{way}_{lane[2] or 0}_milliwatts"] = milliwatts
    if (celsius := _value(_first(lines, "temperature"), "C")) is not None:
        values["optics_celsius"] = celsius
    if (millivolts := _value(_first(lines, "Vcc"), "mV")) is not None:
        values["optics_volts"] = millivolts / 1000
    return values
