"""Whole services on GPUs that do not come up after their reset. Containers are pretended."""

import pytest

from cmgr.drivers.nvml.library import abi
from tests.fakes.nvml import hosts
from tests.support.service import Service
from tests.support.waiting import eventually
from tests.system.nvml.conftest import Appliance, Furnish

RESET_THE_GPU = 1


@pytest.fixture
def appliance(furnish_alone: Furnish) -> Appliance:
    made = furnish_alone(hosts.host_h100(2), {"reset.boot_timeout": "1s", "reset.backoff": "100ms"})
    made.service.pretend("a")
    made.service.start()
    return made


def isolated(service: Service) -> list[int]:
    return [chip["id"] for chip in service.status()["chips"] if chip["isolated"]]


def test_a_gpu_that_comes_out_of_its_reset_lost_is_isolated(appliance: Appliance) -> None:
    service, machine = appliance.service, appliance.machine
    machine.emerge(0, abi.GPU_IS_LOST)
    machine.act(0, RESET_THE_GPU)
    eventually(lambda: isolated(service) == [0])
    assert len(machine.resets) == 1
    (chip, _) = service.status()["chips"]
    assert [fault["code"] for fault in chip["faults"]] == ["E0020001"]


def test_one_that_wants_a_reset_after_each_is_isolated_when_the_budget_is_used_up(appliance: Appliance) -> None:
    service, machine = appliance.service, appliance.machine
    machine.emerge(0, abi.RESET_REQUIRED)
    machine.act(0, RESET_THE_GPU)
    eventually(lambda: isolated(service) == [0])
    assert len(machine.resets) == 3


def test_one_that_waits_for_its_fabric_is_used_when_it_has_waited_and_its_fault_stands(appliance: Appliance) -> None:
    service, machine = appliance.service, appliance.machine
    for name in ("fabric_state", "unmanaged"):
        machine.set(name, abi.FABRIC_COMPLETED)
    machine.act(0, RESET_THE_GPU)
    service.until_reason("chip 0 not booted yet: it waits for the Fabric Manager", ring=0)
    service.until_over()
    (chip, _) = service.status()["chips"]
    assert [fault["code"] for fault in chip["faults"]] == ["E0040001"]
    assert isolated(service) == []
