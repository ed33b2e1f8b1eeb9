"""A chip driver that hangs, errs, vanishes, and tells too much or nonsense: the service runs on, and says so.

The containers are pretended ones on chip 0, in the ring of chips 0-3; what is sick is a chip of the ring 4-7.
"""

import json
import signal
from pathlib import Path

import pytest

from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.standin import Purpose, Standin
from tests.sick.wellbeing import ROOM, memory, recovered, survived, threads, until_ready, until_told, well
from tests.support.figures import Figures
from tests.support.service import LATER, NOW, Service
from tests.support.waiting import eventually
from tests.system.dcmi.conftest import Appliance, Furnish

SECTION = "Sick drivers"

SICK = 5

UNREADABLE = -8009
"""The answer of a call whose ioctl failed."""


@pytest.fixture
def appliance(furnish_alone: Furnish) -> Appliance:
    made = furnish_alone(hosts.host_910a(8), {"dcmi.reset_timeout": "1s", "isolation.release_after": "1s"})
    made.service.pretend("one")
    made.machine.set("by_board", 1)
    return made


def chip(service: Service, number: int) -> dict[str, object]:
    return dict(next(c for c in service.status()["chips"] if c["id"] == number))


def is_served(service: Service, machine: Standin, number: int = 0) -> None:
    """Check that a fault of this chip leads to one reset, and that the container runs again."""
    before = len(machine.resets)
    machine.fault(number, NOW)
    service.until_said("is over: recovered", times=service.said().count("is over: recovered") + 1)
    assert [r.chip for r in machine.resets[before:]] == [number]
    runs(service)


def runs(service: Service) -> None:
    def running() -> bool:
        found = service.container("one")
        return found is not None and found["status"] == "running"

    eventually(running, why="the container runs")


@pytest.mark.parametrize("purpose", [Purpose.CODES, Purpose.HEALTH, Purpose.PROCESS, Purpose.BOOT])
def test_a_call_that_hangs_makes_its_chip_silent_and_no_other(
    appliance: Appliance, purpose: Purpose, figures: Figures
) -> None:
    service, machine = appliance.service, appliance.machine
    service.start()
    machine.hang(SICK, purpose)
    machine.fault(SICK, NOW)
    eventually(lambda: "has not" in str(chip(service, SICK)["reason"]), why="the chip is silent")
    is_served(service, machine)
    assert threads(service) < 64
    machine.hang(SICK, purpose, hangs=False)
    eventually(lambda: [r.chip for r in machine.resets].count(SICK) == 1, why="it is served when it answers")
    recovered(service, episodes=2)
    assert all(chip["healthy"] for chip in json.loads(service.cmgr("chips", "-o", "json").out)["chips"])
    survived(figures, SECTION)


def test_a_list_that_hangs_is_told_and_the_chips_that_are_known_are_served(
    appliance: Appliance, figures: Figures
) -> None:
    service, machine = appliance.service, appliance.machine
    service.start()
    machine.hang(0, Purpose.LIST)
    until_told(service, "the chips cannot be listed", "degraded")
    is_served(service, machine)
    machine.hang(0, Purpose.LIST, hangs=False)
    well(service)
    survived(figures, SECTION)


def test_a_reset_that_hangs_holds_up_no_other_ring(appliance: Appliance, figures: Figures) -> None:
    service, machine = appliance.service, appliance.machine
    service.configure({"reset.at_once": 2, "reset.attempts": 10})
    service.start()
    machine.hang(SICK, Purpose.RESET)
    machine.fault(SICK, NOW)
    service.until_phase("resetting", ring=4)
    is_served(service, machine)
    service.until_said("the call that resets chips 4-7 has not come back for longer than dcmi.reset_timeout")
    machine.hang(SICK, Purpose.RESET, hangs=False)
    recovered(service, episodes=2)
    survived(figures, SECTION)


# A library that takes its time to begin is waited for.
@pytest.mark.parametrize(("purpose", "hangs"), [(Purpose.LIST, True), (Purpose.LIST, False), (Purpose.INIT, False)])
def test_a_driver_that_does_not_begin_is_told_soon_and_taken_when_it_does(
    appliance: Appliance, purpose: Purpose, hangs: bool, figures: Figures
) -> None:
    service, machine = appliance.service, appliance.machine
    service.start()
    machine.fault(0, LATER)
    service.until_phase("waiting")
    service.kill9()
    if hangs:
        machine.hang(0, purpose)
    else:
        machine.answer(0, purpose, UNREADABLE)
    service.launch()
    service.until_said("no chip is watched: cannot ")
    service.until_said("has not answered for" if hangs else "libdcmi says -8009")
    (trouble,) = (each for each in service.status()["troubles"] if each["kind"] == "unknown-chips")
    assert trouble["why"].startswith("cannot ")
    machine.hang(0, purpose, hangs=False)
    machine.answer(0, purpose, 0)
    recovered(service)
    survived(figures, SECTION)


def test_a_subscription_that_hangs_leaves_no_chip_unheard(appliance: Appliance, figures: Figures) -> None:
    service, machine = appliance.service, appliance.machine
    machine.hang(0, Purpose.SUBSCRIBE)
    service.start()
    until_told(service, "the driver tells of no faults", "degraded")
    is_served(service, machine)
    machine.hang(0, Purpose.SUBSCRIBE, hangs=False)
    until_ready(service)
    is_served(service, machine)
    well(service)
    survived(figures, SECTION)


EVERY_CALL = [p for p in Purpose if p not in (Purpose.INIT, Purpose.SUBSCRIBE)]


