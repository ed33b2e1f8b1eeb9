from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta

import pytest

from cmgr.errors import DriverError, ResetRefused
from cmgr.model.values.chips import ChipId, Process
from cmgr.model.values.faults import Assertion
from tests.drivers.contract import CODE, OTHER_CODE, Told, reported
from tests.drivers.sim.driver import Clock, DriverByHand, settings
from tests.support.waiting import PATIENCE

OCCURRED, CLEARED = Assertion.OCCURRED, Assertion.CLEARED
CODES = frozenset({CODE})
RING = tuple(ChipId(number) for number in range(4))


def test_chips_boot_for_as_long_as_the_settings_say(driver: DriverByHand, told: Told, clock: Clock) -> None:
    driver.inject(ChipId(1), CODE, OCCURRED)
    driver.reset(RING, [ChipId(1)], CODES)
    clock.pass_by(driver, 29.9)
    assert [report.booted for report in driver.read([*RING, ChipId(4)])] == [False] * 4 + [True]
    assert driver.read([ChipId(1)])[0].faults != ()
    clock.pass_by(driver, 0.1)
    assert reported(told.wait(2)) == [(1, CODE, OCCURRED), (1, CODE, CLEARED)]
    assert all(report.booted and not report.faults for report in driver.read(RING))


def test_a_fault_that_comes_while_the_chip_boots_is_not_cured(driver: DriverByHand, clock: Clock) -> None:
    driver.inject(ChipId(1), CODE, OCCURRED)
    driver.inject(ChipId(1), OTHER_CODE, OCCURRED)
    driver.reset(RING, [ChipId(1)], CODES)
    driver.inject(ChipId(1), CODE, OCCURRED)
    clock.pass_by(driver, 30)
    assert [fault.code for fault in driver.read([ChipId(1)])[0].faults] == [CODE]


def test_an_incurable_fault_outlives_a_reset(driver: DriverByHand, clock: Clock) -> None:
    driver.make_incurable(CODE)
    driver.inject(ChipId(1), CODE, OCCURRED)
    driver.inject(ChipId(1), OTHER_CODE, OCCURRED)
    driver.reset(RING, [ChipId(1)], CODES)
    clock.pass_by(driver, 30)
    assert [fault.code for fault in driver.read([ChipId(1)])[0].faults] == [CODE]


def test_resets_can_fail_a_number_of_times(driver: DriverByHand, clock: Clock) -> None:
    driver.fail_resets(2)
    driver.inject(ChipId(1), CODE, OCCURRED)
    for _ in range(2):
        with pytest.raises(DriverError, match="cannot reset chips 0-3") as caught:
            driver.reset(RING, [ChipId(1)], CODES)
        assert not isinstance(caught.value, ResetRefused)
        assert driver.read([ChipId(1)])[0].booted
    driver.reset(RING, [ChipId(1)], CODES)
    assert [reset.outcome for reset in driver.resets] == ["failed", "failed", "taken"]


def test_resets_can_fail_always(driver: DriverByHand) -> None:
    driver.fail_resets(-1)
    driver.inject(ChipId(1), CODE, OCCURRED)
    for _ in range(5):
        with pytest.raises(DriverError):
            driver.reset(RING, [ChipId(1)], CODES)
    assert len(driver.resets) == 5


def test_a_boot_can_last_for_ever_and_a_further_reset_can_end_it(driver: DriverByHand, clock: Clock) -> None:
    driver.finish_boots(boots=False)
    driver.inject(ChipId(1), CODE, OCCURRED)
    driver.reset(RING, [ChipId(1)], CODES)
    clock.pass_by(driver, 10**9)
    assert not any(report.booted for report in driver.read(RING))
    driver.finish_boots(boots=True)
    driver.reset(RING, [ChipId(1)], CODES)
    clock.pass_by(driver, 30)
    assert all(report.booted for report in driver.read(RING))


