"""Units of a real systemd that keep GPUs open: stopped for a reset, and started after it, whatever happens between."""

import pytest

from cmgr.drivers.nvml.library import abi
from cmgr.runtimes.systemd.unit import key
from tests.fakes.nvml import hosts
from tests.fakes.nvml.standin import FakeReset
from tests.runtimes.systemd.conftest import world
from tests.runtimes.systemd.world import SystemdWorld
from tests.support.waiting import eventually
from tests.system.nvml.conftest import Appliance, Furnish

__all__ = ["world"]

DCGM, OTHER = "dcgm.service", "other.service"

RESET_THE_GPU = 1


@pytest.fixture
def monitored(furnish_alone: Furnish, world: SystemdWorld) -> Appliance:
    """Furnish two GPUs that are in use as long as a unit runs."""
    settings = {"systemd.bus": world.systemd.socket, "nvml.stop_units": [DCGM]}
    appliance = furnish_alone(hosts.host_h100(2), settings)
    held = appliance.machine.library.with_name("held")
    start = f"/bin/sh -c 'touch {held}; exec sleep infinity'"
    world.define(DCGM, ExecStart=start, ExecStopPost=f"/bin/rm {held}")
    world.define(OTHER)
    for unit in (DCGM, OTHER):
        world.start(key(unit))
    eventually(held.exists)
    appliance.service.pretend("a")
    appliance.service.start()
    return appliance


def life(world: SystemdWorld, unit: str) -> str:
    return world.systemd.property(unit, "InvocationID")


def test_a_unit_that_keeps_gpus_open_is_stopped_for_the_reset_and_runs_again(
    monitored: Appliance, world: SystemdWorld
) -> None:
    service, machine = monitored.service, monitored.machine
    before, other = life(world, DCGM), life(world, OTHER)
    machine.act(1, RESET_THE_GPU)
    service.until_said("is over: recovered")
    assert machine.resets == (FakeReset(frozenset({1}), abi.OK),)
    eventually(lambda: world.running(key(DCGM)))
    assert life(world, DCGM) != before
    assert life(world, OTHER) == other
    service.until_said(f"{DCGM} is started again")
    assert f"{DCGM} is stopped for the reset of chip 1" in service.cmgr("history", "1").out


def test_killed_in_the_middle_of_a_reset_the_next_life_starts_it_once_that_is_over(
    monitored: Appliance, world: SystemdWorld
) -> None:
    service, machine = monitored.service, monitored.machine
    machine.set("persistent", 1, gpu=1)
    machine.set("reset_hangs", 1)
    machine.act(1, RESET_THE_GPU)
    service.until_phase("resetting", ring=1)
    eventually(lambda: not world.running(key(DCGM)))
    eventually(lambda: machine.get("hanging_resets") == 1)
    service.kill9()
    # It is on the disk and nowhere else: the setting is gone meanwhile.
    service.configure({"nvml.stop_units": []})
    service.start()
    service.until_reason("the call that resets chip 1 has not come back", ring=1)
    assert not world.running(key(DCGM))
    machine.set("reset_hangs", 0)
    service.until_said("is over: recovered")
    service.until_over()
    eventually(lambda: world.running(key(DCGM)))
    eventually(lambda: machine.get("persistent", gpu=1) == 1)
    assert machine.resets == (FakeReset(frozenset({1}), abi.OK),)


def test_a_unit_that_does_not_start_again_is_a_trouble_until_it_does(monitored: Appliance, world: SystemdWorld) -> None:
    service, machine = monitored.service, monitored.machine
    machine.set("reset_hangs", 1)
    machine.act(0, RESET_THE_GPU)
    eventually(lambda: not world.running(key(DCGM)))
    world.systemd.systemctl("mask", "--runtime", DCGM)
    try:
        machine.set("reset_hangs", 0)
        said = f"{DCGM}, stopped for a reset, does not start again: it is masked (hint: systemctl unmask {DCGM})"
        eventually(lambda: any(said in text for text in service.status()["service"]["troubles"]))
    finally:
        world.systemd.systemctl("unmask", "--runtime", DCGM)
    eventually(lambda: world.running(key(DCGM)))
    eventually(lambda: service.status()["service"]["troubles"] == [])
