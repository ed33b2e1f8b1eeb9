"""How grave a fault is that no table knows: the same by event, by read-out, and for the next life of cmgr."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from cmgr.drivers.dcmi.driver import DcmiDriver
from cmgr.drivers.dcmi.library.severities import MOST_TOLD, Severities
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion
from cmgr.model.values.messages.facts import ReadNeeded
from tests.drivers.contract import CODE, OTHER_CODE, Told
from tests.drivers.dcmi.driver import HANGS
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.fixtures import Make
from tests.fakes.dcmi.standin import Purpose, Standin
from tests.support.waiting import eventually

Open = Callable[..., DcmiDriver]
ANY = [ChipId(0)]
HARMLESS, SEVERE = "80C98007", "80CD8809"
CONTROLLERS = "8F180200"


@pytest.fixture
def machine(ascend: Make) -> Standin:
    return ascend(hosts.host_910b(8))


@pytest.fixture
def listing(tmp_path: Path) -> Path:
    """Return a list as the driver's package installs it."""
    path = tmp_path / "dms_events_conf.lst"
    path.write_text(f"# code severity\n0x{HARMLESS} 0\n0x{SEVERE} 3\n0x40f84e00 2\nno line of ours\n0x80E24E00 7\n")
    return path


def severities(driver: DcmiDriver, chip: int = 0) -> dict[str, int | None]:
    return {fault.code: fault.severity for fault in driver.read([ChipId(chip)])[0].faults}


def test_a_read_out_says_what_the_drivers_list_says(machine: Standin, opened: Open, listing: Path) -> None:
    for code, severity in ((HARMLESS, 0), (SEVERE, 3), (OTHER_CODE, 1)):
        machine.fault(0, code, severity=severity)
    # A code that the list lacks has severity 1 in events, so it has that here.
    assert severities(opened(machine, severities=listing)) == {HARMLESS: 0, SEVERE: 3, OTHER_CODE: 1}


@pytest.mark.parametrize("severity", [0, 1, 2, 3])
def test_without_a_list_no_fault_is_graver_than_the_health_of_its_chip(
    machine: Standin, opened: Open, severity: int
) -> None:
    machine.fault(0, CODE, severity=severity)
    machine.fault(0, OTHER_CODE, severity=0)
    assert severities(opened(machine)) == {CODE: severity, OTHER_CODE: severity}


