"""Processes on a chip, as the list of them is made and cut; and the file of those that the driver kills."""

from collections.abc import Callable

import pytest

from cmgr.drivers.dcmi.driver import DcmiDriver
from cmgr.errors import ResetRefused
from cmgr.model.values.chips import ChipId
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.fixtures import Make
from tests.fakes.dcmi.standin import FakeChip, Standin

Open = Callable[..., DcmiDriver]
FIRST = ChipId(0)


@pytest.fixture
def machine(ascend: Make) -> Standin:
    return ascend(hosts.host_910b_infer(4))


def reset(driver: DcmiDriver, machine: Standin) -> list[int]:
    driver.reset(tuple(c.id for c in driver.chips() if c.ring == 0), [FIRST], frozenset())
    return [reset.answer for reset in machine.resets]


def test_a_process_that_ends_while_the_list_is_made_is_no_error(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    for pid in (4242, 4243):
        machine.process(0, pid)
    machine.end_process(0, 4242)
    report = driver.read([FIRST])[0]
    assert (report.error, [process.pid for process in report.processes]) == ("", [4243])


def test_nor_is_it_an_objection_to_a_reset(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    machine.process(0, 4242)
    machine.end_process(0, 4242)
    assert reset(driver, machine) == [0]


def test_a_process_that_is_in_no_list_any_more_and_holds_the_chip_is_a_refusal(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    machine.process(0, 4242)
    machine.end_process(0, 4242, lingers=True)
    assert driver.read([FIRST])[0].processes == ()
    with pytest.raises(ResetRefused, match="somebody computes on a chip of it"):
        reset(driver, machine)


@pytest.mark.parametrize("count", [63, 64, 65])
def test_sixty_four_processes_are_listed_at_most(machine: Standin, opened: Open, count: int) -> None:
    driver = opened(machine)
    for pid in range(1000, 1000 + count):
        machine.process(0, pid)
    assert len(driver.read([FIRST])[0].processes) == min(count, 64)


@pytest.mark.parametrize("chips", [hosts.host_910b_infer(2), hosts.host_a3(2)])
def test_a_file_that_the_library_cannot_write_is_a_doubt_and_keeps_resets_from_working(
    ascend: Make, opened: Open, chips: tuple[FakeChip, ...]
) -> None:
    machine = ascend(chips)
    driver = opened(machine)
    machine.custom_processes.mkdir()
    (doubt,) = driver.doubts()
    assert "custom_process.cfg cannot be opened for writing" in doubt.text
    with pytest.raises(ResetRefused, match=r"the driver cannot write /etc/custom_process.cfg"):
        reset(driver, machine)


def test_a_file_that_it_can_write_or_that_is_not_there_is_none(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    assert driver.doubts() == ()
    machine.custom_processes.touch()
    assert driver.doubts() == ()
    assert reset(driver, machine) == [0]


def test_other_products_do_without_it(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_single("310P3"))
    machine.custom_processes.mkdir()
    driver = opened(machine)
    assert (driver.doubts(), reset(driver, machine)) == ((), [0])
