"""Resets of chips that have left the bus, or lost their heartbeat: the very ones that are to bring them back."""

import os
from collections.abc import Callable

import pytest

from cmgr.drivers.dcmi.downs import Downs
from cmgr.drivers.dcmi.driver import DcmiDriver
from cmgr.drivers.dcmi.library.abi import CARD_DROPPED
from cmgr.errors import ResetRefused
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion
from tests.drivers.contract import Told
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.fixtures import Make
from tests.fakes.dcmi.standin import FakeChip, Purpose, Standin

Open = Callable[..., DcmiDriver]
SICK = ChipId(1)
DROPPED = frozenset({CARD_DROPPED})

HOSTS: dict[str, tuple[Callable[[], tuple[FakeChip, ...]], str]] = {
    "910B with HCCS": (hosts.host_910b, "one"),
    "910B without": (hosts.host_910b_infer, "one"),
    "A3": (hosts.host_a3, "one"),
    "310P": (lambda: hosts.host_single("310P3", 3), "one"),
    "Duo": (hosts.host_duo, "one"),
    "950": (hosts.host_950, "two"),
}


def mates(driver: DcmiDriver) -> list[ChipId]:
    ring = next(chip.ring for chip in driver.chips() if chip.id == SICK)
    return [chip.id for chip in driver.chips() if chip.ring == ring]


def faults(driver: DcmiDriver) -> list[str]:
    return [fault.code for fault in driver.read([SICK])[0].faults]


def dropped(machine: Standin, driver: DcmiDriver) -> DcmiDriver:
    """Let the sick chip, which is up, drop off its bus, and return the driver that was told of it."""
    told = Told()
    driver.watch(told)
    assert driver.read([SICK])[0].is_up
    machine.drop(SICK)
    machine.fault(SICK, CARD_DROPPED, severity=3)
    told.has(SICK, Assertion.OCCURRED, CARD_DROPPED)
    return driver


@pytest.mark.parametrize("product", HOSTS)
def test_a_chip_whose_bus_is_dead_is_reset_and_comes_back(ascend: Make, opened: Open, product: str) -> None:
    host, family = HOSTS[product]
    machine = ascend(host(), family)
    driver = dropped(machine, opened(machine))
    assert faults(driver) == [CARD_DROPPED]
    driver.reset(mates(driver), [SICK], DROPPED)
    assert [reset.answer for reset in machine.resets] == [0]
    assert (driver.read([SICK])[0].is_up, faults(driver)) == (True, [])


def no_list(machine: Standin) -> None:
    machine.gauge(SICK, health=3)
    machine.answer(SICK, Purpose.CODES, -8005)


@pytest.mark.parametrize(
    "lose", [lambda machine: machine.gauge(SICK, health=3), no_list], ids=["an empty list", "no list"]
)
@pytest.mark.parametrize("product", ["910B without", "A3"])
def test_a_lost_heartbeat_that_counts_as_a_fault_is_one_for_the_reset_too(
    ascend: Make, opened: Open, product: str, lose: Callable[[Standin], None]
) -> None:
    machine = ascend(HOSTS[product][0]())
    driver = opened(machine)
    driver._downs = Downs(foreign=0)
    assert driver.read([SICK])[0].is_up
    lose(machine)
    assert faults(driver) == [CARD_DROPPED]
    driver.reset(mates(driver), [SICK], DROPPED)
    assert [reset.answer for reset in machine.resets] == [0]


@pytest.mark.parametrize("by", ["a process", "the driver"])
def test_a_refusal_makes_no_chip_that_dropped_one_that_boots(ascend: Make, opened: Open, by: str) -> None:
    machine = ascend(hosts.host_910b_infer(2))
    driver = dropped(machine, opened(machine))
    if by == "a process":
        machine.process(SICK, os.getpid())
    else:
        machine.answer(SICK, Purpose.RESET, -8006)
    with pytest.raises(ResetRefused):
        driver.reset([SICK], [SICK], DROPPED)
    assert faults(driver) == [CARD_DROPPED]


def test_one_that_was_removed_is_no_longer_reset_and_that_is_said(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_910b(4))
    driver = opened(machine)
    machine.drop(SICK, removed=True)
    with pytest.raises(ResetRefused, match=r"chip 1 has not booted, .* only a power cycle"):
        driver.reset(mates(driver), [SICK], DROPPED)