def test_what_an_event_has_told_of_a_code_holds_for_every_chip(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.fault(0, OTHER_CODE, severity=1)
    told.has(ChipId(0), Assertion.OCCURRED, OTHER_CODE)
    machine.set("lose", 2)
    machine.fault(1, OTHER_CODE, severity=1)
    machine.fault(1, CODE, severity=3)
    assert severities(driver, 1) == {OTHER_CODE: 1, CODE: 3}


def test_health_bounds_the_list_and_what_was_told(machine: Standin, opened: Open, listing: Path) -> None:
    machine.fault(0, SEVERE, severity=1)
    assert severities(opened(machine, severities=listing)) == {SEVERE: 1}


@pytest.mark.parametrize("health", [4, 99])
def test_a_health_that_means_nothing_bounds_nothing(machine: Standin, opened: Open, health: int) -> None:
    machine.fault(0, CODE, severity=1)
    machine.gauge(0, health=health)
    assert severities(opened(machine)) == {CODE: None}


def test_a_chip_that_does_not_tell_its_health_tells_its_faults(machine: Standin, opened: Open, listing: Path) -> None:
    with_list, without = opened(machine, severities=listing), opened(machine)
    machine.fault(0, CODE, severity=3)
    machine.answer(0, Purpose.HEALTH, -8005)
    assert severities(without) == {CODE: None}
    assert severities(with_list) == {CODE: 1}


@pytest.mark.parametrize("text", ["", "no line\n", "0x80E24E00\n", "\xff\n"])
def test_a_list_that_says_nothing_is_none(machine: Standin, opened: Open, tmp_path: Path, text: str) -> None:
    path = tmp_path / "list"
    path.write_text(text)
    machine.fault(0, CODE, severity=2)
    assert severities(opened(machine, severities=path)) == {CODE: 2}


def test_a_directory_in_its_place_is_none(machine: Standin, opened: Open, tmp_path: Path) -> None:
    machine.fault(0, CODE, severity=2)
    assert severities(opened(machine, severities=tmp_path)) == {CODE: 2}


def test_so_many_are_remembered(tmp_path: Path) -> None:
    told = Severities(tmp_path / "none")
    for number in range(MOST_TOLD + 1):
        told.tell(f"{number:08X}", 2)
    assert [told.of(code, None) for code in ("00000000", "00000001", f"{MOST_TOLD:08X}")] == [None, 2, 2]


# The controller of a card.


@pytest.fixture
def card(ascend: Make) -> Standin:
    return ascend(hosts.host_950(), "two")


def codes(driver: DcmiDriver, chip: int = 0) -> list[str]:
    return [fault.code for fault in driver.read([ChipId(chip)])[0].faults]


def test_the_faults_of_a_cards_controller_are_its_chips(card: Standin, opened: Open, listing: Path) -> None:
    card.fault(0, CODE, severity=2)
    card.fault(0, CONTROLLERS, severity=3)
    driver = opened(card, severities=listing)
    assert codes(driver) == [CODE, CONTROLLERS]
    # The list of events is not about the controller; the chip's own word on the other counts before the list.
    assert severities(driver) == {CODE: 2, CONTROLLERS: 3}


def test_a_950_tells_how_grave_its_present_faults_are(card: Standin, opened: Open) -> None:
    card.fault(0, CODE, severity=1)
    card.fault(0, OTHER_CODE, severity=3)
    assert severities(opened(card)) == {CODE: 1, OTHER_CODE: 3}
    card.answer(0, Purpose.PRESENT, -8255)
    assert severities(opened(card)) == {CODE: 3, OTHER_CODE: 3}, "no more than the health says"


def test_a_controller_that_does_not_answer_makes_no_chip_silent(card: Standin, opened: Open) -> None:
    driver = opened(card)
    card.fault(0, CODE, severity=2)
    card.fault(0, CONTROLLERS, severity=3)
    card.answer(0, Purpose.CONTROLLER, -8006)
    report = driver.read(ANY)[0]
    assert (report.error, report.booted, [f.code for f in report.faults]) == ("", True, [CODE])
    assert CONTROLLERS.startswith(report.unasked)
    assert not CODE.startswith(report.unasked)
    assert driver.trouble() == ("the card controller of chip 0 does not answer: its own faults are not known",)
    card.answer(0, Purpose.CONTROLLER, 0)
    report = driver.read(ANY)[0]
    assert ([f.code for f in report.faults], report.unasked) == ([CODE, CONTROLLERS], ())
    assert driver.trouble() == ()


def test_a_controller_that_hangs_makes_no_chip_silent_and_keeps_it_from_no_reset(card: Standin, opened: Open) -> None:
    driver = opened(card, call_timeout=HANGS)
    card.fault(0, CODE)
    card.fault(0, CONTROLLERS)
    card.hang(0, Purpose.CONTROLLER)
    for _ in range(2):
        report = driver.read(ANY)[0]
        assert (report.error, [f.code for f in report.faults]) == ("", [CODE])
        assert CONTROLLERS.startswith(report.unasked)
    assert "health" not in driver.measure(ANY)[ANY[0]]
    assert driver.stale() == ""
    driver.reset(ANY, ANY, frozenset({CODE}))
    assert [reset.answer for reset in card.resets] == [0]
    card.hang(0, Purpose.CONTROLLER, hangs=False)
    eventually(lambda: driver.read(ANY)[0].unasked == ())


def test_what_a_controller_tells_can_be_the_reason_for_a_reset(card: Standin, opened: Open) -> None:
    card.fault(0, CONTROLLERS)
    opened(card).reset(ANY, ANY, frozenset({CONTROLLERS}))
    assert [reset.answer for reset in card.resets] == [0]


def test_a_look_whether_anything_is_new_asks_no_controller(card: Standin, opened: Open) -> None:
    driver, told = opened(card, sweep=timedelta(milliseconds=10)), Told()
    driver.watch(told)
    before = card.asked(0, of_controller=True), card.asked(0)
    eventually(lambda: card.asked(0) - before[1] > 20)
    assert card.asked(0, of_controller=True) == before[0]
    card.set("lose", 1)
    card.fault(0, CODE)
    eventually(lambda: told.facts.count(ReadNeeded(ChipId(0))) == 2, why="what no event told is found")
    assert codes(driver) == [CODE]
    assert card.asked(0, of_controller=True) > before[0], "whoever reads the chip asks it"


def test_where_a_950_does_not_tell_its_present_faults_its_list_is_asked_for(card: Standin, opened: Open) -> None:
    card.answer(0, Purpose.PRESENT, -8255)
    driver, told = opened(card, sweep=timedelta(milliseconds=10)), Told()
    driver.watch(told)
    card.fault(0, CONTROLLERS)
    eventually(lambda: told.facts.count(ReadNeeded(ChipId(0))) == 2)
    assert codes(driver) == [CONTROLLERS]


def test_a_healthy_chip_with_a_sick_controller_is_healthy(card: Standin, opened: Open) -> None:
    card.answer(0, Purpose.CONTROLLER, -8006)
    report = opened(card).read(ANY)[0]
    assert (report.error, report.booted, report.faults) == ("", True, ())


def test_a_chip_that_tells_no_faults_either_way_is_silent(card: Standin, opened: Open) -> None:
    card.answer(0, Purpose.CONTROLLER, -8006)
    card.answer(0, Purpose.PRESENT, -8255)
    assert "cannot read the fault codes: libdcmi says -8005" in opened(card).read(ANY)[0].error


def test_the_older_family_knows_no_controllers(machine: Standin, opened: Open) -> None:
    machine.answer(0, Purpose.CODES, -8005)
    report = opened(machine).read(ANY)[0]
    assert ("libdcmi says -8005" in report.error, report.unasked) == (True, ())


def test_the_last_look_before_a_reset_goes_by_what_the_chip_tells(card: Standin, opened: Open) -> None:
    card.fault(0, CODE)
    card.answer(0, Purpose.CONTROLLER, -8006)
    opened(card).reset(ANY, ANY, frozenset({CODE}))
    assert [reset.answer for reset in card.resets] == [0]
