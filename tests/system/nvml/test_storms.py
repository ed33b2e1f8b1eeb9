"""The library's ways with its users: storms, lost GPUs, tools that hang. Containers are pretended."""

from cmgr.drivers.nvml.library import abi
from cmgr.store.reader import open_reader
from tests.fakes.nvml import hosts
from tests.fakes.nvml.standin import FakeReset
from tests.support.waiting import eventually
from tests.system.nvml.conftest import Furnish

DISTINCT = 400
EVENTS = 20_000

RESET_THE_GPU = 1


def test_of_a_storm_of_xids_nothing_distinct_is_lost_and_another_gpu_is_served(furnish_alone: Furnish) -> None:
    # A driver without recovery actions: Xids that nobody knows last.
    appliance = furnish_alone(hosts.host_h100(8), {"resync": "60s"}, release=535)
    service, machine = appliance.service, appliance.machine
    service.pretend("a")
    service.start()
    for number in range(EVENTS):
        machine.xid(5, 1000 + number % DISTINCT)
    machine.xid(0, 119)

    def found() -> int:
        with open_reader(service.database) as reader:
            return len({f.code for f in reader.faults(since=None, active_only=False) if f.chip == 5})

    eventually(lambda: found() == DISTINCT)
    service.until_said("is over: recovered")
    assert machine.resets == (FakeReset(frozenset({0}), abi.OK),)
    assert service.status()["service"]["state"] == "ready"


def test_of_eight_gpus_at_switches_one_is_reset_while_another_is_lost(furnish_alone: Furnish) -> None:
    appliance = furnish_alone(hosts.host_b200(8), {"resync": "60s"}, release=615)
    service, machine = appliance.service, appliance.machine
    service.pretend("a")
    service.start()
    machine.log("nvidia-nvswitch1: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 28 LTSSM Fault Up")
    machine.set("lost", 1, gpu=6)
    eventually(lambda: [c["id"] for c in service.status()["chips"] if c["isolated"]] == [6])
    machine.act(2, RESET_THE_GPU)
    service.until_said("is over: recovered")
    assert machine.resets == (FakeReset(frozenset({2}), abi.OK),)
    (told,) = (trouble["text"] for trouble in service.status()["troubles"] if trouble["kind"] == "machine")
    assert told == "SXid 20034 on nvidia-nvswitch1"
    assert machine.get("lost_answers") == 1


def test_a_reset_that_never_ends_keeps_no_other_gpu_from_its_own(furnish_alone: Furnish) -> None:
    appliance = furnish_alone(hosts.host_h100(8), {"resync": "60s", "nvml.reset_timeout": "1s"})
    service, machine = appliance.service, appliance.machine
    service.pretend("a")
    service.start()
    machine.hang_resets(1 << 3)
    machine.act(3, RESET_THE_GPU)
    service.until_said("cannot tell how the reset of chip 3 went")
    machine.act(0, RESET_THE_GPU)
    service.until_said("is over: recovered")
    assert len(machine.resets) == 1
    machine.hang_resets(0)
    service.until_over()
    assert [reset.gpus for reset in machine.resets] == [{0}, {3}]
    assert not any(chip["isolated"] for chip in service.status()["chips"])
