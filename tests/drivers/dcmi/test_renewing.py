"""A library that goes on telling what it found when it began: a new process alone knows the chips as they are."""

from collections.abc import Callable

import pytest

from cmgr.drivers.dcmi.driver import DcmiDriver
from cmgr.model.values.chips import ChipId
from cmgr.ports import Renewable
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.fixtures import Make
from tests.fakes.dcmi.standin import FakeChip

Open = Callable[..., DcmiDriver]


@pytest.mark.parametrize(("chips", "family"), [(hosts.host_910b(8), "one"), (hosts.host_950(8), "two")])
def test_a_chip_that_boots_while_the_library_begins_is_known_to_a_new_process_only(
    ascend: Make, opened: Open, chips: tuple[FakeChip, ...], family: str
) -> None:
    machine = ascend(chips, family)
    machine.drop(3)
    driver = opened(machine)
    machine.drop(3, dropped=False)
    driver._machine.look()
    assert [chip.id for chip in driver.chips()] == [0, 1, 2, 4, 5, 6, 7]
    assert isinstance(driver, Renewable)
    assert driver.stale() == "the driver began without 1 card"
    assert driver.trouble() == ("the driver began without 1 card",)
    renewed = opened(machine.another_process())
    assert [chip.id for chip in renewed.chips()] == list(range(8))
    assert (renewed.stale(), renewed.trouble()) == ("", ())


def test_one_die_takes_its_whole_card_along(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_a3(4))
    machine.drop(2)
    driver = opened(machine)
    assert [chip.id for chip in driver.chips()] == [0, 1, 4, 5, 6, 7]
    assert driver.stale() == "the driver began without 1 card"


def test_a_chip_that_drops_later_stays_listed(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_910b(8))
    driver = opened(machine)
    machine.drop(3)
    driver._machine.look()
    assert ChipId(3) in [chip.id for chip in driver.chips()]
    assert driver.stale() == ""
