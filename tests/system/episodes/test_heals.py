"""Containers that ail though their chips do not, with a real Docker daemon: they exit, or their health check fails."""

from collections.abc import Mapping

import pytest

from tests.support.service import LATER, Service, Setting
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker

SOON: Mapping[str, Setting] = {"strategy": "never", "heal.backoff": "300ms", "heal.backoff_max": "600ms"}
HEAL = {"cmgr.heal": "true"}
DIES = ("sh", "-c", "echo ready; sleep 0.5; exit 3")
WELL = "test ! -e /dev/shm/sick"
NEVER_WELL = "test ! -e /sick"


def ailing(name: str, chips: str, check: str = WELL, **labels: str) -> Spec:
    """Return one whose health check fails once somebody has made a file in it."""
    wish = {**HEAL, **{f"cmgr.heal-{k}": v for k, v in labels.items()}}
    return Spec(name, chips, labels=wish, check=check)


def heal_of(service: Service, name: str) -> dict[str, object]:
    found = service.container(name)
    assert found is not None
    return dict(found["heal"])


def is_quiet(service: Service) -> None:
    """Check that nothing is an alarm."""
    assert [n.text for n in service.notes() if n.kind == "warning"] == []


def test_one_that_becomes_unhealthy_is_restarted_once_and_others_are_left_alone(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker(SOON)
    containers.run(ailing("web", "0"), Spec("beside", "0", check=WELL), ailing("well", "1"))
    service.start()
    containers.sicken("web")
    containers.sicken("beside")
    eventually(lambda: containers.count("web", "start") == 1, why="web is started")
    service.until_over()
    eventually(lambda: containers.health("web") == "healthy", why="it is another life")
    assert [containers.count(name, "start") for name in containers.names] == [1, 0, 0]
    told = service.container("beside")
    assert told is not None
    assert (told["health"], told["reason"], told["heal"]) == ("unhealthy", "unhealthy", None)
    assert heal_of(service, "web")["restarts"] == 1
    texts = [n.text for n in service.notes() if n.text.startswith(("web", "stop web", "start web"))]
    assert texts == [
        "web is unhealthy: it is restarted in 300 ms, restart 1 of 5 within 1 h",
        "stop web (grace 10 s)",
        "web is stopped",
        "start web",
        "web runs again",
    ]
    is_quiet(service)


def test_one_that_exits_with_an_error_is_started_and_one_that_somebody_stops_is_not(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker(SOON)
    containers.run(Spec("web", "0", labels=HEAL), Spec("stopped", "1", labels=HEAL), Spec("plain", "2"))
    service.start()
    containers.stop("stopped")
    containers.crash("plain")
    containers.crash("web")
    service.until_said("web runs again")
    service.until_over()
    assert [containers.is_running(name) for name in containers.names] == [True, False, False]
    is_quiet(service)


def test_one_that_exits_again_and_again_is_given_up_and_resumed_by_a_person(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker(SOON)
    service.start()
    containers.run(Spec("web", "0", DIES, labels={**HEAL, "cmgr.heal-limit": "2"}))
    service.until_said("web exited with code 3 and is given up after 2 restarts within 1 h: cmgr resume web")
    assert containers.count("web", "start") == 2
    told = service.container("web")
    assert told is not None
    assert (told["status"], told["hint"]) == ("failed", "fix the cause, then type: cmgr resume web")
    assert told["reason"] == "exited with code 3; given up after 2 of 2 restarts within 1 h"
    assert service.cmgr("status", "--check").code == 4
    assert service.cmgr("resume", "web").code == 0
    service.until_said("is given up after 2 restarts", times=2)
    assert containers.count("web", "start") == 4, "the start that was ordered is the first of the new count"


def test_one_that_stays_unhealthy_is_left_running_when_it_is_given_up(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker(SOON)
    containers.run(ailing("web", "0", NEVER_WELL, limit="1"))
    service.start()
    containers.sicken("web", "/sick")
    service.until_said("web is unhealthy and is given up after 1 restart within 1 h: cmgr resume web")
    assert containers.is_running("web")
    told = service.container("web")
    assert told is not None
    assert (told["status"], told["hint"]) == ("running", "fix the cause, then type: cmgr resume web")
    assert service.cmgr("status", "--check").code == 4
    life = containers.started_at("web")
    assert service.cmgr("resume", "web").code == 0
    eventually(lambda: containers.started_at("web") != life, why="it is restarted")
    service.until_said("is given up after 1 restart", times=2)
    assert service.cmgr("forget", "web").code == 0
    checked = service.cmgr("status", "--check")
    assert (checked.code, checked.out.partition("\n")[0]) == (4, "not well: container web does not serve")
    containers.stop("web")
    eventually(lambda: service.cmgr("status", "--check").code == 0, why="nobody wants it to run")


@pytest.mark.parametrize("when", ["web exited with code", "start web", "stop sick"])
def test_a_death_of_cmgr_in_the_middle_restarts_each_once(
    on_docker: Install, containers: Containers, when: str
) -> None:
    service = on_docker({**SOON, "heal.backoff": "1s"})
    containers.run(Spec("web", "0", labels=HEAL), ailing("sick", "4"))
    service.start()
    containers.sicken("sick")
    containers.crash("web")
    service.until_said(when)
    service.kill9()
    service.start()
    eventually(lambda: [containers.count(n, "start") for n in containers.names] == [1, 1], why="each was started once")
    service.until_over()
    eventually(lambda: containers.health("sick") == "healthy")
    assert containers.all_running()
    assert [heal_of(service, name)["restarts"] for name in containers.names] == [1, 1]
    is_quiet(service)


def test_one_that_dies_of_a_fault_that_is_told_later_is_recovered_and_not_counted(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker({**SOON, "strategy": "singleRecover", "heal.backoff": "30s", "heal.backoff_max": "30s"})
    containers.run(Spec("web", "0", labels=HEAL))
    service.start()
    containers.crash("web")
    service.until_said("it is restarted in 30 s")
    service.inject(0, LATER)
    service.until_said("is over: recovered")
    service.until_over()
    assert containers.count("web", "start") == 1
    assert heal_of(service, "web")["restarts"] == 0
    assert [r.outcome for r in service.resets()] == ["taken"]


def test_one_whose_runtime_restarts_it_is_left_to_that_when_it_dies_and_keeps_its_policy_when_it_is_healed(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker(SOON)
    always = Spec("web", "0", policy="always", labels=HEAL, check=WELL)
    containers.run(always)
    service.start()
    containers.sicken("web")
    service.until_said("web runs again")
    service.until_over()
    assert containers.policy("web") == "always"
    assert containers.count("web", "start") == 1


def test_a_fault_in_the_middle_of_a_heal_ends_with_one_running_container(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker({**SOON, "strategy": "ringRecover"})
    slow = ("sh", "-c", "trap 'sleep 1; exit 0' TERM; echo ready; while :; do sleep 1 & wait $!; done")
    containers.run(Spec("web", "0", slow, labels=HEAL, check=WELL), Spec("mate", "1"))
    service.start()
    containers.sicken("web")
    service.until_said("stop web")
    service.inject(1)
    service.until_said("is over: recovered")
    service.until_over()
    assert containers.all_running()
    assert [containers.count(name, "start") for name in containers.names] == [1, 1]


def test_a_start_after_which_the_check_fails_is_made_once_more_and_recovery_is_when_it_is_healthy(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker({"strategy": "ringRecover", "retry.settle": "500ms", "retry.backoff": "100ms"})
    # The file of its first life after the fault makes the check fail; the second life takes it away.
    first = "if test -e /tried; then rm -f /bad; elif test -e /once; then touch /bad /tried; fi; touch /once"
    command = ("sh", "-c", f"{first}; trap 'exit 0' TERM; echo ready; while :; do sleep 0.1; done")
    containers.run(Spec("web", "0", command, check="test ! -e /bad"), Spec("plain", "1"))
    service.start()
    eventually(lambda: containers.health("web") == "healthy", why="it is well before the fault")
    service.inject(0)
    service.until_said("episode 1 is over")
    assert containers.health("web") == "healthy"
    assert (containers.count("web", "start"), containers.count("plain", "start")) == (2, 1)
    texts = [n.text for n in service.notes()]
    failed = texts.index("cannot start web, try 1: its own check says that it is unhealthy after its start")
    assert failed < next(n for n, text in enumerate(texts) if "is over: recovered" in text)
