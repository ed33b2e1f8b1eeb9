"""`cmgr inject` on real chips: the whole path, and only where the configuration allows it."""

from tests.fakes.dcmi import hosts
from tests.support.service import NOW
from tests.system.dcmi.conftest import Furnish


def test_a_drill_goes_the_whole_way_with_a_real_reset(furnish_alone: Furnish) -> None:
    appliance = furnish_alone(hosts.host_910b(8), {"allow_injection": True})
    service, machine = appliance.service, appliance.machine
    service.pretend("chat")
    service.start()
    assert service.cmgr("inject", "1", NOW).code == 0
    service.until_said("is over: recovered")
    service.until_over()
    assert [reset.chip for reset in machine.resets] == [1]
    assert service.cmgr("faults").out == "no active faults\n"


def test_without_leave_it_is_refused_and_says_how_to_give_it(furnish_alone: Furnish) -> None:
    service = furnish_alone(hosts.host_910b(8)).service
    service.start()
    told = service.cmgr("inject", "1", NOW)
    assert told.code == 1
    assert told.err.splitlines() == [
        "cmgr: cannot simulate a fault on real chips: allow_injection = false",
        "hint: set allow_injection = true for the drill, then type: systemctl restart cmgr",
    ]
