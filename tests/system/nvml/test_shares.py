"""Whole episodes with MIG: the real service and driver, the stand-in library and nvidia-smi, real containers."""

import json
from typing import Any

import pytest

from tests.fakes.nvml import hosts
from tests.fakes.nvml.standin import Standin
from tests.support.service import Service
from tests.support.waiting import eventually
from tests.system import checks
from tests.system.containers import Containers, Spec
from tests.system.nvml.conftest import Appliance, Furnish

pytestmark = pytest.mark.docker

RESET_THE_GPU = 1


def uuid(machine: Standin, part: int) -> str:
    return f"MIG-{part}-{machine.gpus[0].uuid[4:]}"


@pytest.fixture
def divided(furnish: Furnish, containers: Containers) -> Appliance:
    """Return a machine whose first GPU is divided: containers on its parts by UUID and by place, one on the other."""
    made = furnish(hosts.host_h100(2), {"strategy": "singleRecover"})
    machine = made.machine
    made.service.configure({"nvml.mig_tool": str(machine.divider)})
    machine.divide(0, 2, forgets=True)
    containers.run(Spec("by-uuid", uuid(machine, 0)), Spec("by-place", "0:1"), Spec("other", "1"))
    return made


def shares(service: Service) -> list[dict[str, Any]]:
    chips = json.loads(service.cmgr("chips", "-o", "json").out)["chips"]
    return [share for chip in chips for share in chip["shares"]]


def recovered(service: Service) -> None:
    service.until_said("is over: recovered")
    service.until_over()


def test_parts_are_there_again_before_their_containers_are(divided: Appliance, containers: Containers) -> None:
    service, machine = divided.service, divided.machine
    machine.process(0, containers.pid("by-place"), instance=1)
    service.start()
    told = eventually(lambda: [s["containers"] for s in shares(service)])
    assert told == [["by-uuid"], ["by-place"]]
    machine.act(0, RESET_THE_GPU)
    recovered(service)
    assert machine.get("instances") == 2
    checks.each_was_stopped_once(containers, ["by-uuid", "by-place"])


def test_parts_that_the_driver_makes_again_by_itself_need_no_program(
    divided: Appliance, containers: Containers
) -> None:
    service, machine = divided.service, divided.machine
    machine.divide(0, 2)
    machine.set("no_parts", 1)  # The program would fail.
    service.start()
    eventually(lambda: len(shares(service)) == 2)
    machine.act(0, RESET_THE_GPU)
    recovered(service)
    checks.each_was_stopped_once(containers, ["by-uuid", "by-place"])
    assert not [note for note in service.notes() if note.text.startswith("make ")]


def test_who_asks_for_a_part_by_a_name_that_is_gone_waits_and_the_others_run(
    divided: Appliance, containers: Containers
) -> None:
    service, machine = divided.service, divided.machine
    service.start()
    machine.set("renames", 1)
    machine.act(0, RESET_THE_GPU)
    eventually(lambda: containers.is_running("by-place") and not containers.is_running("by-uuid"))
    told = eventually(
        lambda: next((c for c in service.status()["containers"] if "is not there since the reset" in c["reason"]), None)
    )
    assert told is not None
    assert (told["name"], uuid(machine, 16) in told["hint"]) == ("by-uuid", True)


def test_a_program_that_fails_keeps_the_containers_waiting_and_says_why(
    divided: Appliance, containers: Containers
) -> None:
    service, machine = divided.service, divided.machine
    service.start()
    eventually(lambda: len(shares(service)) == 2)
    machine.set("no_parts", 1)
    machine.act(0, RESET_THE_GPU)
    told = eventually(
        lambda: next((c for c in service.status()["containers"] if "is not there since the reset" in c["reason"]), None)
    )
    assert told is not None
    assert "nvml.mig_tool ended with 1: no MIG configuration for this GPU" in told["reason"]
    # Made by hand, they are found.
    machine.set("instances", 2)
    eventually(lambda: containers.all_running())
    checks.each_was_stopped_once(containers, ["by-uuid", "by-place"])


def test_a_fault_reaches_everybody_on_fractions_of_its_gpu_and_nothing_is_made_again(
    furnish: Furnish, containers: Containers
) -> None:
    made = furnish(hosts.host_h100(2), {"strategy": "singleRecover"})
    gpu, other = (gpu.uuid for gpu in made.machine.gpus)
    limits = [(f"CUDA_DEVICE_MEMORY_LIMIT_0={share}g", f"CUDA_DEVICE_SM_LIMIT={share}") for share in (8, 24, 40)]
    tenants = [Spec(f"part-{n}", gpu, environment=limit) for n, limit in enumerate(limits)]
    containers.run(*tenants, Spec("other", other, environment=limits[0]))
    made.service.start()
    eventually(lambda: made.service.runs("part-2") and made.service.runs("other"), why="cmgr knows them")
    chips = json.loads(made.service.cmgr("chips", "-o", "json").out)["chips"]
    assert [chip["containers"] for chip in chips] == [["part-0", "part-1", "part-2"], ["other"]]
    made.machine.act(0, RESET_THE_GPU)
    recovered(made.service)
    checks.each_was_stopped_once(containers, ["part-0", "part-1", "part-2"])
    assert len(made.machine.resets) == 1
    assert not [note for note in made.service.notes() if "again after" in note.text or note.text.startswith("make ")]
