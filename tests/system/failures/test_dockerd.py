"""The Docker daemon is stopped, killed, hung or missing in the middle of an episode."""

import pytest

from cmgr.model.values.messages.commands import NoteKind
from tests.support.service import LATER, NOW, Service
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec, deaf

pytestmark = pytest.mark.docker


def until_away(service: Service) -> None:
    eventually(lambda: service.status()["runtimes"][0]["why_down"], why="cmgr knows that Docker is away")


def names_of_down(service: Service) -> list[str]:
    return sorted(c["name"] for c in service.status()["down"])


SLOW = ("sh", "-c", "trap 'sleep 2; exit 0' TERM; echo ready; while :; do sleep 1 & wait $!; done")
"""A command that ends well, two seconds after it is told to."""

END = pytest.mark.parametrize("end", ["stop", "kill"])

WAITS = {"levels.RestartRequest.reset_after": "1h"}
"""A fault of that level waits for its reset until one comes that is reset at once."""


@pytest.fixture(autouse=True)
def daemon_is_back(containers: Containers) -> None:
    """Have `containers` set up first: it starts the daemon again when it is torn down."""


@END
def test_held_containers_stay_down_while_docker_restarts(on_docker: Install, containers: Containers, end: str) -> None:
    service = on_docker(WAITS)
    containers.run(Spec("plain", "0"), Spec("keen", "1", policy="always"), Spec("beside", "4", policy="always"))
    service.start()
    service.inject(0, LATER)
    service.until_phase("waiting")
    eventually(lambda: containers.policy("keen") == "no")
    down = [containers.started_at(name) for name in ("plain", "keen")]
    getattr(containers.dockerd, end)()
    until_away(service)
    assert service.status()["service"]["state"] == "degraded"
    containers.dockerd.start()
    eventually(lambda: service.status()["service"]["state"] == "ready", why="Docker is back")
    assert [containers.started_at(name) for name in ("plain", "keen")] == down, "nobody has started them"
    service.inject(0, NOW)
    service.until_said("is over: recovered")
    service.until_over()
    assert [r.outcome for r in service.resets()] == ["taken"]
    eventually(containers.all_running)
    assert [containers.count(name, "start") for name in ("plain", "keen")] == [1, 1]
    assert [containers.policy(name) for name in containers.names] == ["no", "always", "always"]


@END
def test_what_went_down_with_docker_is_told(on_docker: Install, containers: Containers, end: str) -> None:
    service = on_docker({})
    containers.run(Spec("well", "0"), deaf("deaf", "1"), Spec("ended", "2"), Spec("keen", "3", policy="always"))
    service.start()
    containers.stop("ended")
    eventually(lambda: "ended" not in [c["name"] for c in service.status()["containers"]], why="a person meant it")
    getattr(containers.dockerd, end)()
    until_away(service)
    containers.dockerd.start()
    eventually(lambda: names_of_down(service) == ["deaf", "well"], why="Docker is back, and its containers are not")
    assert service.cmgr("status", "--check").code == 4
    assert all("while docker was not there to say why" in c["reason"] for c in service.status()["down"])
    service.terminate()
    service.start()
    eventually(lambda: names_of_down(service) == ["deaf", "well"], why="the next life knows")
    containers.start("well")
    containers.start("deaf")
    eventually(lambda: names_of_down(service) == [], why="they run")


@END
def test_what_docker_starts_by_itself_on_a_faulty_chip_is_stopped_again(
    on_docker: Install, containers: Containers, end: str
) -> None:
    service = on_docker(WAITS)
    containers.run(Spec("keen", "0", policy="always"))
    service.start()
    service.inject(0, LATER)
    service.until_phase("waiting")
    eventually(lambda: containers.policy("keen") == "no")
    # Somebody undoes what cmgr has done, so that Docker starts the container when it starts.
    containers.arm("keen", "always")
    getattr(containers.dockerd, end)()
    until_away(service)
    containers.dockerd.start()
    service.until_said("it is stopped again")
    eventually(lambda: not containers.is_running("keen"), why="it does not stay up on the faulty chip")
    assert service.ring()["phase"] in ("waiting", "draining")
    assert service.resets() == ()
    service.inject(0, NOW)
    service.until_said("is over: recovered")
    service.until_over()
    assert [r.outcome for r in service.resets()] == ["taken"]
    assert containers.is_running("keen")
    assert containers.policy("keen") == "always"


