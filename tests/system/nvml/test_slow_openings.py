"""A machine without persistence mode, whose GPUs take longer to be opened than an answer may take."""

from cmgr.drivers.nvml.library import abi
from tests.fakes.nvml import hosts
from tests.fakes.nvml.standin import FakeReset
from tests.system.nvml.conftest import Furnish


def test_all_gpus_are_there_from_the_start_and_heard_again_after_a_reset(furnish_alone: Furnish) -> None:
    # Nobody looks for what was left out, or is not heard, within an hour.
    appliance = furnish_alone(hosts.host_h100(4), {"nvml.call_timeout": "300ms", "resync": "1h", "sweep": "1h"})
    service, machine = appliance.service, appliance.machine
    machine.set("opens", 700)
    service.start()
    assert [chip["id"] for chip in service.status()["chips"]] == [0, 1, 2, 3]
    service.until_said("is ready: 4 chips")
    for times in (1, 2):
        machine.act(2, 1)
        service.until_said("is over: recovered", times=times)
        service.until_over()
        assert machine.resets == (FakeReset(frozenset({2}), abi.OK),) * times
