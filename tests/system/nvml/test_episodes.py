"""Whole episodes on NVIDIA GPUs: the real service and driver, the stand-in library and nvidia-smi, real containers."""

import os

import pytest

from cmgr.drivers.nvml.library import abi
from tests.fakes.nvml import hosts
from tests.fakes.nvml.standin import FakeReset, Standin
from tests.support.service import Service
from tests.support.waiting import eventually
from tests.system import checks
from tests.system.containers import Containers, Spec
from tests.system.nvml.conftest import Furnish

pytestmark = pytest.mark.docker

FOUR = tuple(Spec(f"c{n}", str(n)) for n in range(4))
NAMES = [spec.name for spec in FOUR]

RESET_THE_GPU = 1


def occupy(machine: Standin, containers: Containers) -> None:
    """Put each container's process on its GPU."""
    for number, name in enumerate(NAMES):
        machine.process(number, containers.pid(name))


def recovered(service: Service) -> None:
    service.until_said("is over: recovered")
    service.until_over()


def test_a_gpu_that_the_driver_wants_reset_is_reset_alone(furnish: Furnish, containers: Containers) -> None:
    appliance = furnish(hosts.host_h100(4))
    service, machine = appliance.service, appliance.machine
    containers.run(*FOUR)
    occupy(machine, containers)
    service.start()
    machine.act(2, RESET_THE_GPU)
    recovered(service)
    # The first reset is refused if the service itself, or the container, still has the GPU open.
    assert machine.resets == (FakeReset(frozenset({2}), abi.OK),)
    checks.each_was_stopped_once(containers, ["c2"])


def test_gpus_that_are_reset_together_are_stopped_together(furnish: Furnish, containers: Containers) -> None:
    appliance = furnish(hosts.host_v100(4), release=535)
    service, machine = appliance.service, appliance.machine
    containers.run(*FOUR)
    occupy(machine, containers)
    service.start()
    # Only the kernel tells of it, and no driver of that release says what it asks for.
    machine.log("NVRM: Xid (PCI:0000:3c:00): 119, pid=1, name=python, Timeout after 6s of waiting for RPC response")
    recovered(service)
    assert machine.resets == (FakeReset(frozenset(range(4)), abi.OK),)
    checks.each_was_stopped_once(containers, NAMES)


def test_gpus_that_a_refusal_wants_reset_together_are_stopped_and_reset_together(
    furnish: Furnish, containers: Containers
) -> None:
    appliance = furnish(hosts.host_bridged(4))
    service, machine = appliance.service, appliance.machine
    containers.run(*FOUR)
    occupy(machine, containers)
    service.start()
    machine.act(2, RESET_THE_GPU)
    recovered(service)
    assert [reset.gpus for reset in machine.resets] == [{2}, set(range(4))]
    checks.each_was_stopped_once(containers, NAMES)


def test_an_error_of_a_program_costs_its_own_container_a_restart_and_nobody_else(
    furnish: Furnish, containers: Containers
) -> None:
    appliance = furnish(hosts.host_h100(4))
    service, machine = appliance.service, appliance.machine
    containers.run(*FOUR, Spec("neighbour", "1"))
    service.start()
    eventually(lambda: service.runs("c1") and service.runs("neighbour"), why="cmgr knows them")
    own, other = containers.pid("c1"), containers.pid("neighbour")
    head = f"NVRM: Xid (PCI:{machine.gpus[1].address.removesuffix('.0')}): "
    # Of a program that is in no container, and calls itself as a line goes on.
    machine.log(f"{head}31, pid={os.getpid()}, name=pid={other}, , Ch 00000008")
    service.until_said("it came of no container that runs, and concerns nobody else")
    machine.xid(1, 94)
    machine.log(f"{head}94, pid={own}, name=pid={other}, , Contained: SM (0x1)")
    service.until_said("it came of c1, and concerns nobody else")
    eventually(lambda: any("will be stopped" in note.text for note in service.notes()))
    service.until_over()
    assert machine.resets == ()
    checks.each_was_stopped_once(containers, ["c1"])


def test_a_gpu_that_fell_off_the_bus_is_isolated_and_the_others_go_on(furnish: Furnish, containers: Containers) -> None:
    appliance = furnish(hosts.host_h100(4), {"isolation.on_isolate": "stop"})
    service, machine = appliance.service, appliance.machine
    containers.run(*FOUR)
    service.start()
    machine.set("lost", 1, gpu=3)
    eventually(lambda: [c["id"] for c in service.status()["chips"] if c["isolated"]] == [3])
    eventually(lambda: not containers.is_running("c3"))
    # The others are heard and reset as ever.
    machine.act(0, RESET_THE_GPU)
    service.until_said("is over: recovered")
    assert machine.resets == (FakeReset(frozenset({0}), abi.OK),)
    eventually(lambda: [name for name in NAMES if containers.is_running(name)] == ["c0", "c1", "c2"])


def test_a_reset_that_is_refused_for_a_while_is_tried_until_nobody_is_in_its_way(
    furnish: Furnish, containers: Containers
) -> None:
    appliance = furnish(hosts.host_h100(4))
    service, machine = appliance.service, appliance.machine
    containers.run(*FOUR)
    service.start()
    machine.set("reset_answer", 19)
    machine.act(2, RESET_THE_GPU)
    service.until_reason("held open by", ring=2)
    machine.set("reset_answer", 0)
    recovered(service)
    checks.each_was_stopped_once(containers, ["c2"])


def test_a_service_that_was_killed_during_a_reset_ends_what_it_began(furnish: Furnish, containers: Containers) -> None:
    appliance = furnish(hosts.host_h100(4))
    service, machine = appliance.service, appliance.machine
    containers.run(*FOUR)
    service.start()
    machine.set("reset_hangs", 1)
    machine.act(2, RESET_THE_GPU)
    service.until_phase("resetting", ring=2)
    service.kill9()
    machine.set("reset_hangs", 0)
    service.start()
    recovered(service)
    checks.each_was_stopped_once(containers, ["c2"])


@pytest.mark.parametrize("release", [535, 580])
def test_a_gpu_whose_own_processor_died_is_reset_though_it_does_not_say_its_mig_mode(
    furnish: Furnish, containers: Containers, release: int
) -> None:
    appliance = furnish(hosts.host_h100(2), release=release)
    service, machine = appliance.service, appliance.machine
    containers.run(*FOUR[:2])
    machine.process(0, containers.pid("c0"))
    service.start()
    machine.crash_gsp(0)
    machine.log("NVRM: Xid (PCI:0000:3b:00): 119, pid=1, name=python, Timeout after 6s of waiting for RPC response")
    recovered(service)
    assert machine.resets == (FakeReset(frozenset({0}), abi.OK),)
    checks.each_was_stopped_once(containers, ["c0"])
