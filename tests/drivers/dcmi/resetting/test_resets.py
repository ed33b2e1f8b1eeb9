"""Resets: of which chip, by which way, and what is believed afterwards."""

import os
from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest

from cmgr.drivers.dcmi.driver import DcmiDriver
from cmgr.drivers.dcmi.library.abi import CARD_DROPPED
from cmgr.errors import DriverError, ResetRefused, chain
from cmgr.model.values.chips import ChipId
from tests.drivers.contract import CODE, OTHER_CODE
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.fixtures import Make
from tests.fakes.dcmi.standin import ALWAYS, FakeChip, FakeReset, Purpose, Standin
from tests.support.waiting import eventually

Open = Callable[..., DcmiDriver]
RING = [ChipId(n) for n in range(8)]


@pytest.fixture
def machine(ascend: Make) -> Standin:
    return ascend(hosts.host_910b(8))


def reset(driver: DcmiDriver, ring: Sequence[ChipId] = RING, faulty: int = 2, code: str = CODE) -> None:
    driver.reset(ring, [ChipId(faulty)], frozenset({code}))


@pytest.mark.parametrize(
    ("chips", "family", "ring"), [(hosts.host_910b(), "one", RING), (hosts.host_950(), "two", [ChipId(2)])]
)
def test_the_faulty_chip_is_reset_in_band_once(
    ascend: Make, opened: Open, chips: tuple[FakeChip, ...], family: str, ring: Sequence[ChipId]
) -> None:
    machine = ascend(chips, family)
    driver = opened(machine)
    machine.fault(2, CODE)
    reset(driver, ring)
    assert machine.resets == (FakeReset(2, 1, 0),)
    assert driver.read([ChipId(2)])[0].faults == ()


