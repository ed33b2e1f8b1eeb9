"""Resets that the driver does not begin: that is no failure, and who is in the way is said."""

from collections.abc import Callable, Sequence

import pytest

from cmgr.drivers.dcmi.driver import DcmiDriver
from cmgr.errors import DriverError, ResetRefused
from cmgr.model.values.chips import ChipId
from tests.drivers.contract import CODE
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.fixtures import Make
from tests.fakes.dcmi.standin import ALWAYS, FakeChip, Purpose, Standin

Open = Callable[..., DcmiDriver]
RING = [ChipId(n) for n in range(8)]


@pytest.fixture
def machine(ascend: Make) -> Standin:
    return ascend(hosts.host_910b(8))


def reset(driver: DcmiDriver, ring: Sequence[ChipId] = RING, faulty: int = 2) -> None:
    driver.reset(ring, [ChipId(faulty)], frozenset({CODE}))


def boots(machine: Standin, driver: DcmiDriver, ring: Sequence[ChipId]) -> None:
    """Have the ring reset, and boot for as long as the test wants."""
    machine.set("boot_by_hand", 1)
    driver.reset(ring, ring[:1], frozenset())


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (-8006, "somebody computes on a chip of it, or another reset of it is under way"),
        (-8008, "a chip of it starts, or is divided"),
        (-8012, "a chip of it is not ready"),
        (-8013, "the driver is busy"),
        (-8014, "the driver cannot write /etc/custom_process.cfg, which it does first; cmgr check says why"),
        (-8017, "its firmware is being upgraded"),
        (-8020, "a chip of it is occupied"),
        (-8002, "the driver lets only root on a bare machine reset chips, and takes cmgr for something else"),
        (-8255, "its driver resets no such chip; npu-smi set -t reset tells whether it does for anybody"),
        (19, "a chip of it is in no table of the driver"),
    ],
)
def test_what_has_begun_nothing_is_a_refusal_that_says_who_is_meant(
    machine: Standin, opened: Open, code: int, words: str
) -> None:
    driver = opened(machine)
    machine.fault(2, CODE)
    machine.answer(2, Purpose.RESET, code)
    with pytest.raises(ResetRefused, match=rf"^cannot reset chips 0-7: {words}$"):
        reset(driver)


@pytest.mark.parametrize("code", [-8005, -8009, -8010, -8011, -8015])
def test_all_else_is_a_failure(machine: Standin, opened: Open, code: int) -> None:
    driver = opened(machine)
    machine.fault(2, CODE)
    machine.answer(2, Purpose.RESET, code)
    with pytest.raises(DriverError) as caught:
        reset(driver)
    assert not isinstance(caught.value, ResetRefused)


@pytest.mark.parametrize("mode_answers", [0, -8255])
def test_a_910a_in_smp_is_not_reset_by_itself_and_what_does_is_said(
    ascend: Make, opened: Open, mode_answers: int
) -> None:
    machine = ascend(hosts.host_910a(8))
    machine.answer(0, Purpose.TOPOLOGY, mode_answers)
    driver = opened(machine)
    machine.fault(6, CODE)
    words = "cannot reset chips 4-7: in work mode SMP the driver resets no chip by itself, .* -i 4 -c 0 -m 1 does"
    with pytest.raises(ResetRefused, match=words):
        reset(driver, RING[4:], 6)
    machine.set("by_board", 1)
    reset(driver, RING[4:], 6)
    assert [r.answer for r in machine.resets] == [-8005, 0]


def test_a_910a_in_amp_whose_reset_has_an_internal_error_has_failed(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_910a(4))
    machine.set("amp", 1)
    driver = opened(machine)
    machine.fault(2, CODE)
    machine.answer(2, Purpose.RESET, -8005)
    with pytest.raises(DriverError) as caught:
        reset(driver, RING[2:3])
    assert not isinstance(caught.value, ResetRefused)


