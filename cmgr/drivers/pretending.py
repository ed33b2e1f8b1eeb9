"""Drills on real chips: faults that a person simulates, laid over what the chips' driver says.

The reset is a real one. Nothing of it outlives the process: the next life reads the chips as they are.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from cmgr.errors import DriverError
from cmgr.model.values.chips import Chip, ChipId, ChipReport, Reported
from cmgr.model.values.faults import Assertion
from cmgr.model.values.handling.catalog import normal_code
from cmgr.model.values.messages.facts import FaultReported
from cmgr.ports import Ailing, Beginning, ChipDriver, Describing, Doubt, Drilling, DriverFact, Gauge, SoftFault
from cmgr.sentences.sentence import say


class RealDriver(ChipDriver, Ailing, Describing, Drilling, Gauge, Protocol):
    """A driver of real chips."""


class PretendingDriver:
    """Implements `ChipDriver`, `Drilling` and `Injector` by a driver of real chips, which does the rest."""

    def __init__(self, real: RealDriver) -> None:
        self._real = real
        self._lock = threading.Lock()
        self._tell: Callable[[DriverFact], None] | None = None
        self._pretended: dict[ChipId, frozenset[str]] = {}

    @property
    def name(self) -> str:
        return self._real.name

    @property
    def concurrency(self) -> int:
        return self._real.concurrency

    def begins(self, seconds: float) -> bool:
        return not isinstance(self._real, Beginning) or self._real.begins(seconds)

    def refusal(self) -> DriverError | None:
        return self._real.refusal() if isinstance(self._real, Beginning) else None

    def inject(self, chip: ChipId, code: str, assertion: Assertion) -> None:
        """See `ports.Injector`. Raises `DriverError` also before the chips are watched."""
        normal = normal_code(code)
        if normal is None:
            raise DriverError(say("driver.no-code", code=repr(code)))
        if chip not in {c.id for c in self._real.chips()}:
            raise DriverError(say("driver.no-chip-for-fault", chip=chip))
        tell = self._tell
        if tell is None:
            raise DriverError(say("driver.not-watched"))
        with self._lock:
            known = self._pretended.get(chip, frozenset())
            if assertion is Assertion.OCCURRED:
                known |= {normal}
            elif assertion is Assertion.CLEARED:
                known -= {normal}
            self._pretended[chip] = known
        # Only now: whoever reads the chip because of it finds it.
        tell(FaultReported(chip, normal, assertion))

    def read(self, chips: Sequence[ChipId]) -> tuple[ChipReport, ...]:
        return tuple(self._with_pretended(report) for report in self._real.read(chips))

    def _with_pretended(self, report: ChipReport) -> ChipReport:
        with self._lock:
            pretended = self._pretended.get(report.chip, frozenset())
        if report.error or not report.booted:
            return report
        added = sorted(pretended - {normal_code(fault.code) for fault in report.faults})
        return replace(report, faults=(*report.faults, *map(Reported, added)))

    def reset(self, chips: Sequence[ChipId], faulty: Sequence[ChipId], codes: frozenset[str]) -> None:
        """See `ports.ChipDriver`. For a pretended fault no real one is asked for; who uses the ring is, as ever."""
        wanted = {normal_code(code) for code in codes}
        with self._lock:
            drilled = [chip for chip in faulty if wanted & self._pretended.get(chip, frozenset())]
        if drilled:
            self._real.reset(chips, drilled, frozenset())
        else:
            self._real.reset(chips, faulty, codes)
        with self._lock:
            for chip in chips:
                self._pretended.pop(chip, None)

    def watch(self, tell: Callable[[DriverFact], None]) -> None:
        self._tell = tell
        self._real.watch(tell)

    def chips(self) -> tuple[Chip, ...]:
        return self._real.chips()

    def soft_fault(self, chip: ChipId) -> SoftFault:
        return self._real.soft_fault(chip)

    def measure(self, chips: Sequence[ChipId]) -> Mapping[ChipId, Mapping[str, float | str]]:
        return self._real.measure(chips)

    def trouble(self) -> tuple[str, ...]:
        return self._real.trouble()

    def describe(self) -> str:
        return self._real.describe()

    def doubts(self) -> tuple[Doubt, ...]:
        return self._real.doubts()

    def close(self) -> None:
        self._real.close()
