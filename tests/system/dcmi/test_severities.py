"""A code in no table, on whole services: the same by event, by read-out, and in the next life of cmgr."""

from typing import Any

from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.standin import Purpose
from tests.support.service import Service
from tests.support.waiting import eventually
from tests.system.dcmi.conftest import Furnish

SLIGHT, GRAVE = "80FE8001", "80FE8002"
CONTROLLERS = "8F180200"


def told(service: Service, chip: int) -> dict[str, Any]:
    (found,) = (c for c in service.status()["chips"] if c["id"] == chip)
    return {"isolated": found["isolated"], **{f["code"]: f["level"] for f in found["faults"]}}


def test_a_slight_fault_stays_slight_whoever_tells_of_it(furnish_alone: Furnish) -> None:
    appliance = furnish_alone(hosts.host_910b_infer(4))
    service, machine = appliance.service, appliance.machine
    machine.fault(0, SLIGHT, severity=1)
    service.start()
    slight = {"isolated": False, SLIGHT: "NotHandleFault"}
    eventually(lambda: told(service, 0) == slight, why="it was there before the service")
    machine.fault(1, SLIGHT, severity=1)
    eventually(lambda: told(service, 1) == slight, why="an event tells of it")
    machine.set("lose", 1)
    machine.fault(2, SLIGHT, severity=1)
    machine.fault(3, GRAVE, severity=3)
    eventually(lambda: told(service, 2) == slight, why="no event tells of it")
    eventually(lambda: told(service, 3) == {"isolated": True, GRAVE: "SeparateNPU"})
    service.terminate()
    service.start()
    assert [told(service, chip) for chip in range(3)] == [slight] * 3
    assert told(service, 3)["isolated"]


def test_a_sick_card_controller_makes_no_chip_silent_and_forgets_no_fault(furnish_alone: Furnish) -> None:
    appliance = furnish_alone(hosts.host_950(2), family="two")
    service, machine = appliance.service, appliance.machine
    machine.fault(0, CONTROLLERS, severity=3)
    service.start()
    isolated = {"isolated": True, CONTROLLERS: "SeparateNPU"}
    eventually(lambda: told(service, 0) == isolated)
    machine.answer(0, Purpose.CONTROLLER, -8006)
    machine.fault(0, SLIGHT, severity=1)
    eventually(lambda: told(service, 0) == {**isolated, SLIGHT: "NotHandleFault"})
    service.until_said("the card controller of chip 0 does not answer: its own faults are not known")
    machine.clear(0, SLIGHT)
    eventually(lambda: told(service, 0) == isolated, why="the chip's own fault is over, and the controller's is kept")
