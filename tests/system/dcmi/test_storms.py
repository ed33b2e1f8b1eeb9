"""The library's ways with its users: storms, refusals, odd chips, and threads that never end."""

import json
import signal

from cmgr.store.reader import open_reader
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.standin import ALWAYS, Purpose
from tests.support.service import NOW
from tests.support.waiting import eventually
from tests.system.dcmi.conftest import Furnish

DISTINCT = 400
EVENTS = 20_000


def test_of_a_storm_nothing_distinct_is_lost_and_another_chip_is_served_meanwhile(furnish_alone: Furnish) -> None:
    appliance = furnish_alone(hosts.host_910b_infer(8), {"resync": "60s"})
    service, machine = appliance.service, appliance.machine
    service.pretend("a")
    service.start()
    machine.storm(5, EVENTS, 2000, DISTINCT)
    eventually(lambda: machine.get("storm_left") < EVENTS - 1000)
    machine.fault(0, NOW)
    service.until_said("is over: recovered")
    # The storm was not over by then.
    assert machine.get("storm_left") > 0
    assert [r.chip for r in machine.resets] == [0]

    def found() -> int:
        with open_reader(service.database) as reader:
            return len({f.code for f in reader.faults(since=None, active_only=False) if f.chip == 5})

    eventually(lambda: machine.get("storm_left") == 0)
    eventually(lambda: found() == DISTINCT)
    assert service.status()["service"]["state"] == "ready"


def test_a_refused_subscription_is_an_alarm_and_faults_are_found_all_the_same(furnish_alone: Furnish) -> None:
    appliance = furnish_alone(hosts.host_910b(8), {"resync": "60s"})
    service, machine = appliance.service, appliance.machine
    service.pretend("a")
    machine.set("refuse_subscriptions", ALWAYS)
    service.start()
    eventually(lambda: service.status()["service"]["state"] == "degraded")
    assert "the driver tells of no faults" in service.status()["service"]["troubles"][0]
    service.until_said("chips are polled every 0.1 s instead")
    machine.fault(2, NOW)
    service.until_said("is over: recovered")
    assert [r.chip for r in machine.resets] == [2]


def test_a_chip_that_answers_late_is_taken_in(furnish_alone: Furnish) -> None:
    appliance = furnish_alone(hosts.host_910a(8))
    service, machine = appliance.service, appliance.machine
    machine.set("by_board", 1)
    service.pretend("a")
    machine.answer(6, Purpose.IDS, -8009)
    service.start()
    assert service.ring(4)["chips"] == [4, 5, 7]
    machine.answer(6, Purpose.IDS, 0)
    eventually(lambda: service.ring(4)["chips"] == [4, 5, 6, 7])
    machine.fault(6, NOW)
    service.until_said("is over: recovered")
    assert [r.chip for r in machine.resets] == [6]


def test_it_ends_in_order_while_the_library_calls_back(furnish_alone: Furnish) -> None:
    appliance = furnish_alone(hosts.host_910b(8))
    service, machine = appliance.service, appliance.machine
    service.pretend("a")
    service.start()
    machine.storm(5, 1_000_000, 20_000, 100)
    eventually(lambda: machine.get("storm_left") < 999_000)
    assert service.end(signal.SIGTERM) == 0


def test_check_shows_the_library_and_every_refusal(furnish_alone: Furnish) -> None:
    appliance = furnish_alone(hosts.host_a3(4))
    service, machine = appliance.service, appliance.machine
    told = {f["what"]: f for f in json.loads(service.cmgr("check", "-o", "json").out)["findings"]}
    assert told["libdcmi"]["text"] == f"{machine.library} (dcmi.library)"
    rings = "ring 0-1,8-9 / 2-3,10-11: its card and the brother of that"
    assert told["driver"]["text"] == f"dcmi sees 8 chips ({machine.library} with dcmi_*, Ascend910A3; {rings})"
    machine.library.chmod(0o666)
    told = {f["what"]: f for f in json.loads(service.cmgr("check", "-o", "json").out)["findings"]}
    assert "others can write" in told["libdcmi"]["text"]
    assert told["libdcmi"]["hint"] == f"chmod go-w {machine.library}"
    assert told["driver"]["state"] == "error"


def test_a_library_that_others_can_write_is_not_loaded_and_the_service_says_so(furnish_alone: Furnish) -> None:
    appliance = furnish_alone(hosts.host_910b())
    appliance.machine.library.chmod(0o666)
    appliance.service.launch()
    appliance.service.until_said("others can write")
    appliance.service.until_said("chmod go-w")
    (trouble,) = appliance.service.status()["troubles"]
    assert (trouble["kind"], trouble["hint"]) == ("unknown-chips", f"chmod go-w {appliance.machine.library}")
