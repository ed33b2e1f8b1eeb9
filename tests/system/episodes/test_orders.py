"""Orders of a person where real containers are concerned: they are stopped, started and left alone as was said."""

import pytest

from cmgr.model.values.services.containers import ContainerKey
from cmgr.service.door.client import order
from tests.support.daemons.containerd import Containerd
from tests.support.daemons.dockerd import OBEYS
from tests.support.service import LATER, NOW
from tests.support.waiting import eventually
from tests.system import checks
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec
from tests.system.tasks import Tasks

FOUR = (Spec("c0", "0"), Spec("c1", "1", policy="always"), Spec("c3", "3"), Spec("other", "4"))


@pytest.mark.docker
def test_an_ordered_reset_stops_the_ring_whatever_the_strategy_and_all_run_again(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker({"strategy": "never"})
    containers.run(*FOUR)
    service.start()
    eventually(lambda: len(service.status()["containers"]) == 4)
    assert "c0, c1, c3 run on chips 0-3" in service.cmgr("reset", "2").err
    assert service.cmgr("reset", "2", "--stop", "--yes").code == 0
    service.until_said("is over: recovered")
    service.until_over()
    assert [(r.chips, r.outcome) for r in service.resets()] == [((0, 1, 2, 3), "taken")]
    checks.each_was_stopped_once(containers, ["c0", "c1", "c3"])
    checks.resets_were_safe(service, containers, ["c0", "c1", "c3"])
    checks.timeline_is_true(service, containers, 1, containers.names)
    eventually(lambda: containers.policy("c1") == "always")


@pytest.mark.docker
@pytest.mark.parametrize("policy", ["always", "no"])
def test_a_forgotten_container_stays_down_with_its_restart_policy_back(
    on_docker: Install, containers: Containers, policy: str
) -> None:
    service = on_docker({"levels.RestartRequest.reset_after": "600s"})
    containers.run(Spec("mine", "0", policy=policy), Spec("held", "1"))
    service.start()
    service.inject(0, LATER)
    service.until_phase("waiting")
    eventually(lambda: containers.policy("mine") == "no", why="it is switched off while it is held")
    assert service.cmgr("forget", "mine").code == 0
    eventually(lambda: containers.policy("mine") == policy)
    service.inject(0, LATER, "cleared")
    service.until_said("is over")
    service.until_over()
    assert (containers.is_running("mine"), containers.is_running("held")) == (False, True)


@pytest.mark.docker
def test_on_an_isolated_chip_nothing_is_started_until_a_person_releases_it(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker({"isolation.on_isolate": "stop"})
    containers.run(Spec("c0", "0"), Spec("mate", "1"))
    service.start()
    eventually(lambda: len(service.status()["containers"]) == 2)
    assert service.cmgr("isolate", "0", "--reason", "its fan is loud").code == 0
    service.until_said("is over: isolated")
    assert (containers.is_running("c0"), containers.is_running("mate")) == (False, True)
    shown = service.container("c0")
    assert shown is not None
    assert (shown["status"], shown["reason"]) == ("paused", "chip 0 is isolated: its fan is loud")
    service.kill9()
    service.start()
    service.inject(1, NOW)
    service.until_said("is over: ", times=2)
    assert (containers.is_running("c0"), containers.is_running("mate")) == (False, True)
    assert service.cmgr("release", "0").code == 0
    eventually(containers.all_running)


@pytest.mark.docker
def test_what_faults_in_maintenance_is_left_alone_until_it_ends(on_docker: Install, containers: Containers) -> None:
    service = on_docker({})
    containers.run(Spec("c0", "0"))
    service.start()
    order(service.socket, "maintenance", on=True)
    service.inject(0, NOW)
    service.until_reason(": it would recover")
    assert containers.happenings() == []
    order(service.socket, "maintenance", on=False)
    service.until_said("is over: recovered")
    service.until_over()
    checks.each_was_stopped_once(containers, ["c0"])


@pytest.mark.containerd
def test_two_of_one_name_in_two_namespaces_are_told_apart(install: Install, containerd: Containerd) -> None:
    tasks = Tasks(containerd)
    try:
        blue, green = (ContainerKey("containerd", namespace, "web") for namespace in containerd.namespaces[:2])
        for key in (blue, green):
            tasks.world.run(key, *OBEYS, chips="0", labels={})
            tasks.world.ready(key, 0)
        service = install(
            {
                "runtimes": ["containerd"],
                "containerd.address": containerd.socket,
                "levels.RestartRequest.reset_after": "600s",
            }
        )
        service.start()
        service.inject(0, LATER)
        service.until_phase("waiting")
        told = service.cmgr("forget", "web")
        assert told.code == 1
        assert f"hint: one of {blue.namespace}/web, {green.namespace}/web" in told.err
        assert service.cmgr("forget", f"{blue.namespace}/web").code == 0
        service.inject(0, LATER, "cleared")
        service.until_said("is over")
        service.until_over()
        assert tasks.world.task(blue)[1] != "RUNNING"
        assert tasks.world.task(green)[1] == "RUNNING"
    finally:
        tasks.close()
