"""The driver of Ascend chips, over Huawei's libdcmi.so. What it believes of that library is in docs/dcmi.md."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta

from cmgr.config.settings import Dcmi
from cmgr.drivers import libraries as dcmi_library
from cmgr.drivers.caller import Caller, Hangs
from cmgr.drivers.dcmi import gauges as dcmi_gauges
from cmgr.drivers.dcmi import read as dcmi_read
from cmgr.drivers.dcmi.calls import Library
from cmgr.drivers.dcmi.machine import Known, Machine, owner_of
from cmgr.drivers.dcmi.reset import Resetter
from cmgr.drivers.dcmi.watch import Pace, Watch
from cmgr.drivers.processes import process_of
from cmgr.errors import DriverError
from cmgr.model.values.chips import Chip, ChipId, ChipReport, Reported, listed
from cmgr.ports import DriverFact

READ_SECONDS = 4.5
"""What `read` may take in all; the port says 5 s."""

MEASURE_SECONDS = 2.5

BEGIN = 10
"""So many times as long as over an answer the library may take to be loaded and to begin."""


class DcmiDriver:
    """Implements `ChipDriver`, `Ailing` and `Gauge`."""

    name = "dcmi"
    # A ring whose chip hangs, and resets, which last minutes, must leave room for others.
    concurrency = 16

    def __init__(self, settings: Dcmi, relist: timedelta, pause: Callable[[float], None] = time.sleep) -> None:
        self._settings = settings
        self._seconds = settings.call_timeout.total_seconds()
        path = dcmi_library.find(dcmi_library.Where(settings.library))
        self._caller = Caller()
        self._library = self._caller.call("the library", BEGIN * self._seconds, lambda: Library(path))
        self._machine = Machine(self._library, self._caller, self._seconds)
        pace = Pace(
            self._seconds,
            settings.subscribe.total_seconds(),
            settings.poll.total_seconds(),
            relist.total_seconds(),
        )
        self._watch = Watch(self._library, self._caller, self._machine, pace)
        self._resetter = Resetter(self._library, self._caller, settings, pause)
        self._lock = threading.Lock()
        self._in_reset: set[ChipId] = set()
        self._booting: dict[ChipId, float] = {}
        self._closed = False
        try:
            self._machine.look()
        except DriverError:
            self._caller.close()
            raise

    def describe(self) -> str:
        """Return the library and its family, for `cmgr check`."""
        symbols = "dcmi_*" if self._library.family == 1 else "dcmiv2_*"
        kind = self._machine.kind or "no chips"
        return f"{self._library.path} with {symbols}, {kind}"

    def chips(self) -> tuple[Chip, ...]:
        return self._machine.chips()

    def watch(self, tell: Callable[[DriverFact], None]) -> None:
        self._watch.start(tell)

    def read(self, chips: Sequence[ChipId]) -> tuple[ChipReport, ...]:
        until = time.monotonic() + READ_SECONDS
        return tuple(self._report(chip, until) for chip in chips)

    def _report(self, chip: ChipId, until: float) -> ChipReport:
        known = self._machine.find(chip)
        if known is None or not known.here:
            self._watch.look_soon()
            return ChipReport(chip, error="the driver lists it no more" if known else "there is no such chip")
        with self._lock:
            if chip in self._in_reset:
                return ChipReport(chip, booted=False)
            believed = self._booting.get(chip)
        seconds = min(self._seconds, until - time.monotonic())
        if seconds <= 0:
            return ChipReport(chip, error="others took too long to answer")
        if believed is not None and time.monotonic() < believed:
            return ChipReport(chip, booted=False)
        lost = self._watch.lost
        try:
            reading = self._reading(known, seconds, after_reset=believed is not None)
        except DriverError as error:
            return ChipReport(chip, error=error.message)
        if not reading.booted:
            return ChipReport(chip, booted=False)
        self._watch.has_read(chip, lost)
        with self._lock:
            if self._booting.get(chip) == believed:
                self._booting.pop(chip, None)
        faults = tuple(Reported(code, self._watch.severity(chip, code)) for code in reading.codes)
        return ChipReport(chip, True, faults, tuple(map(process_of, reading.holders)))

    def _reading(self, known: Known, seconds: float, *, after_reset: bool) -> dcmi_read.Reading:
        place, finished = known.location, self._settings.booted
        return self._caller.call(
            owner_of(place),
            seconds,
            lambda: dcmi_read.read(self._library, place, finished, after_reset=after_reset),
        )

    def reset(self, chips: Sequence[ChipId], faulty: Sequence[ChipId], codes: frozenset[str]) -> None:
        known = {chip: self._there(chip, chips) for chip in chips}
        if len({c.ring for c in self._machine.chips() if c.id in known}) != 1:
            raise DriverError(f"cannot reset {listed(chips)}: they are not of one ring")
        with self._lock:
            if self._closed or self._in_reset.intersection(chips):
                why = "the driver is closed" if self._closed else "a reset is under way"
                raise DriverError(f"cannot reset {listed(chips)}: {why}")
            self._in_reset.update(chips)
        try:
            target = self._resetter.last_look(known, faulty, codes)
            self._resetter.reset(known[target], self._machine.kind, listed(chips))
            self._expect_boots(chips)
        except DriverError as error:
            if isinstance(error.__cause__, Hangs):
                self._expect_boots(chips)  # It may still be under way.
            raise
        finally:
            with self._lock:
                self._in_reset.difference_update(chips)

    def _there(self, chip: ChipId, chips: Sequence[ChipId]) -> Known:
        known = self._machine.find(chip)
        if known is None:
            raise DriverError(f"cannot reset {listed(chips)}: there is no chip {chip}")
        return known

    def _expect_boots(self, chips: Sequence[ChipId]) -> None:
        believed = time.monotonic() + self._settings.settle.total_seconds()
        with self._lock:
            self._booting.update(dict.fromkeys(chips, believed))

    def measure(self, chips: Sequence[ChipId]) -> Mapping[ChipId, Mapping[str, float | str]]:
        until = time.monotonic() + MEASURE_SECONDS
        found: dict[ChipId, Mapping[str, float | str]] = {}
        for chip in chips:
            known, left = self._machine.find(chip), until - time.monotonic()
            if known is not None and known.here and left > 0:
                found[chip] = {**self._facts(known), **self._measured(known, min(left, self._seconds))}
        return found

    def _facts(self, known: Known) -> Mapping[str, str]:
        place = known.place
        facts = {"type": str(self._machine.kind or ""), "board": f"{place.board:#x}", "product": place.product}
        return {name: value for name, value in facts.items() if value}

    def _measured(self, known: Known, seconds: float) -> Mapping[str, float]:
        place = known.location
        try:
            return self._caller.call(owner_of(place), seconds, lambda: dcmi_gauges.measure(self._library, place))
        except DriverError:
            return {}

    def trouble(self) -> tuple[str, ...]:
        return (*self._machine.troubles, *self._watch.trouble())

    def close(self) -> None:
        with self._lock:
            self._closed = True
        self._watch.close()
        self._caller.close()
