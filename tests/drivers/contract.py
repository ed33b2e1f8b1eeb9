"""The contract that every chip driver keeps. A subclass gives the driver and plays the hardware's part."""

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from cmgr.errors import ResetRefused
from cmgr.model.values.chips import ChipId, rings_of
from cmgr.model.values.faults import Assertion
from cmgr.model.values.messages.facts import FaultReported, ReadNeeded
from cmgr.ports import ChipDriver, DriverFact
from tests.support.waiting import PATIENCE

CODE = "80E24E00"
HOLDER = os.getpid()
"""A process that there is."""

OTHER_CODE = "80C98008"
HOUR = timedelta(hours=1)
SOON = timedelta(milliseconds=20)


class Told:
    """The facts that a driver has told so far."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._facts: list[tuple[DriverFact, int]] = []

    def __call__(self, fact: DriverFact) -> None:
        with self._changed:
            self._facts.append((fact, threading.get_ident()))
            self._changed.notify_all()

    @property
    def facts(self) -> list[DriverFact]:
        with self._changed:
            return [fact for fact, _ in self._facts]

    @property
    def threads(self) -> set[int]:
        with self._changed:
            return {thread for _, thread in self._facts}

    def wait(self, count: int) -> list[DriverFact]:
        """Return everything told, once it is at least that many."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self._facts) >= count, PATIENCE), self._facts
            return [fact for fact, _ in self._facts]

    def asks(self, chip: ChipId, times: int) -> None:
        """Wait until it has been told so often that the chip is to be read."""

        def counted() -> int:
            return [fact for fact, _ in self._facts].count(ReadNeeded(chip))

        with self._changed:
            assert self._changed.wait_for(lambda: counted() >= times, PATIENCE), self._facts

    def has(self, chip: ChipId, assertion: Assertion, code: str = CODE) -> FaultReported:
        """Return the event about this chip and code, once it has come."""

        def found() -> FaultReported | None:
            for fact, _ in self._facts:
                if isinstance(fact, FaultReported) and (fact.chip, fact.assertion, fact.code) == (
                    chip,
                    assertion,
                    code,
                ):
                    return fact
            return None

        with self._changed:
            fact = self._changed.wait_for(found, PATIENCE)
            assert fact is not None, self._facts
            return fact


