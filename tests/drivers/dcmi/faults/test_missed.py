"""Events that could not be taken in: a trouble of the driver, until a read-out of every chip has made it good."""

from collections.abc import Callable

import pytest

from cmgr.drivers.dcmi.driver import DcmiDriver
from tests.drivers.contract import Told
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.fixtures import Make
from tests.fakes.dcmi.standin import Purpose, Standin

Open = Callable[..., DcmiDriver]
MISSED = "could not be taken in, and not every chip has been read since"


@pytest.fixture
def machine(ascend: Make) -> Standin:
    return ascend(hosts.host_910b(8))


def test_what_could_not_be_taken_in_is_a_trouble_until_every_chip_has_been_read(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    chips = [chip.id for chip in driver.chips()]

    def lose() -> None:
        driver._watch._on_event(None)

    lose()
    lose()
    assert driver.trouble() == (f"2 fault events {MISSED}",)
    driver.read(chips[:-1])
    assert driver.trouble() == (f"2 fault events {MISSED}",), "one chip has not been read"
    machine.answer(0, Purpose.CODES, -8001)
    assert driver.read(chips)[0].error
    driver.read(chips[-1:])
    assert driver.trouble() == (), "the first had been read before"
    lose()
    driver.read(chips)
    assert driver.trouble() == (f"1 fault event {MISSED}",), "one chip did not answer"
    machine.answer(0, Purpose.CODES, 0)
    driver.read(chips)
    assert driver.trouble() == ()


def test_a_read_out_that_had_begun_before_an_event_was_lost_does_not_make_it_good(
    machine: Standin, opened: Open
) -> None:
    driver = opened(machine)
    driver.watch(Told())
    watch, chips = driver._watch, [chip.id for chip in driver.chips()]
    began = watch.lost
    watch._on_event(None)
    for chip in chips:
        watch.has_read(chip, began)
    assert driver.trouble() == (f"1 fault event {MISSED}",)
    for chip in chips:
        watch.has_read(chip, watch.lost)
    assert driver.trouble() == ()