def test_errors_on_every_call_are_told_and_nothing_is_reset_blindly(appliance: Appliance, figures: Figures) -> None:
    service, machine = appliance.service, appliance.machine
    service.start()
    runs(service)
    for number in range(8):
        for purpose in EVERY_CALL:
            machine.answer(number, purpose, UNREADABLE)
    eventually(lambda: not any(c["healthy"] for c in service.status()["chips"]), why="every chip is silent")
    until_told(service, "libdcmi says -8009")
    machine.fault(0, NOW)
    service.until_reason("reports none of 80E24E00 any more")
    assert not machine.resets
    assert service.cmgr("status", "--check").code == 4
    for number in range(8):
        for purpose in EVERY_CALL:
            machine.answer(number, purpose, 0)
    recovered(service)
    assert [r.chip for r in machine.resets] == [0]
    survived(figures, SECTION, faults=8 * len(EVERY_CALL))


def test_a_library_that_vanishes_is_missed_at_the_next_start_only(appliance: Appliance, figures: Figures) -> None:
    service, machine = appliance.service, appliance.machine
    service.start()
    hidden = machine.library.with_suffix(".hidden")
    machine.library.rename(hidden)
    is_served(service, machine)
    machine.fault(0, LATER)
    service.until_phase("waiting")
    service.kill9()
    service.launch()
    service.until_said("there is no such file")
    _wreck(machine.library, hidden)
    service.until_said("it is cut short")
    told = service.cmgr("status")
    assert (told.code, "paused" in told.out, "not well" in told.out) == (0, True, True)
    machine.library.unlink()
    hidden.rename(machine.library)
    recovered(service, episodes=2)
    survived(figures, SECTION, faults=2)


def _wreck(library: Path, whole: Path) -> None:
    """Make a library that was not copied to its end."""
    library.write_bytes(whole.read_bytes()[:4096])
    library.chmod(0o644)


def test_events_of_no_fault_and_of_chips_that_are_none_change_nothing(appliance: Appliance, figures: Figures) -> None:
    service, machine = appliance.service, appliance.machine
    service.start()
    runs(service)
    before = memory(service)
    strange = [8, 63, 64, 255, 256, 65535, *range(1000, 1200)]
    for number in strange:
        machine.fault(number, NOW)
        machine.fault(number, "00000000")
    machine.fault(SICK, "00000000")
    is_served(service, machine)
    assert len(service.status()["chips"]) == 8
    assert len(service.episodes()) == 1
    assert memory(service) < before + ROOM
    machine.clear(SICK, "00000000")
    well(service)
    survived(figures, SECTION, faults=2 * len(strange) + 1)


@pytest.mark.parametrize(
    ("flaps", "events"), [(False, 6_000), (True, 20_000)], ids=["occurs again and again", "comes and goes"]
)
def test_a_storm_of_one_handled_fault_ends_in_order_and_another_ring_is_served(
    appliance: Appliance, flaps: bool, events: int, figures: Figures
) -> None:
    service, machine = appliance.service, appliance.machine
    service.start()
    runs(service)
    before, was = memory(service), service.database.stat().st_size
    machine.set("storm_code", int(NOW, 16) - 2**32)
    machine.set("storm_flaps", int(flaps))
    machine.storm(SICK, events, 2000, 1)
    eventually(lambda: machine.get("storm_left") < events - 1000)
    is_served(service, machine)
    assert machine.get("storm_left") > 0, "the storm was not over by then"
    eventually(lambda: machine.get("storm_left") == 0)
    assert memory(service) < before + ROOM
    assert service.database.stat().st_size < was + 8 * 2**20
    _calmed(service, machine)
    well(service)
    survived(figures, SECTION, faults=events)


def test_a_fault_that_flaps_fifty_times_a_second_costs_no_more_than_the_budget_and_ends_well(
    appliance: Appliance, figures: Figures
) -> None:
    service, machine = appliance.service, appliance.machine
    service.start()
    runs(service)
    machine.set("storm_code", int(NOW, 16) - 2**32)
    machine.set("storm_flaps", 1)
    machine.storm(0, 250, 50, 1)
    eventually(lambda: machine.get("storm_left") < 200)
    machine.fault(SICK, NOW)
    eventually(lambda: [r.chip for r in machine.resets].count(SICK) == 1, why="the other ring is served meanwhile")
    eventually(lambda: machine.get("storm_left") == 0)
    runs(service)
    service.until_over()
    assert sum(r.chip == 0 and r.answer == 0 for r in machine.resets) <= 3
    well(service)
    survived(figures, SECTION, faults=250)


def _calmed(service: Service, machine: Standin) -> None:
    """Wait until the chip is in use again, and check that it was reset within the budget."""
    service.until_over()
    eventually(lambda: not chip(service, SICK)["isolated"], why="its isolation ends by itself")
    runs(service)
    assert sum(r.chip == SICK and r.answer == 0 for r in machine.resets) <= 3


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_as_it_should_though_calls_hang_and_the_library_calls_back(
    appliance: Appliance, how: signal.Signals, figures: Figures
) -> None:
    service, machine = appliance.service, appliance.machine
    service.start()
    machine.storm(SICK, 1_000_000, 20_000, 100)
    for number in range(4, 8):
        machine.hang(number, Purpose.CODES)
    machine.fault(0, LATER)
    service.until_phase("waiting")
    eventually(lambda: "has not" in str(chip(service, SICK)["reason"]))
    assert service.end(how) == 0
    machine.storm(SICK, 0, 1, 1)
    for number in range(4, 8):
        machine.hang(number, Purpose.CODES, hangs=False)
    service.start()
    recovered(service)
    survived(figures, SECTION, faults=5)