def test_of_several_faulty_chips_the_first_that_still_is_is_reset(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    machine.fault(5, CODE)
    machine.fault(3, OTHER_CODE)
    driver.reset(RING, [ChipId(1), ChipId(3), ChipId(5)], frozenset({CODE}))
    assert [r.chip for r in machine.resets] == [5]


def test_a_duo_card_is_reset_by_its_first_chip_and_another_card_beside_it_is_not(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_duo(2, plain=1))
    driver = opened(machine)
    machine.fault(3, CODE)
    machine.fault(4, CODE)
    reset(driver, [ChipId(2), ChipId(3)], 3)
    reset(driver, [ChipId(4)], 4)
    assert [(r.chip, r.answer) for r in machine.resets] == [(2, 0), (4, 0)]


@pytest.mark.parametrize(
    ("board", "product"), [(0x99, "Atlas 300I DuoA"), (0x97, ""), (0x20, "A300I DuoA"), (0x20, "300I Duo")]
)
def test_a_duo_is_known_by_its_board_or_by_any_of_its_names(
    ascend: Make, opened: Open, board: int, product: str
) -> None:
    machine = ascend(hosts.host_duo(2, board=board, product=product))
    driver = opened(machine)
    machine.fault(3, CODE)
    reset(driver, [ChipId(2), ChipId(3)], 3)
    assert [(r.chip, r.answer) for r in machine.resets] == [(2, 0)]


@pytest.mark.parametrize("host", [hosts.host_910b, hosts.host_a3])
def test_a_chip_that_answers_badly_is_not_the_one_that_is_named(
    ascend: Make, opened: Open, host: Callable[[], tuple[FakeChip, ...]]
) -> None:
    machine = ascend(host())
    driver = opened(machine)
    machine.fault(1, CODE)
    machine.answer(1, Purpose.BOOT, -8005)
    ring = [chip.id for chip in driver.chips() if chip.ring == driver.chips()[1].ring]
    reset(driver, ring, 1)
    assert [(r.chip, r.answer) for r in machine.resets] == [(0, 0)]


def test_a_die_of_an_a3_card_is_reset_itself(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_a3(2))
    driver = opened(machine)
    machine.fault(3, CODE)
    reset(driver, hosts.BROTHERS, 9)
    assert machine.resets == (FakeReset(3, 1, 0),)


def test_a_dropped_card_can_be_the_reason(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    machine.answer(2, Purpose.HEALTH, -8012)
    reset(driver, code=CARD_DROPPED)
    assert [r.chip for r in machine.resets] == [2]


def test_a_dropped_card_that_does_not_say_who_uses_it_is_not_reset(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    machine.answer(2, Purpose.HEALTH, -8012)
    machine.answer(2, Purpose.PROCESS, -8005)
    with pytest.raises(ResetRefused, match="chip 2 does not answer the question who uses it"):
        reset(driver, code=CARD_DROPPED)
    assert machine.resets == ()


def test_who_uses_a_chip_is_named(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    machine.fault(2, CODE)
    machine.process(7, os.getpid())
    with pytest.raises(ResetRefused, match=rf"process {os.getpid()} \(.+\) is on chip 7"):
        reset(driver)


def test_a_reset_that_fails_says_why_and_can_be_tried_again(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    machine.fault(2, CODE)
    machine.set("fail_resets", 1)
    with pytest.raises(DriverError) as caught:
        reset(driver)
    assert chain(caught.value) == ("cannot reset chips 0-7: cannot reset the chip: libdcmi says -8015 (reset failed)")
    assert driver.read([ChipId(2)])[0].booted
    reset(driver)
    assert [r.answer for r in machine.resets] == [-8015, 0]


def test_out_of_band_is_tried_only_where_it_is_set(machine: Standin, opened: Open) -> None:
    machine.set("fail_resets", ALWAYS)
    machine.set("channel", 1)
    machine.fault(2, CODE)
    with pytest.raises(DriverError):
        reset(opened(machine))
    assert [r.channel for r in machine.resets] == [1]
    reset(opened(machine, out_of_band=True))
    assert [r.channel for r in machine.resets] == [1, 1, 0]
    assert machine.resets[-1].answer == 0


def test_out_of_band_needs_a_channel(machine: Standin, opened: Open) -> None:
    machine.set("fail_resets", ALWAYS)
    machine.fault(2, CODE)
    with pytest.raises(DriverError, match="its out-of-band channel cannot be used"):
        reset(opened(machine, out_of_band=True))
    machine.answer(2, Purpose.CHANNEL, -8255)
    with pytest.raises(DriverError, match="its out-of-band channel cannot be used"):
        reset(opened(machine, out_of_band=True))


@pytest.mark.parametrize("purpose", [Purpose.PRE_RESET, Purpose.RESCAN])
def test_an_out_of_band_reset_may_fail_too(machine: Standin, opened: Open, purpose: Purpose) -> None:
    machine.set("fail_resets", ALWAYS)
    machine.set("channel", 1)
    machine.fault(2, CODE)
    machine.answer(2, purpose, -8011)
    with pytest.raises(DriverError, match="out of band either") as caught:
        reset(opened(machine, out_of_band=True))
    assert "-8011" in chain(caught.value)


def test_until_it_has_booted_a_chip_that_is_not_ready_has_not_dropped(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    machine.set("boot_by_hand", 1)
    machine.fault(2, CODE)
    reset(driver)
    machine.drop(5)
    for report in driver.read(RING):
        assert (report.booted, report.faults, report.error) == (False, (), "")
    machine.finish_boots()
    assert all(report.booted and not report.faults for report in driver.read(RING))


def test_a_call_that_is_under_way_is_no_failure_and_its_chips_are_in_a_reset(machine: Standin, opened: Open) -> None:
    driver = opened(machine, reset_timeout=timedelta(milliseconds=50))
    machine.fault(2, CODE)
    machine.hang(2, Purpose.RESET)
    reset(driver)
    assert driver.trouble() == ("the call that resets chips 0-7 has not come back for longer than dcmi.reset_timeout",)
    assert [(r.booted, r.in_reset, r.error) for r in driver.read(RING)] == [(False, True, "")] * 8
    for code in (frozenset({CODE}), frozenset[str]()):
        with pytest.raises(ResetRefused, match="an earlier reset is under way"):
            driver.reset(RING, [ChipId(2)], code)
    (machine.devices / "davinci8").touch()
    assert driver.stale() == "", "no other process begins in its midst"
    machine.hang(2, Purpose.RESET, hangs=False)
    driver.finish()
    assert driver.trouble() == ("the driver began without /dev/davinci8",)
    assert driver.stale() == "the driver began without /dev/davinci8"
    (machine.devices / "davinci8").unlink()
    assert [r.answer for r in machine.resets] == [0]
    assert [r.booted for r in driver.read(RING)] == [True] * 8


def test_an_a3_waits_in_the_call_for_a_process_that_came_too_late(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_a3(2))
    driver = opened(machine, reset_timeout=timedelta(milliseconds=50))
    machine.set("late_process", os.getpid())
    driver.reset(hosts.BROTHERS, [ChipId(0)], frozenset())
    assert all(r.in_reset for r in driver.read(hosts.BROTHERS))
    machine.process(0, os.getpid(), 0)
    eventually(lambda: driver.read([ChipId(0)])[0].booted)


def test_a_library_that_hangs_elsewhere_is_not_ordered_a_reset(machine: Standin, opened: Open) -> None:
    driver = opened(machine, call_timeout=timedelta(milliseconds=100))
    machine.hang(2, Purpose.PROCESS)
    with pytest.raises(ResetRefused, match="chip 2 does not answer the question who uses it"):
        driver.reset(RING, [ChipId(2)], frozenset())
    with pytest.raises(ResetRefused):
        driver.reset(RING, [ChipId(2)], frozenset())
    assert machine.get("resets") == 0
    machine.hang(2, Purpose.PROCESS, hangs=False)


def test_who_uses_the_chips_is_asked_right_before_each_call(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    machine.fault(2, CODE)
    machine.set("queries", 1)
    machine.set("late_process", os.getpid())
    with pytest.raises(ResetRefused, match=rf"process {os.getpid()} .* is on chip 2"):
        reset(driver)
    assert [r.answer for r in machine.resets] == [-8001]


def test_chips_of_two_rings_are_not_reset_together(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_910a(8))
    driver = opened(machine)
    machine.fault(2, CODE)
    with pytest.raises(DriverError, match="not of one ring"):
        reset(driver, [ChipId(2), ChipId(4)])
    assert machine.resets == ()


def test_a_closed_driver_resets_nothing(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    machine.fault(2, CODE)
    driver.close()
    with pytest.raises(DriverError, match="the driver is closed"):
        reset(driver)
    assert machine.resets == ()
