"""A library that goes on telling what it found when it began: a new process alone knows the chips as they are."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from cmgr.drivers.dcmi.driver import STUCK_SECONDS, DcmiDriver
from cmgr.drivers.dcmi.library.topology import Place, Type, Wiring
from cmgr.drivers.dcmi.missing import could_be_hit
from cmgr.errors import ResetRefused
from cmgr.model.values.chips import ChipId
from cmgr.ports import Renewable
from tests.drivers.dcmi.driver import HANGS
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.fixtures import Make
from tests.fakes.dcmi.standin import FakeChip, Purpose
from tests.support.waiting import eventually

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
    assert driver.stale() == "the driver began without 1 card (/dev/davinci3)"
    assert driver.trouble() == ("the driver began without 1 card (/dev/davinci3)",)
    renewed = opened(machine.another_process())
    assert [chip.id for chip in renewed.chips()] == list(range(8))
    assert (renewed.stale(), renewed.trouble()) == ("", ())


def test_one_die_takes_its_whole_card_along(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_a3(4))
    machine.drop(2)
    driver = opened(machine)
    assert [chip.id for chip in driver.chips()] == [0, 1, 8, 9, 10, 11]
    assert driver.stale() == "the driver began without 1 card (/dev/davinci2, /dev/davinci3)"


def test_a_chip_that_drops_later_stays_listed(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_910b(8))
    driver = opened(machine)
    machine.drop(3)
    driver._machine.look()
    assert ChipId(3) in [chip.id for chip in driver.chips()]
    assert driver.stale() == ""


def test_a_chip_that_comes_when_the_library_has_begun_is_known_by_its_device_file(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_910b(8))
    machine.list(6, listed=False)
    driver = opened(machine)
    assert driver.stale() == ""
    machine.list(6, listed=True)
    assert driver.stale() == "the driver began without /dev/davinci6"
    assert driver.trouble() == ("the driver began without /dev/davinci6",)
    assert opened(machine.another_process()).stale() == ""


def test_device_files_of_vnpus_and_of_the_manager_are_no_chips(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_910b(8))
    for name in ("davinci_manager", "vdavinci100", "davinci12x", "hisi_hdc"):
        (machine.devices / name).touch()
    assert opened(machine).stale() == ""


def test_files_of_a_950_have_its_logical_ids(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_950_in_slots(2, 3, 5, 6), "two")
    assert opened(machine).stale() == ""
    (machine.devices / "davinci4").touch()
    assert opened(machine.another_process()).stale() == "the driver began without /dev/davinci4"


@pytest.mark.parametrize(
    ("chips", "gone", "ring"),
    [
        (hosts.host_910b(8), 3, [0, 1, 2, 4, 5, 6, 7]),
        (hosts.host_910b(16), 12, [*range(12), 13, 14, 15]),
        (hosts.host_910b(2), 1, [0]),
        (hosts.host_a3(4), 2, [10, 11]),
        (hosts.host_910a(8), 5, [4, 6, 7]),
        (hosts.host_910b(4, 0x33), 3, [0, 1, 2]),
    ],
)
def test_a_reset_that_could_hit_a_chip_that_is_not_known_is_refused(
    ascend: Make, opened: Open, chips: tuple[FakeChip, ...], gone: int, ring: list[int]
) -> None:
    machine = ascend(chips)
    machine.drop(gone)
    driver = opened(machine)
    machine.drop(gone, dropped=False)
    with pytest.raises(ResetRefused, match=r"began without 1 card .*, and such a reset could hit it; .* power cycle"):
        driver.reset([ChipId(n) for n in ring], [ChipId(ring[0])], frozenset())
    assert machine.resets == ()


@pytest.mark.parametrize(
    ("chips", "family", "gone", "ring"),
    [
        (hosts.host_910b_infer(4), "one", 3, [0]),
        (hosts.host_910b_infer(4, board=0x01), "one", 3, [0]),
        (hosts.host_910b_infer(2), "one", 1, [0]),
        (hosts.host_a3(4), "one", 6, [0, 1, 8, 9]),
        (hosts.host_910a(8), "one", 5, [0, 1, 2, 3]),
        (hosts.host_duo(2), "one", 2, [0, 1]),
        (hosts.host_950(4), "two", 3, [0]),
    ],
)
def test_a_reset_that_cannot_is_not(
    ascend: Make, opened: Open, chips: tuple[FakeChip, ...], family: str, gone: int, ring: list[int]
) -> None:
    machine = ascend(chips, family)
    machine.drop(gone)
    driver = opened(machine)
    assert driver.stale()
    machine.drop(gone, dropped=False)
    machine.set("by_board", 1)
    driver.reset([ChipId(n) for n in ring], [ChipId(ring[0])], frozenset())
    assert [reset.answer for reset in machine.resets] == [0]


@pytest.mark.parametrize(
    ("board", "product", "hit"), [(0x97, "", True), (0x99, "", True), (0, "Atlas 300I Duo", True), (0x20, "", False)]
)
def test_one_chip_of_a_card_of_two_takes_along_the_other_however_the_card_is_known(
    board: int, product: str, hit: bool
) -> None:
    assert could_be_hit([Place(2, ChipId(2), 1, 0, board, "310P3", product)], Type.A310P, Wiring()) is hit


def test_a_chip_that_does_not_say_its_number_could_be_hit_as_well(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_910b(8))
    machine.answer(3, Purpose.IDS, -8009)
    driver = opened(machine)
    ring = [ChipId(n) for n in (0, 1, 2, 4, 5, 6, 7)]
    with pytest.raises(ResetRefused, match=r"card 3 is left out: .*, and such a reset could hit it"):
        driver.reset(ring, [ChipId(0)], frozenset())
    assert driver.stale() == "", "it is listed"
    machine.answer(3, Purpose.IDS, 0)
    driver._machine.look()
    driver.reset([*ring, ChipId(3)], [ChipId(0)], frozenset())


def test_a_call_that_does_not_come_back_is_a_reason_but_for_a_reset(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_910b_infer(3))
    driver = opened(machine, call_timeout=HANGS, reset_timeout=timedelta(milliseconds=50))
    for chip, purpose in ((0, Purpose.CODES), (1, Purpose.RESET), (2, Purpose.GAUGE)):
        machine.hang(chip, purpose)
    assert driver.read([ChipId(0)])[0].error
    driver.measure([ChipId(2)])
    driver.reset([ChipId(1)], [ChipId(1)], frozenset())
    assert driver.stale() == "", "it may come back yet"
    for job in driver._caller._stuck.values():
        job.began -= STUCK_SECONDS
    assert driver.stale() == "", "nor is there another process in the midst of a reset"
    machine.hang(1, Purpose.RESET, hangs=False)
    driver.finish()
    assert driver.stale() == "a call about chip 0 has not come back for more than 60 s"
    for chip, purpose in ((0, Purpose.CODES), (2, Purpose.GAUGE)):
        machine.hang(chip, purpose, hangs=False)
    eventually(lambda: not driver.stale())


def test_a_duo_card_is_not_reset_with_one_chip_of_it_known(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_duo(2))
    machine.list(1, listed=False)
    driver = opened(machine)
    machine.list(1, listed=True)
    with pytest.raises(ResetRefused, match="began without /dev/davinci1, and such a reset could hit it"):
        driver.reset([ChipId(0)], [ChipId(0)], frozenset())
    driver.reset([ChipId(2), ChipId(3)], [ChipId(2)], frozenset())
    assert [reset.chip for reset in machine.resets] == [2]