class ChipDriverContract(ABC):
    """The driver has a ring of at least two chips, all well; `reset` of it needs no help to return.

    `code` and `other` are faults that come and go, `moment` is one that only happens.
    """

    code = CODE
    other = OTHER_CODE
    moment = CODE

    @abstractmethod
    def open(self, sweep: timedelta = HOUR) -> ChipDriver:
        """Return a new driver that asks every chip for its faults so often."""

    @abstractmethod
    def lose(self, driver: ChipDriver) -> None:
        """Let no event be told any more."""

    @abstractmethod
    def let_sweep(self, driver: ChipDriver) -> None:
        """Let time pass until every chip has been asked."""

    @abstractmethod
    def occur(self, driver: ChipDriver, chip: ChipId, code: str, assertion: Assertion) -> None:
        """Let this happen to a fault."""

    @abstractmethod
    def hold(self, driver: ChipDriver, chip: ChipId, pid: int) -> None:
        """Put a process on the chip."""

    @abstractmethod
    def silence(self, driver: ChipDriver, chip: ChipId) -> None:
        """Let the chip answer nothing any more."""

    @abstractmethod
    def finish_boot(self, driver: ChipDriver) -> None:
        """Let time pass until chips that were reset have booted."""

    @pytest.fixture
    def driver(self) -> Iterator[ChipDriver]:
        driver = self.open()
        yield driver
        driver.close()

    @pytest.fixture
    def ring(self, driver: ChipDriver) -> tuple[ChipId, ...]:
        return max(rings_of(driver.chips()).values(), key=len)

    def test_chips_are_ordered_and_the_same_each_time(self, driver: ChipDriver) -> None:
        chips = driver.chips()
        assert [chip.id for chip in chips] == sorted({chip.id for chip in chips})
        assert len(chips) >= 2
        assert driver.chips() == chips

    def test_a_ring_is_named_by_its_lowest_number(self, driver: ChipDriver) -> None:
        assert all(chip.ring <= chip.id for chip in driver.chips())

    def test_a_driver_says_its_name_and_how_many_may_call_it(self, driver: ChipDriver) -> None:
        assert driver.name
        assert driver.concurrency >= 1

    def test_a_chip_that_is_well_reads_so(self, driver: ChipDriver) -> None:
        for report in driver.read([chip.id for chip in driver.chips()]):
            assert (report.booted, report.faults, report.processes, report.error) == (True, (), (), "")

    def test_a_read_answers_in_the_order_asked(self, driver: ChipDriver) -> None:
        asked = [chip.id for chip in reversed(driver.chips())]
        assert [report.chip for report in driver.read(asked)] == asked
        assert driver.read([]) == ()

    def test_a_chip_that_is_not_there_is_a_report_with_an_error(self, driver: ChipDriver) -> None:
        chip = driver.chips()[0].id
        missing, there = driver.read([ChipId(9999), chip])
        assert missing.chip == 9999
        assert missing.error
        assert not there.error

    def test_a_chip_that_does_not_answer_is_a_report_with_an_error(self, driver: ChipDriver) -> None:
        first, second = (chip.id for chip in driver.chips()[:2])
        self.silence(driver, first)
        silent, well = driver.read([first, second])
        assert silent.error
        assert not well.error

    def test_a_fault_is_told_on_a_foreign_thread_and_read(self, driver: ChipDriver, ring: tuple[ChipId, ...]) -> None:
        told = Told()
        driver.watch(told)
        self.occur(driver, ring[1], self.code, Assertion.OCCURRED)
        fact = told.has(ring[1], Assertion.OCCURRED, self.code)
        assert fact.module
        assert fact.severity is not None
        assert threading.get_ident() not in told.threads
        assert [fault.code for fault in driver.read([ring[1]])[0].faults] == [self.code]
        assert driver.read([ring[0]])[0].faults == ()

    def test_a_fault_that_cleared_is_told_with_its_module_and_read_no_more(
        self, driver: ChipDriver, ring: tuple[ChipId, ...]
    ) -> None:
        told = Told()
        driver.watch(told)
        self.occur(driver, ring[0], self.code, Assertion.OCCURRED)
        self.occur(driver, ring[0], self.other, Assertion.OCCURRED)
        # Some libraries say only that something changed: what was gone by then is never told.
        module = told.has(ring[0], Assertion.OCCURRED, self.code).module
        self.occur(driver, ring[0], self.code, Assertion.CLEARED)
        assert told.has(ring[0], Assertion.CLEARED, self.code).module == module
        assert [fault.code for fault in driver.read([ring[0]])[0].faults] == [self.other]

    def test_a_momentary_fault_is_told_and_not_read(self, driver: ChipDriver, ring: tuple[ChipId, ...]) -> None:
        told = Told()
        driver.watch(told)
        self.occur(driver, ring[0], self.moment, Assertion.ONCE)
        told.has(ring[0], Assertion.ONCE, self.moment)
        assert driver.read([ring[0]])[0].faults == ()

    def test_what_no_event_told_is_found_all_the_same(self) -> None:
        driver, told = self.open(SOON), Told()
        chip = max(rings_of(driver.chips()).values(), key=len)[-1]
        driver.watch(told)
        self.lose(driver)
        self.occur(driver, chip, self.code, Assertion.OCCURRED)
        self.let_sweep(driver)
        told.asks(chip, 1)
        self.occur(driver, chip, self.other, Assertion.OCCURRED)
        self.let_sweep(driver)
        told.asks(chip, 2)
        self.occur(driver, chip, self.code, Assertion.CLEARED)
        self.let_sweep(driver)
        told.asks(chip, 3)
        self.silence(driver, chip)
        self.let_sweep(driver)
        told.asks(chip, 4)
        driver.close()

    def test_a_process_is_read(self, driver: ChipDriver, ring: tuple[ChipId, ...]) -> None:
        self.hold(driver, ring[1], HOLDER)
        assert [process.pid for process in driver.read([ring[1]])[0].processes] == [HOLDER]

    def test_a_reset_boots_the_ring_and_cures_it(self, driver: ChipDriver, ring: tuple[ChipId, ...]) -> None:
        self.occur(driver, ring[1], self.code, Assertion.OCCURRED)
        driver.reset(ring, [ring[1]], frozenset({self.code}))
        self.finish_boot(driver)
        reports = driver.read(ring)
        assert all(report.booted and not report.faults and not report.error for report in reports)

    def test_a_reset_is_refused_while_a_process_is_on_a_ring_mate(
        self, driver: ChipDriver, ring: tuple[ChipId, ...]
    ) -> None:
        self.occur(driver, ring[0], self.code, Assertion.OCCURRED)
        self.hold(driver, ring[-1], HOLDER)
        with pytest.raises(ResetRefused, match=str(HOLDER)) as refused:
            driver.reset(ring, [ring[0]], frozenset({self.code}))
        assert f"chip {ring[-1]}" in refused.value.message
        self.assert_not_reset(driver, ring)

    def test_a_reset_is_refused_when_a_ring_mate_does_not_answer(
        self, driver: ChipDriver, ring: tuple[ChipId, ...]
    ) -> None:
        self.occur(driver, ring[0], self.code, Assertion.OCCURRED)
        self.silence(driver, ring[-1])
        with pytest.raises(ResetRefused, match=f"chip {ring[-1]}"):
            driver.reset(ring, [ring[0]], frozenset({self.code}))
        self.assert_not_reset(driver, ring)

    @pytest.mark.parametrize("another", [False, True])
    def test_a_reset_is_refused_when_no_fault_that_it_is_for_is_left(
        self, driver: ChipDriver, ring: tuple[ChipId, ...], another: bool
    ) -> None:
        if another:
            self.occur(driver, ring[0], self.other, Assertion.OCCURRED)
        with pytest.raises(ResetRefused):
            driver.reset(ring, [ring[0]], frozenset({self.code}))
        assert driver.read([ring[0]])[0].booted

    def test_a_reset_that_a_person_ordered_needs_no_fault(self, driver: ChipDriver, ring: tuple[ChipId, ...]) -> None:
        driver.reset(ring, [ring[1]], frozenset())
        assert not any(report.booted for report in driver.read(ring))
        self.finish_boot(driver)
        assert all(report.booted and not report.error for report in driver.read(ring))

    def test_a_reset_that_a_person_ordered_is_refused_while_a_process_is_there_or_a_chip_is_silent(
        self, driver: ChipDriver, ring: tuple[ChipId, ...]
    ) -> None:
        self.hold(driver, ring[-1], HOLDER)
        with pytest.raises(ResetRefused, match=str(HOLDER)):
            driver.reset(ring, [ring[0]], frozenset())
        self.silence(driver, ring[0])
        with pytest.raises(ResetRefused):
            driver.reset(ring, [ring[0]], frozenset())

    def test_a_reset_is_refused_when_only_another_chip_has_the_fault(
        self, driver: ChipDriver, ring: tuple[ChipId, ...]
    ) -> None:
        self.occur(driver, ring[1], self.code, Assertion.OCCURRED)
        with pytest.raises(ResetRefused):
            driver.reset(ring, [ring[0]], frozenset({self.code}))

    def test_a_reset_of_a_chip_that_is_not_there_is_refused(self, driver: ChipDriver) -> None:
        with pytest.raises(ResetRefused):
            driver.reset([ChipId(9999)], [ChipId(9999)], frozenset({self.code}))

    def test_chips_can_be_read_on_as_many_threads_as_the_driver_says(self, driver: ChipDriver) -> None:
        chips = [chip.id for chip in driver.chips()]
        with ThreadPoolExecutor(driver.concurrency) as pool:
            reads = list(pool.map(lambda _: driver.read(chips), range(8 * driver.concurrency)))
        assert all(not report.error for reports in reads for report in reports)

    def test_nothing_is_told_once_it_is_closed(self, driver: ChipDriver, ring: tuple[ChipId, ...]) -> None:
        told = Told()
        driver.watch(told)
        self.occur(driver, ring[0], self.code, Assertion.OCCURRED)
        told.has(ring[0], Assertion.OCCURRED, self.code)
        driver.close()
        before = told.facts
        self.occur(driver, ring[0], self.other, Assertion.OCCURRED)
        driver.close()
        assert told.facts == before

    def test_a_driver_that_was_never_watched_can_be_closed(self, driver: ChipDriver) -> None:
        driver.close()
        driver.close()
        assert driver.name

    def assert_not_reset(self, driver: ChipDriver, ring: tuple[ChipId, ...]) -> None:
        report = driver.read([ring[0]])[0]
        assert report.booted
        assert [fault.code for fault in report.faults] == [self.code]


def reported(facts: list[DriverFact]) -> list[tuple[ChipId, str, Assertion]]:
    """Return what matters of events, in the order told."""
    return [(fact.chip, fact.code, fact.assertion) for fact in facts if isinstance(fact, FaultReported)]
