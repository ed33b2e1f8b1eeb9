import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from cmgr.config.sim import Sim, SimDivided, SimEvent, SimMachineEvent, SimProcess
from cmgr.errors import DriverError
from cmgr.model.values.chips import ChipId, Process, RingId, Share, rings_of
from cmgr.model.values.faults import Assertion
from cmgr.model.values.messages.facts import FaultReported, MachineTold, ReadNeeded
from cmgr.ports import ChipDriver, DriverFact
from tests.drivers.contract import CODE, HOUR, OTHER_CODE, SOON, ChipDriverContract, Told, reported
from tests.drivers.sim.driver import Clock, DriverByHand, settings
from tests.support.waiting import PATIENCE

OCCURRED, CLEARED, ONCE = Assertion.OCCURRED, Assertion.CLEARED, Assertion.ONCE
CODES = frozenset({CODE})
RING = tuple(ChipId(number) for number in range(4))


class TestSimDriver(ChipDriverContract):
    @pytest.fixture(autouse=True)
    def clock(self) -> None:
        self.time = Clock()

    def open(self, sweep: timedelta = HOUR) -> ChipDriver:
        return DriverByHand(settings(), sweep, now=self.time)

    def lose(self, driver: ChipDriver) -> None:
        assert isinstance(driver, DriverByHand)
        driver.lose_events(1000)

    def let_sweep(self, driver: ChipDriver) -> None:
        assert isinstance(driver, DriverByHand)
        self.time.pass_by(driver, SOON.total_seconds())

    def occur(self, driver: ChipDriver, chip: ChipId, code: str, assertion: Assertion) -> None:
        assert isinstance(driver, DriverByHand)
        driver.inject(chip, code, assertion)

    def hold(self, driver: ChipDriver, chip: ChipId, pid: int) -> None:
        assert isinstance(driver, DriverByHand)
        driver.hold(chip, Process(pid, "python"))

    def silence(self, driver: ChipDriver, chip: ChipId) -> None:
        assert isinstance(driver, DriverByHand)
        driver.silence(chip)

    def finish_boot(self, driver: ChipDriver) -> None:
        assert isinstance(driver, DriverByHand)
        self.time.pass_by(driver, 30)


@pytest.mark.parametrize(
    ("sim", "rings"),
    [
        (Sim(), {0: 8}),
        (Sim(chips=16, ring=8), {0: 8, 8: 8}),
        (Sim(chips=6, ring=4), {0: 4, 4: 2}),
        (Sim(chips=3, ring=8), {0: 3}),
        (Sim(chips=2, ring=1), {0: 1, 1: 1}),
        (Sim(chips=7, rings=(1, 4, 2)), {0: 1, 1: 4, 5: 2}),
    ],
)
def test_rings_have_the_sizes_that_the_settings_say(sim: Sim, rings: dict[int, int]) -> None:
    found = rings_of(DriverByHand(sim).chips())
    assert {ring: len(chips) for ring, chips in found.items()} == rings


def test_every_chip_has_a_model_and_a_bus_and_serial_of_its_own(driver: DriverByHand) -> None:
    chips = driver.chips()
    assert {chip.model for chip in chips} == {"Ascend910B4"}
    assert len({chip.bus for chip in chips}) == len({chip.serial for chip in chips}) == 8
    assert chips[5].ring == RingId(4)


def test_an_event_has_code_module_and_severity(driver: DriverByHand, told: Told) -> None:
    driver.inject(ChipId(3), "0x80e24e00", OCCURRED)
    assert told.wait(1) == [FaultReported(ChipId(3), CODE, OCCURRED, "1.0.0.0", 2)]


def test_an_injection_on_no_chip_or_of_no_code_is_an_error(driver: DriverByHand) -> None:
    for assertion in Assertion:
        with pytest.raises(DriverError, match="chip 99"):
            driver.inject(ChipId(99), CODE, assertion)
        with pytest.raises(DriverError, match="not a fault code"):
            driver.inject(ChipId(0), "oops", assertion)


