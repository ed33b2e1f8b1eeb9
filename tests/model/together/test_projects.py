"""Projects of docker compose: `depends_on` is the order of stop and start, and keeps nobody waiting for long."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages.commands import ListContainers, StartContainer, StopContainer
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.compose import Composed, Condition, Need
from cmgr.model.values.services.containers import HEALTHY, UNHEALTHY, Container, Exit
from cmgr.view.status import containers
from tests.model.builders import RING, SINGLE, T0, Cmgr, container, key, names

CHECK = timedelta(seconds=600)


def service(
    name: str, *chips: int, needs: dict[str, Condition] | None = None, project: str = "llm", **more: Any
) -> Container:
    found = tuple(Need(other, condition) for other, condition in (needs or {}).items())
    return container(name, *chips, composed=Composed(project, name, 1, found, T0), **more)


STARTED = {"db": Condition.STARTED}


def test_status_shows_project_and_service() -> None:
    cmgr = Cmgr(service("web", 0), container("alone", 1))
    rows = [(row["name"], row["project"], row["service"]) for row in containers(cmgr.node)]
    assert rows == [("alone", "", ""), ("web", "llm", "web")]


def test_those_that_need_others_are_stopped_first_and_started_last() -> None:
    cmgr = Cmgr(service("db", 0), service("web", 1, needs=STARTED), container("alone", 2))
    assert names(cmgr.fault(0), StopContainer) == ["alone", "web"]
    cmgr.answer(StopContainer)
    assert names(cmgr.answer(StopContainer), StopContainer) == ["db"]
    cmgr.run_until(Phase.RESUMING)
    assert names(cmgr.pending, StartContainer) == ["alone", "db"]
    cmgr.run()
    assert names(cmgr.sent(StartContainer), StartContainer) == ["alone", "db", "web"]
    assert cmgr.held() == []


def test_another_project_and_a_service_that_nobody_knows_are_not_waited_for() -> None:
    needs = STARTED | {"router": Condition.HEALTHY}
    cmgr = Cmgr(service("db", 0, project="other"), service("web", 1, needs=needs))
    assert names(cmgr.fault(0), StopContainer) == ["db", "web"]
    cmgr.run()
    assert cmgr.held() == []


def test_a_stop_that_hangs_keeps_those_that_it_needs_no_longer_than_the_wait() -> None:
    grace = timedelta(hours=1)
    cmgr = Cmgr(service("db", 0), service("web", 1, needs=STARTED, grace=grace))
    cmgr.fault(0)
    cmgr.wait(59, run=False)
    assert names(cmgr.log, StopContainer) == ["web"]
    cmgr.wait(2, run=False)
    assert names(cmgr.log, StopContainer) == ["web", "db"]


def test_a_needed_one_on_another_ring_is_waited_for_while_it_is_on_its_way_up() -> None:
    cmgr = Cmgr(service("db", 0), service("web", 4, needs=STARTED), policy=SINGLE)
    cmgr.fault(0)
    cmgr.fault(4)
    cmgr.run()
    assert names(cmgr.sent(StartContainer), StartContainer) == ["db", "web"]


def test_one_whose_chips_stay_bad_keeps_no_other_from_its_start() -> None:
    cmgr = Cmgr(service("db", 0), service("web", 4, needs=STARTED), policy=SINGLE)
    cmgr.cures = False
    cmgr.fault(0)
    cmgr.run()
    cmgr.cures = True
    cmgr.fault(4)
    cmgr.run()
    assert names(cmgr.sent(StartContainer), StartContainer) == ["web"]
    assert cmgr.held() == ["db"]


def waiting(condition: Condition, **more: Any) -> Cmgr:
    """Return a cmgr whose "web" waits for "db", which has just been started."""
    cmgr = Cmgr(service("db", 0, **more), service("web", 1, needs={"db": condition}))
    cmgr.fault(0)
    cmgr.run()
    return cmgr


def says(cmgr: Cmgr, **changes: Any) -> None:
    cmgr.sees(replace(cmgr.truth[key("db")], **changes))
    cmgr.run()


def test_one_that_must_be_healthy_is_waited_for_until_it_is() -> None:
    cmgr = waiting(Condition.HEALTHY, says_within=CHECK)
    assert (cmgr.held(), cmgr.hold("web").state) == (["web"], HoldState.DOWN)
    says(cmgr, health="starting")
    assert cmgr.held() == ["web"]
    says(cmgr, health=HEALTHY)
    assert cmgr.held() == []


@pytest.mark.parametrize("health", ["", "starting", UNHEALTHY])
def test_one_that_never_gets_healthy_is_waited_for_no_longer_than_the_wait(health: str) -> None:
    cmgr = waiting(Condition.HEALTHY, says_within=CHECK)
    says(cmgr, health=health)
    cmgr.wait(59)
    assert cmgr.held() == ["web"]
    cmgr.wait(2)
    assert cmgr.held() == []


def test_one_without_a_check_of_its_own_is_not_waited_for() -> None:
    assert waiting(Condition.HEALTHY).held() == []


def test_one_that_must_be_done_is_waited_for_while_it_runs() -> None:
    cmgr = waiting(Condition.DONE)
    assert cmgr.held() == ["web"]
    says(cmgr, running=False, exit=Exit(0, cmgr.now, asked=False))
    assert cmgr.held() == []


def test_one_that_was_done_before_the_fault_stays_down_and_is_not_waited_for() -> None:
    done = service("db", 0, running=False, exit=Exit(0, T0, asked=False))
    cmgr = Cmgr(done, service("web", 1, needs={"db": Condition.DONE}))
    cmgr.fault(0)
    cmgr.run()
    assert (names(cmgr.sent(StartContainer), StartContainer), cmgr.held()) == (["web"], [])


def test_services_that_need_each_other_in_a_circle_are_told_and_wait_for_nobody() -> None:
    ring = {"a": "b", "b": "c", "c": "a"}
    made = [service(n, i, needs={other: Condition.STARTED}) for i, (n, other) in enumerate(ring.items())]
    cmgr = Cmgr(*made, service("d", 3, needs={"a": Condition.STARTED}), service("e", 3, needs={"e": Condition.STARTED}))
    assert names(cmgr.fault(0), StopContainer) == ["b", "c", "d", "e"], "d needs a, and is in no circle"
    cmgr.run()
    assert cmgr.held() == []
    warned = {row["name"]: row["warnings"] for row in containers(cmgr.node)}
    assert warned["a"] == ["depends_on goes in a circle (a → b → c → a): nobody waits along it"]
    assert (warned["d"], len(warned["e"])) == ([], 1)


def test_a_person_who_stops_a_needed_one_is_respected() -> None:
    cmgr = Cmgr(service("db", 0), service("web", 4, needs=STARTED), policy=SINGLE)
    cmgr.dies("db", 143, asked=True)
    cmgr.fault(4)
    cmgr.run()
    assert (names(cmgr.sent(StartContainer), StartContainer), cmgr.booked("db").running) == (["web"], False)


def test_the_order_holds_in_a_next_life() -> None:
    cmgr = Cmgr(service("db", 0), service("web", 1, needs=STARTED), policy=RING)
    cmgr.fault(0)
    cmgr.begin()
    assert names(cmgr.pending, StopContainer) == ["web"]
    cmgr.run(ListContainers)
    cmgr.run()
    assert names(cmgr.sent(StartContainer), StartContainer) == ["db", "web"]


def test_where_the_label_says_otherwise_it_holds() -> None:
    cmgr = Cmgr(service("db", 0, order=1), service("web", 1, needs=STARTED))
    assert names(cmgr.fault(0), StopContainer) == ["db"]
    cmgr.run()
    assert names(cmgr.sent(StartContainer), StartContainer) == ["web", "db"]
