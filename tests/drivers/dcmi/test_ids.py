"""The names of each chip: by the library, by the maker's tools, and by whoever asks for it."""

from collections.abc import Callable

import pytest

from cmgr.drivers.dcmi.driver import DcmiDriver
from cmgr.errors import DriverError
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.fixtures import Make
from tests.fakes.dcmi.standin import FakeChip, Purpose

Open = Callable[..., DcmiDriver]


@pytest.mark.parametrize(
    ("chips", "family", "kind"),
    [(hosts.host_910b(2), "one", 1), (hosts.host_a3(1), "one", 1), (hosts.host_950(2), "two", 2)],
)
def test_each_product_has_a_serial_of_the_type_of_its_dies(
    ascend: Make, opened: Open, chips: tuple[FakeChip, ...], family: str, kind: int
) -> None:
    found = opened(ascend(chips, family)).chips()
    assert [chip.serial for chip in found] == [f"00001234-{kind:08X}-ABCDEF01-00000000-{n:08X}" for n in range(2)]


def test_a_board_without_pcie_has_no_bus_ids(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_950(2), "two")
    machine.set("no_pcie", 1)
    found = opened(machine).chips()
    assert [chip.bus for chip in found] == ["", ""]
    assert all(chip.serial for chip in found), "they are still told from one another"


def test_one_chip_without_board_info_takes_no_other_from_the_list(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_950_in_slots(2, 3, 5, 6), "two")
    machine.answer(2, Purpose.BOARD, -8005)
    driver = opened(machine)
    assert [(chip.id, chip.logical) for chip in driver.chips()] == [(2, 0), (3, 1), (5, 2), (6, 3)]
    assert driver.trouble() == ()


def test_a_list_that_is_refused_for_another_reason_is_not_made_up(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_950(4), "two")
    machine.answer(0, Purpose.LIST, -8012)
    with pytest.raises(DriverError, match="-8012"):
        opened(machine)
