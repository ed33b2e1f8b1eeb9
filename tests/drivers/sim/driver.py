"""Simulated chips whose time, faults and ailments a test moves by hand."""

from dataclasses import replace
from datetime import timedelta

from cmgr.config.sim import Sim
from cmgr.drivers.sim.driver import SimDriver
from cmgr.model.values.chips import ChipId, Process
from cmgr.model.values.handling.catalog import normal_code
from cmgr.model.values.messages.facts import ReadNeeded
from cmgr.ports import DriverFact


class DriverByHand(SimDriver):
    _lose = _double = 0

    def _tell(self, fact: DriverFact) -> None:
        if self._teller is not None and self._lose:
            self._lose -= 1
            return
        super()._tell(fact)
        if self._teller is not None and self._double:
            self._double -= 1
            super()._tell(fact)

    def wake(self) -> None:
        """Look at the time again."""
        with self._changed:
            self._changed.notify_all()

    def lose_events(self, count: int) -> None:
        """Tell nobody of the next events."""
        with self._changed:
            self._lose = count

    def double_events(self, count: int) -> None:
        """Tell each of the next events twice."""
        with self._changed:
            self._double = count

    def need_read(self, chip: ChipId) -> None:
        """Tell that events of this chip were lost."""
        with self._changed:
            self._tell(ReadNeeded(chip))

    def hold(self, chip: ChipId, process: Process) -> None:
        """Put a process on the chip."""
        with self._changed:
            self._chips.chip(chip).processes[process.pid] = process

    def let_go(self, chip: ChipId) -> None:
        """Take every process off the chip."""
        with self._changed:
            self._chips.chip(chip).processes.clear()

    def silence(self, chip: ChipId, *, silent: bool = True) -> None:
        """Let the chip answer no question any more, or answer again."""
        with self._changed:
            self._chips.chip(chip).silent = silent

    def fail_resets(self, count: int) -> None:
        """Let the next resets fail; -1: every one."""
        with self._changed:
            self._past = replace(self._past, fail_resets=count)
            self._save()

    def finish_boots(self, *, boots: bool) -> None:
        """Say whether chips finish booting after the resets to come."""
        with self._changed:
            self._boots = boots

    def make_incurable(self, code: str) -> None:
        """Let no reset cure this fault."""
        with self._changed:
            self._chips.incurable.add(normal_code(code))


class Clock:
    """Time that stands still until a test moves it."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds

    def pass_by(self, driver: DriverByHand, seconds: float) -> None:
        self.seconds += seconds
        driver.wake()


def settings(**changes: object) -> Sim:
    values = {"chips": 8, "ring": 4, "reset_time": timedelta(), "boot_time": timedelta(seconds=30), **changes}
    return Sim(**values)  # type: ignore[arg-type]
