"""The process that drives the chips, apart from the service: its death costs nothing, and so does the service's."""

import json
import os
import signal

import pytest

from cmgr.drivers.program.launch import drivers_of
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.standin import Purpose
from tests.support.service import NOW, Service
from tests.support.waiting import eventually
from tests.system import checks
from tests.system.containers import Containers, Spec
from tests.system.dcmi.conftest import Furnish

EIGHT = tuple(Spec(f"c{n}", str(n)) for n in range(8))
NAMES = [spec.name for spec in EIGHT]


def driving(service: Service) -> list[int]:
    return drivers_of(service.pid)


def test_one_process_drives_the_chips_and_ends_with_the_service(furnish_alone: Furnish) -> None:
    service = furnish_alone(hosts.host_910b(8)).service
    service.start()
    (pid,) = driving(service)
    with open(f"/proc/{service.pid}/maps") as maps:
        assert "libdcmi" not in maps.read()
    found = json.loads(service.cmgr("check", "--json").out)["findings"]
    assert f"process {pid} drives them for the service, in the host" in [each["text"] for each in found]
    service.kill9()
    eventually(lambda: not os.path.exists(f"/proc/{pid}"))


@pytest.mark.docker
@pytest.mark.parametrize("when", ["before", "booting"])
def test_an_episode_goes_on_when_the_process_is_killed(furnish: Furnish, containers: Containers, when: str) -> None:
    appliance = furnish(hosts.host_910b(8))
    service, machine = appliance.service, appliance.machine
    machine.set("boot_by_hand", 1)
    containers.run(*EIGHT)
    service.start()
    if when == "before":
        os.kill(driving(service)[0], signal.SIGKILL)
    machine.fault(2, NOW)
    eventually(lambda: len(machine.resets) == 1, why="the ring is reset")
    if when == "booting":
        service.until_said("the driver took the reset")
        os.kill(driving(service)[0], signal.SIGKILL)
    machine.finish_boots()
    service.until_said("is over: recovered")
    service.until_over()
    assert len(machine.resets) == 1
    checks.each_was_stopped_once(containers, NAMES)
    service.until_said("had ended (killed by SIGKILL): another one does")


@pytest.mark.docker
def test_a_restart_of_cmgr_while_the_ring_boots_ends_with_every_container_running(
    furnish: Furnish, containers: Containers
) -> None:
    """A chip that boots while the library begins is not in its list for as long as that process lives."""
    appliance = furnish(hosts.host_910b(8))
    service, machine = appliance.service, appliance.machine
    machine.set("boot_by_hand", 1)
    containers.run(*EIGHT)
    service.start()
    machine.fault(2, NOW)
    eventually(lambda: len(machine.resets) == 1, why="the ring is reset")
    service.kill9()
    service.start()
    eventually(lambda: "began without" in str(service.status()["troubles"]), why="the library lacks the chips")
    machine.finish_boots()
    service.until_said("is over: recovered")
    service.until_over()
    assert len(machine.resets) == 1
    checks.each_was_stopped_once(containers, NAMES)
    eventually(lambda: service.status()["troubles"] == [])


def test_check_waits_for_no_library_that_takes_for_ever(furnish_alone: Furnish) -> None:
    appliance = furnish_alone(hosts.host_910b(8))
    appliance.machine.hang(0, Purpose.INIT)
    told = json.loads(appliance.service.cmgr("check", "--json").out)
    assert any("has not begun for 10 s" in each["text"] for each in told["findings"])
    appliance.machine.hang(0, Purpose.INIT, hangs=False)
