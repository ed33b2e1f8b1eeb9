"""Drills whose program is a child, and a unit of a real systemd: begun, ended, and told of."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from cmgr.drivers.dcmi.driver import DcmiDriver
from cmgr.errors import CmgrError
from cmgr.host.host import Host
from cmgr.model.values.chips import Chip, ChipId, RingId
from cmgr.model.values.faults import FaultCode
from cmgr.model.values.messages.commands import CommandId, ResetRing
from cmgr.model.values.messages.facts import Remarked
from cmgr.service.work.drilling import Drills
from tests.drivers.dcmi.driver import open_dcmi
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.build import Workshop
from tests.fakes.dcmi.fixtures import Make, ascend, workshop
from tests.fakes.dcmi.standin import Standin
from tests.support.daemons.systemd import Systemd
from tests.support.waiting import PATIENCE, eventually

__all__ = ["ascend", "workshop"]

CODE = "4C4BA00C"
LONG = timedelta(minutes=5)
OTHERS = frozenset({"80E24E00"})
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def machine(ascend: Make, workshop: Workshop) -> Standin:
    made = ascend(hosts.host_910b(8))
    workshop.place_hal(made.library)
    return made


@pytest.fixture
def driver(machine: Standin) -> Iterator[DcmiDriver]:
    opened = open_dcmi(machine)
    yield opened
    opened.close()


@pytest.fixture
def told() -> list[Remarked]:
    return []


@pytest.fixture
def drills(driver: DcmiDriver, told: list[Remarked]) -> Iterator[Drills]:
    made = Drills(driver, Host("", "systemd has not begun it"), told.append, lambda: NOW)
    yield made
    made.close()


@pytest.fixture
def by_systemd(driver: DcmiDriver, told: list[Remarked], systemd: Systemd) -> Iterator[Drills]:
    made = Drills(driver, Host(systemd.socket, ""), told.append, lambda: NOW)
    yield made
    made.close()


@pytest.fixture
def chip(driver: DcmiDriver) -> Chip:
    return driver.chips()[3]


def order(*codes: str, chips: int = 8) -> ResetRing:
    """Return the order of a reset of the first so many chips."""
    ring = tuple(map(ChipId, range(chips)))
    return ResetRing(CommandId("reset-1"), "", RingId(0), ring, ring[:1], frozenset(map(FaultCode, codes)))


def test_as_a_unit_of_systemd_it_is_raised_and_ended(
    by_systemd: Drills, machine: Standin, chip: Chip, told: list[Remarked]
) -> None:
    drill = by_systemd.begin(chip, LONG, "somebody")
    assert by_systemd.now is drill
    by_systemd.end("somebody else")
    assert drill.over.wait(PATIENCE)
    assert machine.get("resumed") == 1
    assert [each.text for each in told] == [
        f"somebody ordered a drill: the driver itself raises {CODE} on chip 3, for 5 min at most",
        "the drill on chip 3 is over: somebody else ended it",
    ]
    assert by_systemd.now is None


def test_a_reset_of_its_ring_waits_for_its_end_and_looks_for_no_fault_then(
    drills: Drills, machine: Standin, chip: Chip
) -> None:
    drill = drills.begin(chip, LONG, "somebody")
    assert drills.codes(order(CODE, *OTHERS)) == frozenset()
    assert drill.over.is_set()
    assert machine.get("resumed") == 1


def test_a_reset_for_other_faults_looks_for_these_still(drills: Drills, chip: Chip) -> None:
    drill = drills.begin(chip, LONG, "somebody")
    assert drills.codes(order(*OTHERS)) == OTHERS
    assert drill.over.is_set()


def test_a_reset_of_another_ring_does_not_end_it(drills: Drills, machine: Standin, chip: Chip) -> None:
    drill = drills.begin(chip, LONG, "somebody")
    assert drills.codes(order(CODE, chips=3)) == {CODE}
    assert not drill.over.is_set()
    assert machine.get("resumed") == 0


def test_without_a_drill_a_reset_is_as_it_was_ordered(drills: Drills) -> None:
    assert drills.codes(order(CODE)) == {CODE}


def test_a_driver_that_refuses_the_fault_is_told_and_the_next_drill_can_begin(
    drills: Drills, machine: Standin, chip: Chip, told: list[Remarked]
) -> None:
    machine.set("refuse_updates", 1)
    with pytest.raises(CmgrError, match=r"^cannot drill chip 3: cannot call halSensorNodeUpdateState .* says 3$"):
        drills.begin(chip, LONG, "somebody")
    eventually(lambda: len(told) == 2)
    assert told[1].loud
    assert told[1].text.startswith("the drill on chip 3 has raised no fault: cannot call halSensorNodeUpdateState")
    assert drills.begin(chip, LONG, "somebody").raised


def test_a_fault_that_cannot_be_ended_is_told_loudly(
    drills: Drills, machine: Standin, chip: Chip, told: list[Remarked]
) -> None:
    drill = drills.begin(chip, LONG, "somebody")
    machine.set("refuse_updates", 100)
    drills.end("somebody")
    assert drill.over.wait(PATIENCE)
    assert told[1].loud
    assert told[1].text.startswith(f"{CODE} of the drill on chip 3 may not be over: cannot call halSensorNodeUpdate")


def test_there_is_one_drill_at_a_time(drills: Drills, driver: DcmiDriver, chip: Chip) -> None:
    drills.begin(chip, LONG, "somebody")
    with pytest.raises(CmgrError, match=r"^cannot drill chip 5: somebody drills chip 3 just now$"):
        drills.begin(driver.chips()[5], LONG, "somebody else")


def test_what_is_not_under_way_cannot_be_ended(drills: Drills) -> None:
    with pytest.raises(CmgrError, match=r"^cannot end the drill: there is none$"):
        drills.end("somebody")
