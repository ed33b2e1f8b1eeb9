"""Whole services on what a GPU asks for without haste: by a line of an older driver, and by a passing action."""

from pathlib import Path

import pytest

from cmgr.drivers.nvml.library import abi
from cmgr.service.door.client import order
from tests.fakes.nvml import hosts
from tests.fakes.nvml.standin import FakeReset
from tests.support.service import Service
from tests.support.waiting import eventually
from tests.system.episodes.test_levels import explained, rules
from tests.system.nvml.conftest import Furnish

RESET_GPU_0 = (FakeReset(frozenset({0}), abi.OK),)
STOP_PEERS, DRAIN = 3, 4


def soon(code: str, level: str) -> dict[str, object]:
    """Return the rule of five minutes with one second."""
    return {"EventId": [code], "FaultTimeout": 1, "RecoverTimeout": 0, "FaultHandling": level}


def raised(service: Service, code: str) -> list[str]:
    return [rule["handling"] for chip in explained(service, code)["chips"] for rule in chip["raised"]]


def test_a_line_of_an_older_driver_that_asks_for_a_reset_gets_one(furnish_alone: Furnish) -> None:
    appliance = furnish_alone(hosts.host_h100(2), {"resync": "60s"}, release=535)
    service, machine = appliance.service, appliance.machine
    service.pretend("a")
    service.start()
    said = "95, pid=7, Uncontained: LTC TAG (0x2). RST: Yes, D-RST: No"
    machine.log(f"NVRM: Xid (PCI:0000:{machine.gpus[0].bus:02x}:00): {said}")
    service.until_said("is over: recovered")
    assert machine.resets == RESET_GPU_0


@pytest.mark.parametrize("release", [535, 580])
def test_a_reset_that_is_asked_for_when_all_is_done_is_made_after_its_time(
    furnish_alone: Furnish, folder: Path, release: int
) -> None:
    code = "E0010004"
    table = rules(folder, FaultDuration=[soon(code, "FreeRestartNPU")])
    appliance = furnish_alone(hosts.host_h100(2), {"faults.rules": table}, release=release)
    service, machine = appliance.service, appliance.machine
    service.pretend("a")
    service.start()
    if release == 535:
        said = "94, pid=7, Contained: SM (0x1). RST: No, D-RST: Yes"
        machine.log(f"NVRM: Xid (PCI:0000:{machine.gpus[0].bus:02x}:00): {said}")
    else:
        machine.act(0, DRAIN)
    eventually(lambda: raised(service, code) == ["FreeRestartNPU"])
    service.until_said("the reset of chip 0 waits until nobody uses chip 0: a runs on")
    order(service.socket, "reset", chip=0, stop=True)
    service.until_said("is over: recovered")
    assert machine.resets == RESET_GPU_0


def test_peers_that_are_to_be_stopped_for_long_are_told_of_and_nobody_is_stopped(
    furnish_alone: Furnish, folder: Path
) -> None:
    code = "E0010003"
    appliance = furnish_alone(
        hosts.host_h100(2), {"faults.rules": rules(folder, FaultDuration=[soon(code, "SubHealthFault")])}
    )
    service, machine = appliance.service, appliance.machine
    service.pretend("a")
    service.start()
    machine.act(0, STOP_PEERS)
    eventually(lambda: raised(service, code) == ["SubHealthFault"])
    (told,) = service.status()["troubles"]
    assert told["text"] == f"{code} keeps new work from chip 0"
    assert (machine.resets, service.runs("a")) == ((), True)
    machine.act(0, 0)
    eventually(lambda: service.status()["troubles"] == [])
    assert (machine.resets, service.runs("a")) == ((), True)
