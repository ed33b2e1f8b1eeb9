"""Whole episodes on Ascend chips: the real service and driver, the stand-in library, real containers."""

import json
from typing import Any

import pytest

from cmgr.drivers.dcmi.library.abi import CARD_DROPPED
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.standin import ALWAYS, Purpose, Standin
from tests.support.service import NOW, Service
from tests.support.waiting import eventually
from tests.system import checks
from tests.system.containers import Containers, Spec
from tests.system.dcmi.conftest import Furnish

pytestmark = pytest.mark.docker

BUSINESS = "8C204E00"
"""A fault of level RestartBusiness: its ring is reset when it has lasted."""

EIGHT = tuple(Spec(f"c{n}", str(n)) for n in range(8))
NAMES = [spec.name for spec in EIGHT]


def occupy(machine: Standin, containers: Containers) -> None:
    """Put each container's process on its chip."""
    for number, name in enumerate(NAMES):
        machine.process(number, containers.pid(name))


def chip(service: Service, number: int) -> dict[str, Any]:
    return next(c for c in service.status()["chips"] if c["id"] == number)


def recovered(service: Service) -> None:
    service.until_said("is over: recovered")
    service.until_over()


def test_a_fault_on_a_ring_of_eight_stops_and_starts_all(furnish: Furnish, containers: Containers) -> None:
    appliance = furnish(hosts.host_910b(8))
    service, machine = appliance.service, appliance.machine
    containers.run(*EIGHT)
    occupy(machine, containers)
    service.start()
    machine.fault(2, NOW)
    recovered(service)
    assert [(r.chip, r.channel, r.answer) for r in machine.resets] == [(2, 1, 0)]
    checks.each_was_stopped_once(containers, NAMES)


@pytest.mark.parametrize("family", ["one", "two"])
def test_single_recover_stops_one_alone_where_rings_are_single(
    furnish: Furnish, containers: Containers, family: str
) -> None:
    chips = hosts.host_910b_infer(8) if family == "one" else hosts.host_950(8)
    appliance = furnish(chips, {"strategy": "singleRecover"}, family)
    containers.run(*EIGHT)
    appliance.service.start()
    appliance.machine.fault(5, NOW)
    recovered(appliance.service)
    assert [r.chip for r in appliance.machine.resets] == [5]
    checks.each_was_stopped_once(containers, ["c5"])


def test_a_950_is_asked_for_by_its_logical_id_and_no_container_of_another_chip_is_stopped(
    furnish: Furnish, containers: Containers
) -> None:
    appliance = furnish(hosts.host_950_in_slots(2, 3, 5, 6, 9), family="two")
    service, machine = appliance.service, appliance.machine
    four = tuple(Spec(f"c{number}", str(number)) for number in range(4))
    containers.run(*four)
    for number in range(4):
        machine.process(number, containers.pid(f"c{number}"))
    service.start()
    told = {c["name"]: c["chips"] for c in service.status()["containers"]}
    assert told == {"c0": [2], "c1": [3], "c2": [5], "c3": [6]}
    machine.fault(2, NOW)
    recovered(service)
    assert [r.chip for r in machine.resets] == [2]
    checks.each_was_stopped_once(containers, ["c2"])
    assert service.cmgr("chips", "--available").out == "4\n", "chip 9, ready for the variable"
    assert service.cmgr("chips", "--available", "--count", "1", "--reserve", "60s").out == "4\n"
    assert [row.split()[:3] for row in service.cmgr("chips").out.splitlines()[1:]] == [
        [str(slot), "NPU", str(number)] for number, slot in enumerate((2, 3, 5, 6, 9))
    ]


def test_single_recover_on_a_ring_of_eight_waits_for_the_mates(furnish: Furnish, containers: Containers) -> None:
    appliance = furnish(hosts.host_910b(8), {"strategy": "singleRecover"})
    service, machine = appliance.service, appliance.machine
    containers.run(*EIGHT)
    occupy(machine, containers)
    service.start()
    machine.fault(2, NOW)
    service.until_reason("c0", "strategy ringRecover would stop it")
    assert [name for name in NAMES if not containers.is_running(name)] == ["c2"]
    for name in NAMES:
        if name != "c2":
            containers.stop(name)
    eventually(lambda: machine.resets)
    service.until_said("is over: recovered")
    eventually(lambda: containers.is_running("c2"))
    # A container that a person stopped is a person's to start.
    assert [name for name in NAMES if containers.is_running(name)] == ["c2"]


def test_a_fault_that_clears_by_itself_costs_no_reset(furnish: Furnish, containers: Containers) -> None:
    appliance = furnish(hosts.host_910b(8), {"levels.RestartBusiness.reset_after": "60s"})
    service, machine = appliance.service, appliance.machine
    containers.run(*EIGHT)
    service.start()
    machine.fault(3, BUSINESS)
    service.until_phase("waiting")
    machine.clear(3, BUSINESS)
    service.until_said("is over: cleared")
    service.until_over()
    assert machine.resets == ()
    checks.each_was_stopped_once(containers, NAMES)


def test_a_fault_that_lasts_is_reset(furnish: Furnish, containers: Containers) -> None:
    appliance = furnish(hosts.host_910b(8))
    containers.run(*EIGHT)
    appliance.service.start()
    appliance.machine.fault(3, BUSINESS)
    appliance.service.until_phase("waiting")
    assert not appliance.machine.resets
    recovered(appliance.service)
    assert [r.chip for r in appliance.machine.resets] == [3]
    checks.each_was_stopped_once(containers, NAMES)