@END
def test_a_daemon_that_ends_while_containers_are_stopped_loses_none(
    on_docker: Install, containers: Containers, end: str
) -> None:
    service = on_docker({})
    # None may be just dying when its daemon is killed: Docker 20.10 can start it no more then ("task already exists").
    containers.run(Spec("keen", "1", SLOW, policy="always"), Spec("plain", "2", SLOW))
    service.start()
    service.inject(0)
    service.until_phase("draining")
    getattr(containers.dockerd, end)()
    containers.dockerd.start()
    service.until_said("is over: recovered", times=1)
    service.until_over()
    assert [r.outcome for r in service.resets()] == ["taken"]
    eventually(containers.all_running, why="all run")
    assert containers.policy("keen") == "always"
    assert all(containers.was_restarted(name) for name in containers.names)


@END
def test_a_daemon_that_ends_while_containers_are_started_loses_none(
    on_docker: Install, containers: Containers, end: str
) -> None:
    service = on_docker({"sim.boot_time": "1s"})
    containers.run(Spec("keen", "1", policy="always"), Spec("plain", "2"))
    service.start()
    service.inject(1)
    service.until_phase("verifying")
    getattr(containers.dockerd, end)()
    service.until_phase("resuming")
    service.until_reason("cannot reach docker")
    containers.dockerd.start()
    service.until_said("is over: recovered")
    service.until_over()
    assert [r.outcome for r in service.resets()] == ["taken"]
    assert [containers.count(name, "start") for name in containers.names] == [1, 1]
    assert containers.all_running()
    assert containers.policy("keen") == "always"


def test_a_machine_that_loses_its_power_goes_on_afterwards(on_docker: Install, containers: Containers) -> None:
    service = on_docker(WAITS)
    containers.run(Spec("keen", "0", policy="always"), Spec("plain", "1"), Spec("beside", "4", policy="always"))
    service.start()
    service.inject(0, LATER)
    service.until_phase("waiting")
    eventually(lambda: containers.policy("keen") == "no")
    service.kill9()
    containers.dockerd.kill()
    # Both come up at once, as at the machine's start.
    service.launch()
    containers.dockerd.start()
    service.until_said(" is ready: ", times=2)
    service.inject(0, NOW)
    service.until_said("is over: recovered")
    service.until_over()
    assert [r.outcome for r in service.resets()] == ["taken"]
    eventually(containers.all_running)
    assert [containers.count(name, "start") for name in ("keen", "plain")] == [1, 1]
    assert [containers.policy(name) for name in containers.names] == ["always", "no", "always"]


def test_a_fault_while_docker_is_away_is_dealt_with_when_it_is_back(on_docker: Install, containers: Containers) -> None:
    service = on_docker({})
    containers.run(Spec("keen", "0", policy="always"), Spec("beside", "4", policy="always"))
    service.start()
    containers.dockerd.kill()
    until_away(service)
    service.inject(0, NOW)
    assert "cannot ask docker" in service.until_reason("cannot ask docker")
    assert service.ring()["phase"] == "listing"
    assert service.resets() == (), "who uses the ring is not known"
    containers.dockerd.start()
    service.until_said("is over: recovered")
    service.until_over()
    assert [r.outcome for r in service.resets()] == ["taken"]
    eventually(containers.all_running)
    assert containers.policy("keen") == "always"
    told = [note.text for note in service.notes() if "beside" in note.text and "cannot list" not in note.text]
    assert not told, "only Docker itself restarted it"


def test_a_service_that_starts_without_docker_waits_for_it(on_docker: Install, containers: Containers) -> None:
    service = on_docker({})
    containers.run(Spec("keen", "0", policy="always"))
    containers.dockerd.stop()
    service.start()
    until_away(service)
    assert service.status()["service"]["state"] == "degraded"
    (trouble,) = service.status()["service"]["troubles"]
    assert trouble.startswith("cannot reach docker")
    assert containers.dockerd.socket in trouble
    containers.dockerd.start()
    eventually(lambda: service.status()["service"]["state"] == "ready")
    service.inject(0)
    service.until_said("is over: recovered")
    service.until_over()
    assert containers.is_running("keen")


def test_a_daemon_that_hangs_stops_nothing_but_itself(on_docker: Install, containers: Containers) -> None:
    service = on_docker({})
    containers.run(Spec("plain", "0"))
    service.start()
    containers.dockerd.freeze()
    try:
        service.inject(0)
        service.until_phase("listing")
        assert service.status()["service"]["state"] == "ready"
        assert service.resets() == ()
    finally:
        containers.dockerd.thaw()
    service.until_said("is over: recovered")
    service.until_over()
    assert [r.outcome for r in service.resets()] == ["taken"]
    assert not service.notes(kind=NoteKind.WARNING)