def test_a_question_of_another_program_is_let_pass_at_once(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    machine.fault(2, CODE)
    machine.set("queries", 3)
    reset(driver)
    assert [r.answer for r in machine.resets] == [-8001, -8001, -8001, 0]


@pytest.mark.parametrize("host", [hosts.host_910b, hosts.host_a3, hosts.host_910b_infer])
def test_a_program_that_never_stops_asking_is_told_after_four_tries(
    ascend: Make, opened: Open, host: Callable[[], tuple[FakeChip, ...]]
) -> None:
    machine = ascend(host())
    driver = opened(machine)
    machine.fault(2, CODE)
    machine.set("queries", ALWAYS)
    ring = [chip.id for chip in driver.chips() if chip.ring == driver.chips()[2].ring]
    with pytest.raises(ResetRefused, match=r"some program is just asking a chip of it something"):
        reset(driver, ring)
    assert [r.answer for r in machine.resets] == [-8001] * 4


def test_only_a_question_is_let_pass_at_once(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    machine.fault(2, CODE)
    machine.answer(2, Purpose.RESET, -8006)
    with pytest.raises(ResetRefused):
        reset(driver)
    assert machine.get("resets") == 0  # The answer is not the reset's own; there was one call.


def test_another_program_s_reset_is_a_refusal_until_it_is_over(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    machine.fault(5, CODE)
    machine.reset_by_other(2)
    with pytest.raises(ResetRefused, match=r"another reset of it is under way"):
        reset(driver, faulty=5)
    machine.reset_by_other(2, under_way=False)
    reset(driver, faulty=5)
    assert [r.answer for r in machine.resets] == [-8006, 0]


def test_of_an_a3_nobody_who_computes_is_meant(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_a3(2))
    driver = opened(machine)
    machine.fault(1, CODE)
    machine.reset_by_other(3)
    with pytest.raises(ResetRefused, match=r"^cannot reset chips 0-1,8-9: another reset of it is under way$"):
        reset(driver, hosts.BROTHERS, 1)


@pytest.mark.parametrize("os_loaded", [0, 1])
@pytest.mark.parametrize(("host", "first"), [(hosts.host_a3, 2), (hosts.host_910b_infer, 1)])
def test_while_a_chip_of_the_machine_boots_the_driver_resets_no_other(
    ascend: Make, opened: Open, host: Callable[[], tuple[FakeChip, ...]], first: int, os_loaded: int
) -> None:
    machine = ascend(host())
    driver = opened(machine)
    mates = [chip.id for chip in driver.chips() if chip.ring == driver.chips()[0].ring]
    boots(machine, driver, mates)
    machine.set("os_loaded", os_loaded)
    machine.fault(first, CODE)
    ring = [chip.id for chip in driver.chips() if chip.ring == driver.chips()[first].ring]
    if os_loaded:
        reset(driver, ring, first)  # It is in the driver's tables again: the others are free.
        return
    with pytest.raises(
        ResetRefused, match=r"^cannot reset chips? .+ has not booted, and before it has no chip .+ cycle"
    ):
        reset(driver, ring, first)
    machine.finish_boots()
    reset(driver, ring, first)


def test_a_machine_that_is_reset_as_one_waits_until_each_has_started(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    boots(machine, driver, RING)
    machine.set("os_loaded", 1)
    with pytest.raises(ResetRefused, match=r"chips 0-7 has not booted, and before it has no chip of this machine"):
        driver.reset(RING, [ChipId(2)], frozenset())


def test_a_chip_that_has_not_booted_is_named_as_that_before_it_is_reset_again(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_single("310P3", 2))
    driver = opened(machine)
    boots(machine, driver, [ChipId(1)])
    with pytest.raises(ResetRefused, match=r"^cannot reset chip 1: chip 1 has not booted$"):
        driver.reset([ChipId(1)], [ChipId(1)], frozenset())
    assert len(machine.resets) == 1


def test_where_chips_are_not_asked_for_one_another_one_that_boots_is_in_nobody_s_way(
    ascend: Make, opened: Open
) -> None:
    machine = ascend(hosts.host_950(3), "two")
    driver = opened(machine)
    boots(machine, driver, [ChipId(0)])
    machine.fault(2, CODE)
    reset(driver, [ChipId(2)])
    assert [r.answer for r in machine.resets] == [0, 0]