def test_the_same_code_of_two_modules_is_two_faults(driver: DriverByHand, told: Told) -> None:
    driver.occur(SimEvent(0, CODE, module="1.11.0.0"))
    driver.occur(SimEvent(0, CODE, module="11.1.0.0"))
    driver.occur(SimEvent(0, CODE, assertion=CLEARED, module="1.11.0.0"))
    assert [fact.module for fact in told.wait(3) if isinstance(fact, FaultReported)] == [
        "1.11.0.0",
        "11.1.0.0",
        "1.11.0.0",
    ]
    assert len(driver.read([ChipId(0)])[0].faults) == 1
    driver.inject(ChipId(0), CODE, CLEARED)
    assert driver.read([ChipId(0)])[0].faults == ()


def test_clearing_what_is_not_there_tells_nothing(driver: DriverByHand, told: Told) -> None:
    driver.inject(ChipId(0), CODE, CLEARED)
    driver.inject(ChipId(1), CODE, ONCE)
    assert reported(told.wait(1)) == [(1, CODE, ONCE)]


def test_events_before_the_watch_are_told_to_nobody_and_not_counted_as_lost(driver: DriverByHand) -> None:
    driver.lose_events(1)
    driver.inject(ChipId(0), CODE, OCCURRED)
    told = Told()
    driver.watch(told)
    driver.inject(ChipId(1), CODE, OCCURRED)
    driver.inject(ChipId(2), CODE, OCCURRED)
    assert reported(told.wait(1)) == [(2, CODE, OCCURRED)]


def test_a_driver_is_watched_once(driver: DriverByHand, told: Told) -> None:
    with pytest.raises(DriverError, match="watched already"):
        driver.watch(told)


def test_what_is_lost_or_told_twice_is_found_by_reading_once(driver: DriverByHand, told: Told) -> None:
    driver.lose_events(1)
    driver.double_events(1)
    for number in range(3):
        driver.inject(ChipId(number), CODE, OCCURRED)
    assert reported(told.wait(3)) == [(1, CODE, OCCURRED), (1, CODE, OCCURRED), (2, CODE, OCCURRED)]
    assert [len(report.faults) for report in driver.read(RING)] == [1, 1, 1, 0]


def test_a_loss_can_be_told(driver: DriverByHand, told: Told) -> None:
    driver.need_read(ChipId(2))
    assert told.wait(1) == [ReadNeeded(ChipId(2))]


def test_the_script_is_played_in_the_order_of_time(clock: Clock) -> None:
    script = (
        SimEvent(3, OTHER_CODE, timedelta(seconds=9), ONCE),
        SimEvent(1, CODE, timedelta(seconds=2), module="3.0.0.1", severity=3),
        SimEvent(1, CODE, timedelta(seconds=4), CLEARED, module="3.0.0.1"),
        SimEvent(0, CODE),
    )
    driver = DriverByHand(settings(script=script), now=clock)
    told = Told()
    driver.watch(told)
    assert reported(told.wait(1)) == [(0, CODE, OCCURRED)]
    clock.pass_by(driver, 2)
    assert told.wait(2)[1] == FaultReported(ChipId(1), CODE, OCCURRED, "3.0.0.1", 3)
    clock.pass_by(driver, 10)
    assert reported(told.wait(4))[2:] == [(1, CODE, CLEARED), (3, OTHER_CODE, ONCE)]
    driver.close()


def test_the_machine_ails_as_its_script_has_it_and_a_next_life_finds_what_lasts(clock: Clock, tmp_path: Path) -> None:
    machine = (
        SimMachineEvent("raid-failed", "md0", timedelta(seconds=2)),
        SimMachineEvent("memory-uncorrected", "DIMM3", timedelta(seconds=3), ONCE),
        SimMachineEvent("raid-failed", "md0", timedelta(seconds=9), CLEARED),
        SimMachineEvent("fan-failed", "1"),
    )
    sim = settings(machine=machine, world=str(tmp_path / "world"))

    def life(*seconds: float) -> list[tuple[list[str], bool]]:
        driver, told = DriverByHand(sim, now=clock, wall=clock), Told()
        driver.watch(told)
        for count, passed in enumerate(seconds, start=1):
            clock.pass_by(driver, passed)
            told.wait(count)
        driver.close()
        facts = [fact for fact in told.facts if isinstance(fact, MachineTold)]
        marks.extend(symptom.mark for fact in facts for symptom in fact.found if symptom.mark)
        return [([symptom.code for symptom in fact.found], fact.off) for fact in facts]

    marks: list[str] = []
    assert life(0, 2, 1) == [
        (["fan-failed"], False),
        (["fan-failed", "raid-failed"], False),
        (["fan-failed", "raid-failed", "memory-uncorrected"], False),
    ]
    assert life(0, 6) == [
        (["fan-failed", "raid-failed", "memory-uncorrected"], False),
        (["fan-failed", "memory-uncorrected"], False),
    ]
    assert len(set(marks)) == 1, "it has happened once"


