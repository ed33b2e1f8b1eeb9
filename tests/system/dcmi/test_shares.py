"""Whole episodes with vNPUs: the real service and driver, the stand-in library, real containers."""

import json
from typing import Any

import pytest

from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.standin import Purpose
from tests.support.service import NOW, Service
from tests.support.waiting import eventually
from tests.system import checks
from tests.system.containers import Containers, Spec
from tests.system.dcmi.conftest import Appliance, Furnish

pytestmark = pytest.mark.docker

TENANTS = (
    Spec("named", "Ascend310P-4c-116-1"),
    Spec("numbered", "117", environment=("ASCEND_RUNTIME_OPTIONS=VIRTUAL",)),
    Spec("other", "0"),
)
VDEVICES = {116: "vir04", 117: "vir02"}


@pytest.fixture
def divided(furnish: Furnish, containers: Containers) -> Appliance:
    """Return a machine whose chip 1 is divided, with a container on each of its vNPUs and one on chip 0."""
    made = furnish(hosts.host_single("310P3", 2), {"strategy": "singleRecover"})
    made.machine.divide(1, v116="vir04", v117="vir02")
    containers.run(*TENANTS)
    return made


def shares(service: Service) -> list[dict[str, Any]]:
    chips = json.loads(service.cmgr("chips", "-o", "json").out)["chips"]
    return [share for chip in chips for share in chip["shares"]]


def test_vnpus_are_there_again_before_their_containers_are(divided: Appliance, containers: Containers) -> None:
    service, machine = divided.service, divided.machine
    service.start()
    assert [(s["id"], s["containers"]) for s in shares(service)] == [("116", ["named"]), ("117", ["numbered"])]
    machine.fault(1, NOW)
    service.until_said("is over: recovered")
    service.until_over()
    assert machine.vdevices(1) == VDEVICES
    checks.each_was_stopped_once(containers, ["named", "numbered"])


def test_killed_while_the_vnpus_are_made_it_goes_on(divided: Appliance, containers: Containers) -> None:
    service, machine = divided.service, divided.machine
    service.start()
    machine.hang(1, Purpose.MAKE_VDEVICE)
    machine.fault(1, NOW)
    service.until_reason("is made again", ring=1)
    service.kill9()
    assert machine.vdevices(1) == {}
    machine.hang(1, Purpose.MAKE_VDEVICE, hangs=False)
    service.start()
    service.until_said("is over: recovered")
    service.until_over()
    assert machine.vdevices(1) == VDEVICES
    assert len(machine.resets) == 1
    checks.each_was_stopped_once(containers, ["named", "numbered"])


def test_a_vnpu_that_cannot_be_made_keeps_its_container_waiting_until_a_person_makes_it(
    divided: Appliance, containers: Containers
) -> None:
    service, machine = divided.service, divided.machine
    service.start()
    machine.answer(1, Purpose.MAKE_VDEVICE, -8020)
    machine.fault(1, NOW)
    told = eventually(
        lambda: next((c for c in service.status()["containers"] if "is not there since the reset" in c["reason"]), None)
    )
    assert told is not None
    assert "libdcmi says -8020" in told["reason"]
    assert "npu-smi set -t create-vnpu -i 1 -c 0 -f" in told["hint"]
    assert [share["there"] for share in shares(service)] == [False, False]
    machine.divide(1, v116="vir04", v117="vir02")
    eventually(lambda: containers.all_running())
    checks.each_was_stopped_once(containers, ["named", "numbered"])
