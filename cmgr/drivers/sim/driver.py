"""The driver of simulated chips: for drills, for `cmgr demo`, and for tests.

One condition guards all of it; time comes from a function, so that tests move it by hand
(`tests/drivers/sim/driver.py`).
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

from cmgr.config.sim import Sim, SimEvent
from cmgr.drivers.resets import of_one_ring, refusal
from cmgr.drivers.sim import machine as sim_machine
from cmgr.drivers.sim import world as sim_world
from cmgr.drivers.sim.chips import NEVER, SimChips
from cmgr.drivers.sim.world import Past, SimReset
from cmgr.errors import DriverError
from cmgr.model.values.chips import Chip, ChipId, ChipReport, Share
from cmgr.model.values.faults import Assertion, FaultCode, FaultKey
from cmgr.model.values.handling.catalog import normal_code
from cmgr.model.values.messages.facts import FaultReported, ReadNeeded
from cmgr.ports import DriverFact
from cmgr.sentences.sentence import because, say

_KEPT_RESETS = 1000


class SimDriver:
    """Implements `ChipDriver`, `Dividing` and `Injector`. The methods below `close` play the hardware's part."""

    name = "sim"
    concurrency = 4

    def __init__(
        self,
        settings: Sim,
        sweep: timedelta = timedelta(hours=1),
        now: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._settings = settings
        self._sweep = sweep.total_seconds()
        self._now = now
        self._wall = wall
        self._changed = threading.Condition()
        self._chips = SimChips(settings)
        self._past = Past(wall(), fail_resets=settings.fail_resets, fail_shares=settings.fail_shares)
        if settings.world:
            self._past = sim_world.load(settings.world, self._chips, now(), self._ahead()) or self._past
        self._began = self._past.began - self._ahead()
        self._script = sorted(settings.script, key=lambda event: event.after)[self._past.played :]
        self._machine = sorted(settings.machine, key=lambda event: event.after)
        self._machine_played = 0
        self._boots = settings.boots
        self._in_reset: set[ChipId] = set()
        self._untold: list[DriverFact] = []
        self._swept: dict[ChipId, object] = {}
        self._sweep_at = NEVER
        self._teller: threading.Thread | None = None
        self._closed = False

    def chips(self) -> tuple[Chip, ...]:
        with self._changed:
            return tuple(chip.found() for chip in self._chips.all())

    def watch(self, tell: Callable[[DriverFact], None]) -> None:
        with self._changed:
            if self._teller is not None or self._closed:
                raise DriverError(say("driver.watched-already"))
            self._sweep_at = self._now() + self._sweep
            self._teller = threading.Thread(target=self._run, args=(tell,), name="sim-chips", daemon=True)
            self._teller.start()

    def read(self, chips: Sequence[ChipId]) -> tuple[ChipReport, ...]:
        with self._changed:
            self._settle()
            return tuple(self._chips.report(chip) for chip in chips)

    def reset(self, chips: Sequence[ChipId], faulty: Sequence[ChipId], codes: frozenset[str]) -> None:
        with self._changed:
            self._settle()
            self._check_ring(chips)
            objection = self._chips.objection(chips, faulty, codes)
            if objection:
                self._record(chips, "refused")
                raise refusal(chips, objection)
            fails = self._past.fail_resets != 0
            done = self._now() + self._settings.reset_time.total_seconds()
            if fails:
                self._past = replace(self._past, fail_resets=max(-1, self._past.fail_resets - 1))
            else:
                # Before the wait, because hardware that was told to reset goes on when the program that told it dies.
                self._chips.reset(chips, done + self._settings.boot_time.total_seconds() if self._boots else NEVER)
            self._record(chips, "failed" if fails else "taken")
            self._wait_in_reset(chips, done)
            if fails:
                raise DriverError(because(say("driver.cannot-reset", chips=chips), say("driver.sim-failed")))

    def make_shares(self, shares: Mapping[ChipId, Sequence[Share]]) -> None:
        with self._changed:
            if self._past.fail_shares:
                self._past = replace(self._past, fail_shares=max(-1, self._past.fail_shares - 1))
                self._try_to_save()
                raise DriverError(
                    because(say("driver.cannot-divide-sim", chips=list(shares)), say("driver.sim-failed"))
                )
            for chip, wanted in shares.items():
                self._chips.make(chip, wanted)
            self._try_to_save()

    def share_obstacle(self) -> str:
        return ""

    def inject(self, chip: ChipId, code: str, assertion: Assertion) -> None:
        normal = normal_code(code)
        if normal is None:
            raise DriverError(say("driver.no-code", code=repr(code)))
        with self._changed:
            self._happen(SimEvent(chip, normal, assertion=assertion), module=None)
            self._save()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            teller = self._teller
        if teller is not None and teller is not threading.current_thread():
            teller.join(timeout=2)

    def occur(self, event: SimEvent) -> None:
        """Let this happen now, with its own module and severity. Raises `DriverError` as `inject` does."""
        with self._changed:
            self._happen(event, event.module)
            self._save()

    @property
    def resets(self) -> tuple[SimReset, ...]:
        """Every reset that was asked for, also by earlier lives when there is a world file."""
        with self._changed:
            return self._past.resets

    def _ahead(self) -> float:
        return self._wall() - self._now()

    def _happen(self, event: SimEvent, module: str | None) -> None:
        code = FaultCode(normal_code(event.code) or event.code)
        chip = ChipId(event.chip)
        key = FaultKey(code, event.module)
        if event.assertion is Assertion.CLEARED:
            gone = self._chips.clear(chip, code, module)
            for each, severity in gone.items():
                self._tell(_fact(chip, each, severity, Assertion.CLEARED))
            return
        self._chips.chip(chip)
        if event.assertion is Assertion.OCCURRED:
            self._chips.occur(chip, key, event.severity)
        self._tell(_fact(chip, key, event.severity, event.assertion))

    def _tell(self, fact: DriverFact) -> None:
        # Events before `watch` are told to nobody, and do not count.
        if self._teller is not None:
            self._untold.append(fact)
            self._changed.notify_all()

    def _run(self, tell: Callable[[DriverFact], None]) -> None:
        while True:
            with self._changed:
                facts = self._due()
                while not facts and not self._closed:
                    self._changed.wait(self._pause())
                    facts = self._due()
            for fact in facts:
                if self._closed:
                    return
                tell(fact)
            if self._closed:
                return

    def _due(self) -> list[DriverFact]:
        self._play()
        self._settle()
        facts: list[DriverFact] = []
        if self._sweep_at <= self._now():
            self._sweep_at = self._now() + self._sweep
            facts += map(ReadNeeded, self._changed_chips())
        # Each life finds anew what lasts, as the sources of a real machine do.
        due = sim_machine.due(self._machine, timedelta(seconds=self._now() - self._began))
        if due != self._machine_played:
            self._machine_played = due
            self._try_to_save()
            facts.append(sim_machine.told(self._machine[:due], self._past.began))
        facts += self._untold
        self._untold.clear()
        return facts

    def _changed_chips(self) -> Iterator[ChipId]:
        """Ask every chip, as a driver of real ones does for what no event told: lost ones are found by this."""
        for chip in self.chips():
            report = self._chips.report(chip.id)
            found = report.error or frozenset(fault.code for fault in report.faults)
            if report.booted and found != self._swept.get(chip.id, frozenset()):
                self._swept[chip.id] = found
                yield chip.id

    def _pause(self) -> float | None:
        script = self._due_at(self._script[0]) if self._script else NEVER
        later = self._machine[self._machine_played :]
        ailing = self._began + later[0].after.total_seconds() if later else NEVER
        soonest = min(script, ailing, self._sweep_at, self._chips.next_boot())
        return None if soonest == NEVER else max(0.0, soonest - self._now())

    def _due_at(self, event: SimEvent) -> float:
        return self._began + event.after.total_seconds()

    def _play(self) -> None:
        while self._script and self._due_at(self._script[0]) <= self._now():
            event = self._script.pop(0)
            self._past = replace(self._past, played=self._past.played + 1)
            self._happen(event, event.module)
            self._try_to_save()

    def _settle(self) -> None:
        # Not saved: the file has the time of the boot, and whoever loads it comes to the same end.
        for chip, key, severity in self._chips.settle(self._now()):
            self._tell(_fact(chip, key, severity, Assertion.CLEARED))

    def _check_ring(self, chips: Sequence[ChipId]) -> None:
        if self._closed:
            raise refusal(chips, say("driver.is-closed"))
        known = {chip.id: chip for chip in self.chips()}
        of_one_ring(chips, known.get, known.values)
        if self._in_reset.intersection(chips):
            raise refusal(chips, say("driver.earlier-reset"))

    def _wait_in_reset(self, chips: Sequence[ChipId], done: float) -> None:
        self._in_reset.update(chips)
        try:
            while self._now() < done and not self._closed:
                self._changed.wait(done - self._now())
        finally:
            self._in_reset.difference_update(chips)
            self._changed.notify_all()
        if self._closed:
            raise DriverError(because(say("driver.how-unknown", chips=chips), say("driver.is-closed")))

    def _record(self, chips: Sequence[ChipId], outcome: str) -> None:
        record = SimReset(self._wall(), tuple(chips), outcome)
        self._past = replace(self._past, resets=(*self._past.resets, record)[-_KEPT_RESETS:])
        self._try_to_save()

    def _try_to_save(self) -> None:
        # The chips go on when their file cannot be written; only the next life of cmgr will not know of it.
        with suppress(DriverError):
            self._save()

    def _save(self) -> None:
        if self._settings.world:
            sim_world.save(self._settings.world, self._chips, self._past, self._ahead())


def _fact(chip: ChipId, key: FaultKey, severity: int, assertion: Assertion) -> FaultReported:
    return FaultReported(chip, key.code, assertion, key.module, severity)