def test_everything_that_the_settings_say_is_so_from_the_start(clock: Clock) -> None:
    sim = settings(
        fail_resets=1,
        incurable=("0x80e24e00",),
        silent=(7,),
        processes=(SimProcess(5, 42, "python"),),
        boots=False,
        model="X",
    )
    driver = DriverByHand(sim, now=clock)
    told = Told()
    driver.watch(told)
    driver.inject(ChipId(0), CODE, OCCURRED)
    assert reported(told.wait(1)) == [(0, CODE, OCCURRED)]
    assert driver.read([ChipId(7)])[0].error
    assert driver.read([ChipId(5)])[0].processes == (Process(42, "python"),)
    with pytest.raises(DriverError):
        driver.reset(RING, [ChipId(0)], CODES)
    driver.reset(RING, [ChipId(0)], CODES)
    clock.pass_by(driver, 10**6)
    assert not driver.read([ChipId(0)])[0].booted
    assert driver.chips()[0].model == "X"
    driver.close()


def test_a_reset_takes_the_shares_of_its_chips_and_they_can_be_made_again(clock: Clock) -> None:
    driver = DriverByHand(settings(divided=(SimDivided(1), SimDivided(5, 1)), fail_shares=1), now=clock)
    (_, chip, *_) = driver.chips()
    assert [(share.id, *share.aliases) for share in chip.shares] == [("116", "1:116"), ("117", "1:117")]
    driver.inject(ChipId(1), CODE, OCCURRED)
    driver.reset(RING, [ChipId(1)], CODES)
    clock.pass_by(driver, 30)
    mate = Share("180", "vir01", aliases=frozenset({"5:180"}))
    assert [report.shares for report in driver.read([ChipId(1), ChipId(5)])] == [(), (mate,)]
    with pytest.raises(DriverError, match="cannot divide chip 1: the simulated driver says that it failed"):
        driver.make_shares({ChipId(1): chip.shares})
    driver.make_shares({ChipId(1): chip.shares[1:]})
    assert driver.read([ChipId(1)])[0].shares == chip.shares[1:]
    driver.make_shares({ChipId(1): chip.shares})
    assert driver.chips()[1] == chip
    driver.close()


def test_many_threads_can_inject_and_every_event_is_told(driver: DriverByHand, told: Told) -> None:
    def inject(chip: int) -> None:
        for _ in range(200):
            driver.inject(ChipId(chip), CODE, OCCURRED)
            driver.inject(ChipId(chip), CODE, CLEARED)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(inject, range(8)))
    facts = reported(told.wait(8 * 400))
    for chip in range(8):
        assert [assertion for each, _, assertion in facts if each == chip] == [OCCURRED, CLEARED] * 200


def test_closing_inside_of_what_is_told_does_not_hang_and_nothing_more_is_told(driver: DriverByHand) -> None:
    told = Told()

    def close(fact: DriverFact) -> None:
        driver.close()
        told(fact)

    driver.watch(close)
    driver.double_events(1)
    driver.inject(ChipId(0), CODE, OCCURRED)
    told.wait(1)
    for thread in threading.enumerate():
        if thread.name == "sim-chips":
            thread.join(PATIENCE)
    assert len(told.facts) == 1


def test_no_thread_is_left_after_closing(driver: DriverByHand, told: Told) -> None:
    driver.inject(ChipId(0), CODE, OCCURRED)
    told.wait(1)
    threads = [thread for thread in threading.enumerate() if thread.name == "sim-chips"]
    driver.close()
    assert threads
    assert not any(thread.is_alive() for thread in threads)