def test_a_reset_goes_on_once_the_process_is_gone(driver: DriverByHand) -> None:
    driver.inject(ChipId(1), CODE, OCCURRED)
    driver.hold(ChipId(2), Process(7, "python"))
    with pytest.raises(ResetRefused, match=r"cannot reset chips 0-3: process 7 \(python\) is on chip 2"):
        driver.reset(RING, [ChipId(1)], CODES)
    driver.let_go(ChipId(2))
    driver.reset(RING, [ChipId(1)], CODES)
    assert [reset.outcome for reset in driver.resets] == ["refused", "taken"]


def test_a_chip_can_answer_again(driver: DriverByHand) -> None:
    driver.silence(ChipId(1))
    assert driver.read([ChipId(1)])[0].error == "does not answer"
    driver.silence(ChipId(1), silent=False)
    assert driver.read([ChipId(1)])[0].error == ""


@pytest.mark.parametrize("chips", [(), (0, 4)])
def test_only_chips_of_one_ring_are_reset_together(driver: DriverByHand, chips: tuple[int, ...]) -> None:
    with pytest.raises(DriverError, match="not of one ring"):
        driver.reset([ChipId(chip) for chip in chips], [ChipId(0)], CODES)


class TestResetThatTakesTime:
    @pytest.fixture
    def driver(self, clock: Clock) -> Iterator[DriverByHand]:
        driver = DriverByHand(settings(reset_time=timedelta(hours=1)), now=clock)
        driver.inject(ChipId(1), CODE, OCCURRED)
        driver.inject(ChipId(5), CODE, OCCURRED)
        yield driver
        driver.close()

    @pytest.fixture
    def pool(self, driver: DriverByHand) -> Iterator[ThreadPoolExecutor]:
        with ThreadPoolExecutor(4) as pool:
            yield pool
            # Before the pool waits for its threads.
            driver.close()

    def begin(self, driver: DriverByHand, pool: ThreadPoolExecutor, chips: tuple[ChipId, ...] = RING) -> Future[None]:
        future = pool.submit(driver.reset, chips, [chips[1]], CODES)
        # A reset that takes time lets go of the driver only when it waits.
        for _ in range(int(PATIENCE * 1000)):
            if any(reset.chips == chips for reset in driver.resets):
                return future
            with suppress(TimeoutError):
                future.result(timeout=0.001)
        raise AssertionError("the reset never began")

    def test_the_call_returns_when_it_is_over(
        self, driver: DriverByHand, pool: ThreadPoolExecutor, clock: Clock
    ) -> None:
        future = self.begin(driver, pool)
        assert not driver.read([ChipId(0)])[0].booted
        clock.pass_by(driver, 3599)
        assert not future.done()
        clock.pass_by(driver, 1)
        assert future.result(PATIENCE) is None
        assert not driver.read([ChipId(0)])[0].booted
        clock.pass_by(driver, 30)
        assert driver.read([ChipId(0)])[0].booted

    def test_another_ring_can_be_reset_meanwhile(
        self, driver: DriverByHand, pool: ThreadPoolExecutor, clock: Clock
    ) -> None:
        first = self.begin(driver, pool)
        second = self.begin(driver, pool, tuple(ChipId(number) for number in range(4, 8)))
        clock.pass_by(driver, 3600)
        first.result(PATIENCE)
        second.result(PATIENCE)

    def test_a_second_reset_of_the_ring_is_an_error(self, driver: DriverByHand, pool: ThreadPoolExecutor) -> None:
        self.begin(driver, pool)
        with pytest.raises(DriverError, match="under way"):
            driver.reset(RING, [ChipId(1)], CODES)

    def test_closing_ends_the_wait_without_a_claim(self, driver: DriverByHand, pool: ThreadPoolExecutor) -> None:
        future = self.begin(driver, pool)
        driver.close()
        with pytest.raises(DriverError, match="cannot tell how the reset of chips 0-3 went"):
            future.result(PATIENCE)
        with pytest.raises(DriverError, match="closed"):
            driver.reset(RING, [ChipId(1)], CODES)
