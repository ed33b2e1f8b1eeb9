"""Calls of the library that never return, and a whole service beside them. Containers are pretended."""

from cmgr.drivers.nvml.library import abi
from tests.fakes.nvml import hosts
from tests.fakes.nvml.standin import FakeReset, Purpose
from tests.support.waiting import eventually
from tests.system.nvml.conftest import Furnish

SETTINGS = {"resync": "1s", "sweep": "1s", "nvml.call_timeout": "500ms"}

RESET_THE_GPU = 1

SILENT = "does not answer: a call of NVML has not come back"


def test_a_gpu_whose_calls_hang_keeps_no_other_from_its_recovery(furnish_alone: Furnish) -> None:
    appliance = furnish_alone(hosts.host_h100(4), SETTINGS)
    service, machine = appliance.service, appliance.machine
    service.pretend("a")
    service.start()
    machine.hang(2, Purpose.FIELD, for_good=True)
    eventually(lambda: f"the driver of chip 2 {SILENT}" in str(service.status()["troubles"]))
    machine.act(0, RESET_THE_GPU)
    service.until_said("is over: recovered")
    assert machine.resets == (FakeReset(frozenset({0}), abi.OK),)
    service.until_over()
    machine.hang(2, Purpose.FIELD, hangs=False)
    eventually(lambda: SILENT not in str(service.status()["troubles"]))


def test_nobody_is_stopped_for_a_gpu_that_cannot_be_let_go_of(furnish_alone: Furnish) -> None:
    appliance = furnish_alone(hosts.host_h100(2), SETTINGS)
    service, machine = appliance.service, appliance.machine
    service.pretend("a")
    service.start()
    machine.hang(0, Purpose.FIELD, for_good=True)
    eventually(lambda: f"the driver of chip 0 {SILENT}" in str(service.status()["troubles"]))
    machine.log("NVRM: Xid (PCI:0000:3b:00): 140, pid=1, name=python, Unrecovered ECC error")
    machine.act(1, RESET_THE_GPU)
    service.until_said("is over: recovered")
    assert service.ring(0)["phase"] == "healthy"
    assert "stopped" not in str(service.container("a"))
    machine.hang(0, Purpose.FIELD, hangs=False)
    service.until_said("is over: recovered", times=2)
    assert [reset.gpus for reset in machine.resets] == [{1}, {0}]