def test_an_occurrence_that_was_lost_is_found(furnish: Furnish, containers: Containers) -> None:
    appliance = furnish(hosts.host_910b(8))
    service, machine = appliance.service, appliance.machine
    containers.run(*EIGHT)
    service.start()
    machine.set("lose", 1)
    machine.fault(1, NOW)
    recovered(service)
    assert [r.chip for r in machine.resets] == [1]
    checks.each_was_stopped_once(containers, NAMES)


def test_a_recovery_that_was_lost_is_found(furnish: Furnish, containers: Containers) -> None:
    appliance = furnish(hosts.host_910b(8), {"levels.RestartBusiness.reset_after": "60s"})
    service, machine = appliance.service, appliance.machine
    containers.run(*EIGHT)
    service.start()
    machine.fault(3, BUSINESS)
    service.until_phase("waiting")
    machine.set("lose", 1)
    machine.clear(3, BUSINESS)
    service.until_said("is over: cleared")
    service.until_over()
    assert machine.resets == ()


def test_a_reset_that_fails_twice_and_works_then(furnish: Furnish, containers: Containers) -> None:
    appliance = furnish(hosts.host_910b(8))
    service, machine = appliance.service, appliance.machine
    containers.run(*EIGHT)
    machine.set("fail_resets", 2)
    service.start()
    machine.fault(6, NOW)
    recovered(service)
    assert [r.answer for r in machine.resets] == [-8015, -8015, 0]
    assert "libdcmi says -8015 (reset failed)" in service.said()
    checks.each_was_stopped_once(containers, NAMES)


def test_a_reset_that_always_fails_isolates_the_chip_and_its_mates_go_on(
    furnish: Furnish, containers: Containers
) -> None:
    appliance = furnish(hosts.host_910b(8))
    service, machine = appliance.service, appliance.machine
    containers.run(*EIGHT)
    machine.set("fail_resets", ALWAYS)
    service.start()
    machine.fault(6, NOW)
    eventually(lambda: chip(service, 6)["isolated"])
    assert f"{NOW} is still there and 3 resets of its ring" in chip(service, 6)["reason"]
    mates = [name for name in NAMES if name != "c6"]
    eventually(lambda: all(containers.is_running(name) for name in mates))
    assert not containers.is_running("c6")
    assert len(machine.resets) == 3
    assert not any(chip(service, n)["isolated"] for n in range(8) if n != 6)


def test_a_call_that_hangs_makes_its_chip_silent_and_nothing_else(furnish: Furnish, containers: Containers) -> None:
    appliance = furnish(hosts.host_910a(8))
    service, machine = appliance.service, appliance.machine
    machine.set("by_board", 1)
    containers.run(*EIGHT)
    service.start()
    machine.hang(1, Purpose.CODES)
    eventually(lambda: "does not answer" in chip(service, 1)["reason"])
    # The other ring is recovered all the same.
    machine.fault(6, NOW)
    recovered(service)
    assert [r.chip for r in machine.resets] == [6]
    checks.each_was_stopped_once(containers, ["c4", "c5", "c6", "c7"])
    machine.hang(1, Purpose.CODES, hangs=False)
    eventually(lambda: chip(service, 1)["healthy"])


def test_a_dropped_card_is_recovered_when_it_says_who_uses_it(furnish: Furnish, containers: Containers) -> None:
    appliance = furnish(hosts.host_910b_infer(8))
    service, machine = appliance.service, appliance.machine
    containers.run(*EIGHT)
    service.start()
    machine.drop(4)
    machine.fault(4, CARD_DROPPED, severity=3)
    recovered(service)
    assert [(r.chip, r.answer) for r in machine.resets] == [(4, 0)]
    checks.each_was_stopped_once(containers, ["c4"])


def test_a_duo_card_is_reset_by_its_first_chip(furnish: Furnish, containers: Containers) -> None:
    appliance = furnish(hosts.host_duo(3, plain=2))
    containers.run(*EIGHT)
    appliance.service.start()
    appliance.machine.fault(3, NOW)
    recovered(appliance.service)
    assert [(r.chip, r.answer) for r in appliance.machine.resets] == [(2, 0)]
    checks.each_was_stopped_once(containers, ["c2", "c3"])


def test_a_process_on_a_chip_is_told_with_its_container(furnish: Furnish, containers: Containers) -> None:
    appliance = furnish(hosts.host_910b(8))
    service, machine = appliance.service, appliance.machine
    containers.run(*EIGHT)
    occupy(machine, containers)
    service.start()

    def process() -> dict[str, Any] | None:
        found = json.loads(service.cmgr("chips", "-o", "json").out)["chips"][3]["processes"]
        return dict(found[0]) if found else None

    told = eventually(process)
    assert told is not None
    assert told["pid"] == containers.pid("c3")
    assert told["container"] == containers.id("c3")
    assert told["name"] == "sh"


def test_killed_during_a_reset_it_looks_what_became_of_it(furnish: Furnish, containers: Containers) -> None:
    appliance = furnish(hosts.host_910b(8))
    service, machine = appliance.service, appliance.machine
    containers.run(*EIGHT)
    machine.set("boot_by_hand", 1)
    service.start()
    machine.fault(2, NOW)
    service.until_phase("verifying")
    service.kill9()
    service.start()
    service.until_phase("verifying")
    machine.finish_boots()
    recovered(service)
    assert len(machine.resets) == 1
    checks.each_was_stopped_once(containers, NAMES)
