"""The names of each chip: by the library, by the maker's tools, and by whoever asks for it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cmgr.drivers.dcmi.driver import DcmiDriver
from cmgr.errors import DriverError
from cmgr.model.pieces import matched
from cmgr.model.values.chips import ChipId
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.fixtures import Make
from tests.fakes.dcmi.standin import FakeChip, Purpose
from tests.support.waiting import eventually

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


@pytest.mark.parametrize(
    ("chips", "family", "boards"),
    [
        (hosts.host_910b(2), "one", ["2102314000", "2102314001"]),
        (hosts.host_a3(1), "one", ["2102314000", "2102314000"]),
        (hosts.host_950(2), "two", ["2102314000", "2102314001"]),
    ],
)
def test_each_chip_says_which_board_carries_it_that_may_carry_others_too(
    ascend: Make, opened: Open, chips: tuple[FakeChip, ...], family: str, boards: list[str]
) -> None:
    machine = ascend(chips, family)
    machine.set("no_die", 1)
    found = opened(machine).chips()
    assert [(chip.serial, chip.board) for chip in found] == [("", board) for board in boards]
    assert matched(found, found[::-1]) == {chip.id: chip.id for chip in found}, "its place on the board tells it apart"


def test_a_board_without_a_label_has_no_serial_number(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_910b(2))
    machine.set("no_label", 1)
    assert [chip.board for chip in opened(machine).chips()] == ["", ""]


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


@pytest.mark.parametrize(
    ("chips", "family", "called"),
    [
        (hosts.host_910b(2), "one", [(0, 0, "NPU 0 chip 0"), (1, 1, "NPU 1 chip 0")]),
        (
            hosts.host_a3(2),
            "one",
            [(0, 0, "NPU 0 chip 0"), (1, 1, "NPU 0 chip 1"), (8, 8, "NPU 4 chip 0"), (9, 9, "NPU 4 chip 1")],
        ),
        (hosts.host_duo(1), "one", [(0, 0, "NPU 0 chip 0"), (1, 1, "NPU 0 chip 1")]),
        (hosts.host_950_in_slots(2, 5), "two", [(2, 0, "NPU 0"), (5, 1, "NPU 1")]),
    ],
)
def test_a_chip_says_how_containers_and_the_makers_tool_call_it(
    ascend: Make, opened: Open, chips: tuple[FakeChip, ...], family: str, called: list[tuple[int, int, str]]
) -> None:
    found = opened(ascend(chips, family)).chips()
    assert [(chip.id, chip.asked_as, chip.tool_name) for chip in found] == called


@pytest.mark.parametrize(
    ("chips", "family", "question"),
    [
        (hosts.host_910b(6), "one", "-i 5 -link -g"),
        (hosts.host_950_in_slots(2, 3, 5, 6), "two", "-g -dev_info -i 2"),
    ],
)
def test_the_tool_for_ports_is_asked_by_the_number_that_it_knows(
    ascend: Make, opened: Open, folder: Path, chips: tuple[FakeChip, ...], family: str, question: str
) -> None:
    tool, asked = folder / "hccn_tool", folder / "asked"
    tool.write_text(f'#!/bin/sh\necho "$@" >> {asked}\n')
    tool.chmod(0o755)
    opened(ascend(chips, family), hccn_tool=str(tool)).measure([ChipId(5)])
    eventually(lambda: asked.exists() and asked.read_text(), why="it was asked")
    assert asked.read_text().splitlines()[0] == question
