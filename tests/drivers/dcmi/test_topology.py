"""Ring tables for every product, and what each chip name and board is taken for."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from cmgr.drivers.dcmi.driver import DcmiDriver
from cmgr.drivers.dcmi.library.topology import Place, Type, Wiring, rings, type_of
from cmgr.errors import DriverError
from cmgr.model.values.chips import ChipId, RingId, rings_of
from tests.drivers.contract import Told
from tests.drivers.dcmi.driver import HANGS
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.fixtures import Make
from tests.fakes.dcmi.standin import FakeChip, Purpose
from tests.support.waiting import eventually

Open = Callable[..., DcmiDriver]


def alone(chips: int) -> list[list[int]]:
    return [[n] for n in range(chips)]


def of_size(size: int, chips: int) -> list[list[int]]:
    return [list(range(first, min(first + size, chips))) for first in range(0, chips, size)]


HOSTS: dict[str, tuple[tuple[FakeChip, ...], str, Sequence[Sequence[int]]]] = {
    "910A": (hosts.host_910a(), "one", of_size(4, 8)),
    "910A with 6 chips": (hosts.host_910a(6), "one", [[0, 1, 2, 3], [4, 5]]),
    "910B": (hosts.host_910b(8), "one", of_size(8, 8)),
    "910B with 16 chips": (hosts.host_910b(16), "one", of_size(16, 16)),
    "910B with 12 chips": (hosts.host_910b(12), "one", of_size(16, 12)),
    "910B with 5 chips": (hosts.host_910b(5), "one", [[0, 1, 2, 3, 4]]),
    **{
        f"910B for inference, board {board:#x}": (hosts.host_910b_infer(4, board), "one", alone(4))
        for board in (0x10, 0x13, 0x28, 0x29, 0x33, 0x37, 0x3C)
    },
    "910B with HCCS on a board that mostly has none": (hosts.host_910b(4, 0x33), "one", [[0, 1, 2, 3]]),
    "910B of whose chips one has no link": (
        (*hosts.host_910b(3), FakeChip(3, 0, 3, 99, "910B3", 0x01)),
        "one",
        [[0, 1, 2, 3]],
    ),
    "910B of the upper half": (hosts.host_910b(16)[8:], "one", [list(range(8, 16))]),
    "A3": (hosts.host_a3(8), "one", [[n, n + 1, n + 8, n + 9] for n in (0, 2, 4, 6)]),
    "A3 with one card": (hosts.host_a3(1), "one", [[0, 1]]),
    "A3 with three cards": (hosts.host_a3(3), "one", [[0, 1, 8, 9], [2, 3]]),
    "A3 whose dies each are reset with their card alone": (
        tuple(replace(chip, brother=-1, group=chip.card) for chip in hosts.host_a3(4)),
        "one",
        [[0, 1], [2, 3], [8, 9], [10, 11]],
    ),
    "300I Duo": (hosts.host_duo(3), "one", of_size(2, 6)),
    "300I DuoA": (hosts.host_duo(2, board=0x99, product="Atlas 300I DuoA"), "one", of_size(2, 4)),
    "300I Duo whose controller does not answer": (hosts.host_duo(2, product=""), "one", of_size(2, 4)),
    "300I Duo by its other name": (hosts.host_duo(2, board=0x20, product="A300I Duo"), "one", of_size(2, 4)),
    "300I Duo beside plain cards": (hosts.host_duo(2, plain=2), "one", [[0, 1], [2, 3], [4], [5]]),
    "310P": (hosts.host_single("310P3"), "one", alone(2)),
    "310B": (hosts.host_single("Ascend310B1"), "one", alone(2)),
    "310": (hosts.host_single("310"), "one", alone(2)),
    "950": (hosts.host_950(), "two", alone(8)),
}


@pytest.mark.parametrize("host", HOSTS)
def test_rings_are_those_of_the_product(ascend: Make, opened: Open, host: str) -> None:
    chips, family, expected = HOSTS[host]
    driver = opened(ascend(chips, family))
    found = rings_of(driver.chips())
    assert [list(members) for members in found.values()] == [list(e) for e in expected]
    ids = [min(e) for e in expected]
    # A machine that is reset as one is ring 0, whichever chips it has.
    assert list(found) == ([0] if len(ids) == 1 else ids)
    assert driver.trouble() == ()


def test_a_missing_chip_is_in_no_ring_and_no_other_stands_in_for_it(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_910a(8))
    machine.list(0, listed=False)
    machine.list(5, listed=False)
    driver = opened(machine)
    assert rings_of(driver.chips()) == {0: (1, 2, 3), 4: (4, 6, 7)}
    assert driver.read([ChipId(0)])[0].error == "there is no such chip"


def test_physical_and_logical_ids_are_told_apart(ascend: Make, opened: Open) -> None:
    chips = tuple(FakeChip(n, 0, 7 - n, 0, "910B3", 1) for n in range(8))
    driver = opened(ascend(chips))
    assert [(c.id, c.logical, c.card) for c in driver.chips()] == [(n, 7 - n, 7 - n) for n in range(8)]


def test_a_chip_says_what_it_is(ascend: Make, opened: Open) -> None:
    chip = opened(ascend(hosts.host_duo(1))).chips()[1]
    assert (chip.id, chip.ring, chip.logical, chip.card, chip.device) == (1, 0, 1, 0, 1)
    assert chip.model == "310P3"
    assert chip.bus == "0000:81:00.0"
    assert chip.serial == "00001234-00000001-ABCDEF01-00000000-00000001"


def test_a_chip_that_does_not_say_what_it_is_takes_part_all_the_same(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_910b(8))
    for purpose in (Purpose.INFO, Purpose.PRODUCT):
        machine.answer(0, purpose, -8009)
    assert rings_of(opened(machine).chips()) == {0: tuple(range(8))}


def test_a_chip_without_a_number_is_left_out_and_said_to_be(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_910a(4))
    machine.answer(2, Purpose.IDS, -8009)
    driver = opened(machine)
    # Its logical id cannot be read either, so it is its card that is missing.
    assert [c.id for c in driver.chips()] == [0, 1, 3]
    assert "card 2 is left out" in driver.trouble()[0]
    assert "ioctl failed" in driver.trouble()[0]


def test_an_a3_card_that_does_not_tell_its_brother_is_found_by_what_the_brother_tells(
    ascend: Make, opened: Open
) -> None:
    machine = ascend(hosts.host_a3(2))
    for die in (0, 1):
        machine.answer(die, Purpose.BROTHER, -8009)
    driver = opened(machine)
    assert rings_of(driver.chips()) == {0: (0, 1, 8, 9)}
    assert "chip 0 does not tell its brother card" in driver.trouble()


def test_chips_of_no_known_type_are_refused(ascend: Make, opened: Open) -> None:
    with pytest.raises(DriverError, match="cannot tell what chips these are: 777 on board 0x20"):
        opened(ascend(hosts.host_single("777")))


@pytest.mark.parametrize(
    ("name", "board", "kind"),
    [
        ("910B3", 0xB0, Type.A910A3),
        ("anything", 0xD3, Type.A910A3),
        ("Ascend950PR", 0, Type.A950),
        ("310P3", 0, Type.A310P),
        ("310P", 0, Type.A310P),
        ("I2", 0, Type.A310P),
        ("Ascend310B4", 0, Type.A310B),
        ("Ascend310B4", 0xD1, Type.A310B),
        ("", 0xB0, Type.A910A3),
        ("x310B", 0, Type.A310B),
        ("310", 0, Type.A310),
        ("my310", 0, Type.A310),
        ("910B4", 0x28, Type.A910B),
        ("A2G1", 0, Type.A910B),
        ("910A", 0, Type.A910),
        ("910ProB", 0x28, Type.A910),
        ("Ascend910B", 0, Type.A910),
        ("950", 0, None),
        ("", 0, None),
    ],
)
def test_the_type_is_read_from_board_and_name_in_order(name: str, board: int, kind: Type | None) -> None:
    assert type_of(name, board) is kind


def test_duo_is_decided_card_by_card() -> None:
    duo = [Place(n, ChipId(n), 0, n, product="Atlas 300I Duo") for n in range(2)]
    plain = [Place(n, ChipId(n), 1, n - 2, product="Atlas 300V") for n in (2, 3)]
    found = rings([*duo, *plain], Type.A310P, Wiring())
    assert {chip: wired.ring for chip, wired in found.items()} == {0: 0, 1: 0, 2: 2, 3: 3}


def test_a_chip_that_hangs_at_the_start_is_left_out_and_taken_in_when_it_answers(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_910a(8))
    machine.hang(2, Purpose.INFO)
    machine.hang(5, Purpose.IDS)
    driver, told = opened(machine, timedelta(milliseconds=20), call_timeout=HANGS), Told()
    assert [c.id for c in driver.chips()] == [0, 1, 3, 4, 6, 7]
    assert [trouble.partition(" is left out: ")[0] for trouble in driver.trouble()] == ["card 5", "logical chip 2"]
    driver.watch(told)
    for chip, purpose in ((2, Purpose.INFO), (5, Purpose.IDS)):
        machine.hang(chip, purpose, hangs=False)
    eventually(lambda: driver.trouble() == ())
    assert rings_of(driver.chips()) == {0: (0, 1, 2, 3), 4: (4, 5, 6, 7)}


@pytest.mark.parametrize(("chips", "family"), [(hosts.host_910a(4), "one"), (hosts.host_950(4), "two")])
def test_a_chip_that_was_known_stays_known_when_its_number_cannot_be_read(
    ascend: Make, opened: Open, chips: tuple[FakeChip, ...], family: str
) -> None:
    machine = ascend(chips, family)
    driver = opened(machine)
    machine.answer(2, Purpose.IDS, -8009)
    before = driver.chips()
    assert driver._machine.look() == before
    assert driver.trouble() == ()
    assert not driver.read([ChipId(2)])[0].error


def test_an_a3_whose_brothers_are_not_known_is_said_to_be_so(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_a3(3))
    machine.list(3, listed=False)
    machine.answer(2, Purpose.IDS, -8009)
    for die in (0, 1, 4, 5):
        machine.answer(die, Purpose.BROTHER, -8009)
    driver = opened(machine)
    assert rings_of(driver.chips()) == {0: (0, 1), 8: (8, 9)}
    for die in (0, 1, 4, 5):
        machine.answer(die, Purpose.BROTHER, 0)
    machine.answer(2, Purpose.IDS, 0)
    driver._machine.look()
    assert rings_of(driver.chips()) == {0: (0, 1), 2: (2,), 8: (8, 9)}
    assert "chip 0 does not tell its brother card" in driver.trouble()


@pytest.mark.parametrize(
    ("host", "why"),
    [
        (hosts.host_910b(8), "Ascend910B; ring 0-7: HCCS links"),
        (hosts.host_910b_infer(3, 0x37), "Ascend910B; ring 0 / 1 / 2: no HCCS links"),
        (hosts.host_910a(8), "Ascend910; ring 0-3 / 4-7: work mode SMP"),
        (hosts.host_a3(2), "Ascend910A3; ring 0-1,8-9: its card and the brother of that"),
        (hosts.host_duo(1, plain=1), "Ascend310P; ring 0-1: a card of two chips; ring 2: Ascend310P: each alone"),
    ],
)
def test_each_ring_is_told_with_the_reason_for_it(
    ascend: Make, opened: Open, host: tuple[FakeChip, ...], why: str
) -> None:
    assert opened(ascend(host)).describe().endswith(f"with dcmi_*, {why}")


def test_where_the_topology_is_not_told_the_board_decides(ascend: Make, opened: Open) -> None:
    for board, ring in ((0x01, (0, 1, 2)), (0x37, (0,))):
        machine = ascend(hosts.host_910b_infer(3, board))
        for chip in range(3):
            machine.answer(chip, Purpose.TOPOLOGY, -8255)
        driver = opened(machine)
        assert rings_of(driver.chips())[RingId(0)] == ring
        assert f"board {board:#x}; HCCS not told" in driver.describe()


def test_one_chip_that_does_not_tell_its_links_leaves_those_of_the_others(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_910b(4, 0x33))
    machine.answer(0, Purpose.TOPOLOGY, 6)
    assert rings_of(opened(machine).chips()) == {0: (0, 1, 2, 3)}


@pytest.mark.parametrize(("amp", "expected"), [(1, alone(8)), (0, of_size(4, 8))])
def test_the_work_mode_of_a_910a_decides(
    ascend: Make, opened: Open, amp: int, expected: Sequence[Sequence[int]]
) -> None:
    machine = ascend(hosts.host_910a(8))
    machine.set("amp", amp)
    assert [list(chips) for chips in rings_of(opened(machine).chips()).values()] == expected


def test_a_910a_that_does_not_tell_its_work_mode_is_reset_by_four(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_910a(8))
    machine.answer(0, Purpose.TOPOLOGY, -8255)
    driver = opened(machine)
    assert len(rings_of(driver.chips())) == 2
    assert driver.describe().endswith("work mode not told")


def test_an_a3_needs_no_name(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_a3(2))
    for chip in range(4):
        machine.answer(chip, Purpose.INFO, -8005)
    assert rings_of(opened(machine).chips()) == {0: (0, 1, 8, 9)}
