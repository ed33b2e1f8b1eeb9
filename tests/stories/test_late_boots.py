"""A chip that boots longer than the others, on Ascend chips that the maker's stand-in library pretends.

Tried in 2026 on cmgr as it was: a chip that needed more than `reset.boot_timeout` was reset again in mid-boot, twice,
and isolated; its service stayed down though the chip was well some seconds later. And all seven others waited for it.
The maker's own tool waits 360 s, newer ones of his 540, others 180: he does not know one number either.
"""

import pytest

from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.fixtures import ascend, workshop
from tests.support.service import NOW
from tests.support.waiting import eventually
from tests.system.containers import Containers, Spec
from tests.system.dcmi.conftest import Furnish, furnish

__all__ = ["ascend", "furnish", "workshop"]

pytestmark = pytest.mark.docker

SHORT = {"reset.boot_timeout": "2s", "reset.backoff": "100ms", "retry.settle": "0s"}


def test_a_chip_that_boots_long_keeps_no_other_waiting_and_is_used_when_it_is_up(
    furnish: Furnish, containers: Containers
) -> None:
    appliance = furnish(hosts.host_910b(8), SHORT)
    service, machine = appliance.service, appliance.machine
    machine.set("boot_by_hand", 1)
    containers.run(*(Spec(f"c{n}", str(n)) for n in range(8)))
    service.start()
    machine.fault(2, NOW)
    service.until_phase("verifying")
    machine.finish_boots(but=2)
    others = [name for name in containers.names if name != "c2"]
    eventually(lambda: all(map(containers.is_running, others)), why="they do not wait for chip 2")
    eventually(lambda: "it has not come up since its reset" in str(service.status()["troubles"]))
    assert not containers.is_running("c2")
    service.until_phase("healthy")
    machine.finish_boots()
    eventually(lambda: containers.is_running("c2"), why="nobody has typed anything")
    eventually(lambda: not service.status()["troubles"])
    assert len(machine.resets) == 1
    assert [containers.count(name, "start") for name in containers.names] == [1] * 8


def test_where_no_chip_is_up_in_time_none_is_reset_again(furnish: Furnish, containers: Containers) -> None:
    appliance = furnish(hosts.host_910b(8), SHORT)
    service, machine = appliance.service, appliance.machine
    machine.set("boot_by_hand", 1)
    containers.run(Spec("llm", "0,1,2,3,4,5,6,7"))
    service.start()
    machine.fault(2, NOW)
    service.until_said("is over: isolated")
    assert not containers.is_running("llm")
    machine.finish_boots()
    eventually(lambda: containers.is_running("llm"))
    eventually(lambda: not service.status()["troubles"])
    assert len(machine.resets) == 1
