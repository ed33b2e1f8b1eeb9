"""Chips that are not up, in no reset of ours: another program's reset, or a chip that has dropped."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from cmgr.drivers.dcmi.downs import Downs
from cmgr.drivers.dcmi.driver import DcmiDriver
from cmgr.drivers.dcmi.library.abi import CARD_DROPPED
from cmgr.model.values.chips import ChipId, ChipReport
from cmgr.model.values.faults import Assertion
from tests.drivers.contract import CODE, Told
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.fixtures import Make
from tests.fakes.dcmi.standin import Purpose, Standin
from tests.support.waiting import eventually

Open = Callable[..., DcmiDriver]
SICK = ChipId(3)

WAYS: dict[str, Callable[[Standin], None]] = {
    "off the bus": lambda machine: machine.drop(SICK),
    "removed": lambda machine: machine.drop(SICK, removed=True),
    "in no table": lambda machine: machine.answer(SICK, Purpose.HEALTH, -8009),
    "not ready": lambda machine: machine.answer(SICK, Purpose.HEALTH, -8012),
    "not among the living": lambda machine: machine.gauge(SICK, health=-1),
    "without a heartbeat": lambda machine: machine.gauge(SICK, health=3),
}


@pytest.fixture(params=[*WAYS, "without a heartbeat, and no list"])
def lost(request: pytest.FixtureRequest) -> Callable[[Standin], None]:
    """Let the chip be lost, by no event."""
    if request.param in WAYS:
        return WAYS[request.param]

    def unlisted(machine: Standin) -> None:
        machine.gauge(SICK, health=3)
        machine.answer(SICK, Purpose.CODES, -8005)

    return unlisted


@pytest.fixture
def machine(ascend: Make) -> Standin:
    return ascend(hosts.host_910b(8))


def report(driver: DcmiDriver) -> ChipReport:
    return driver.read([SICK])[0]


def codes(driver: DcmiDriver) -> list[str]:
    return [fault.code for fault in report(driver).faults]


def without_patience(driver: DcmiDriver) -> DcmiDriver:
    """Let resets by others last no time at all."""
    driver._downs = Downs(foreign=0)
    assert report(driver).is_up
    return driver


def test_for_as_long_as_another_program_may_reset_it_it_has_not_booted(
    machine: Standin, opened: Open, lost: Callable[[Standin], None]
) -> None:
    driver = opened(machine)
    assert report(driver).is_up
    lost(machine)
    assert (report(driver).booted, report(driver).faults, report(driver).error) == (False, (), "")


def test_after_that_it_has_dropped_though_no_event_said_so(
    machine: Standin, opened: Open, lost: Callable[[Standin], None]
) -> None:
    driver = without_patience(opened(machine))
    lost(machine)
    assert (report(driver).booted, codes(driver), report(driver).error) == (True, [CARD_DROPPED], "")
    assert all(each.is_up for each in driver.read([ChipId(n) for n in range(8) if n != SICK]))


@pytest.mark.parametrize("status", [True, False])
def test_it_has_dropped_at_once_when_the_driver_says_so(machine: Standin, opened: Open, status: bool) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    assert report(driver).is_up
    machine.drop(SICK, removed=status)
    assert not report(driver).booted
    machine.fault(SICK, CARD_DROPPED, severity=3)
    told.has(SICK, Assertion.OCCURRED, CARD_DROPPED)
    assert codes(driver) == [CARD_DROPPED]
    machine.fault(SICK, CARD_DROPPED, Assertion.CLEARED)
    told.has(SICK, Assertion.CLEARED, CARD_DROPPED)
    machine.drop(SICK, dropped=False)
    assert report(driver).is_up


def test_a_chip_that_was_never_up_is_no_chip_that_dropped(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    driver._downs = Downs(foreign=0)
    machine.drop(SICK)
    assert (report(driver).booted, report(driver).faults) == (False, ())


def test_a_chip_whose_heartbeat_is_lost_and_that_says_so_keeps_its_other_faults(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    machine.fault(SICK, CODE)
    machine.fault(SICK, CARD_DROPPED, severity=3)
    assert (report(driver).booted, sorted(codes(driver))) == (True, sorted([CARD_DROPPED, CODE]))


def test_a_grave_fault_alone_is_no_lost_heartbeat(machine: Standin, opened: Open) -> None:
    driver = without_patience(opened(machine))
    machine.fault(SICK, CODE, severity=3)
    assert codes(driver) == [CODE]


def test_a_chip_that_comes_back_is_well(machine: Standin, opened: Open) -> None:
    driver = without_patience(opened(machine))
    machine.drop(SICK)
    assert codes(driver) == [CARD_DROPPED]
    machine.drop(SICK, dropped=False)
    assert report(driver).is_up
    assert driver.trouble() == ()


@pytest.mark.parametrize("way", ["off the bus", "silent"])
def test_a_chip_that_is_away_is_asked_ever_more_seldom_until_it_is_back(
    machine: Standin, opened: Open, way: str
) -> None:
    driver, told = opened(machine, sweep=timedelta(milliseconds=10)), Told()
    driver.watch(told)
    machine.drop(SICK) if way == "off the bus" else machine.silence(SICK)
    eventually(lambda: SICK in driver._watch._away)
    before = machine.asked(SICK), machine.asked(0)
    eventually(lambda: machine.asked(0) - before[1] > 400)
    assert machine.asked(SICK) - before[0] < 200
    machine.drop(SICK, dropped=False)
    machine.silence(SICK, silent=False)
    eventually(lambda: SICK not in driver._watch._away)
    before = machine.asked(SICK), machine.asked(0)
    eventually(lambda: machine.asked(SICK) - before[0] > 20)


def test_after_a_reset_of_ours_it_is_asked_as_often_as_others(machine: Standin, opened: Open) -> None:
    driver = opened(machine, sweep=timedelta(milliseconds=10))
    driver.watch(lambda _: None)
    driver._watch._away[SICK] = 0.0, float("inf")
    machine.set("boot_by_hand", 1)
    driver.reset([ChipId(n) for n in range(8)], [SICK], frozenset())
    eventually(lambda: SICK not in driver._watch._away)


def test_a_chip_that_boots_after_a_reset_of_ours_has_not_dropped(machine: Standin, opened: Open) -> None:
    driver = without_patience(opened(machine))
    machine.set("boot_by_hand", 1)
    driver.reset([ChipId(n) for n in range(8)], [SICK], frozenset())
    assert (report(driver).booted, report(driver).faults) == (False, ())
    machine.finish_boots()
    assert report(driver).is_up


def test_it_is_said_for_how_long_a_chip_has_not_booted() -> None:
    downs = Downs()
    for chip in (5, 6):
        downs.is_up(ChipId(chip))
    downs.tell(ChipId(5), dropped=True)
    for chip in (3, 4, 5, 6):
        downs.is_down(ChipId(chip))
    assert downs.trouble() == (), "not after a moment"
    for chip, seconds in ((3, 13 * 60), (4, 150), (5, 150), (6, 13 * 60)):
        downs._since[ChipId(chip)] -= seconds
    # Chips 5 and 6 have dropped: the driver says so, and ten minutes do.
    assert downs.trouble() == (
        "chip 3 has not booted for more than 10 min",
        "chip 4 has not booted for more than 2 min",
    )
    downs.is_up(ChipId(3))
    downs.forget([ChipId(4)])
    assert downs.trouble() == ()
