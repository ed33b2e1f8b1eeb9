"""Runtimes that do not answer when the service starts: each is waited for, found again, and never left out."""

import select
import socket
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.sick.lively_containerd import LivelyContainerd, lively_containerd
from tests.support.service import LATER, Service, Setting
from tests.support.waiting import PATIENCE, eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker

SLOW = ("sh", "-c", "trap 'sleep 2; exit 0' TERM; echo ready; while :; do sleep 1 & wait $!; done")
"""A command that ends well, two seconds after it is told to: no phase is over before it was seen."""


@pytest.fixture
def other() -> Iterator[LivelyContainerd]:
    """A containerd that answers, as on every machine with Docker."""
    with lively_containerd() as daemon:
        yield daemon


@pytest.fixture
def by_itself(install: Install, other: LivelyContainerd, containers: Containers) -> Install:
    """Install services that look themselves which runtimes there are."""

    def made(settings: Mapping[str, Setting]) -> Service:
        own: Mapping[str, Setting] = {
            "runtimes": ["auto"],
            "docker.socket": containers.dockerd.socket,
            "containerd.address": other.socket,
        }
        return install({**own, "docker.timeout": "10s", "resync": "1s", **settings})

    return made


class Activation:
    """A socket that is listened on, and at which nobody answers until the daemon has been started on it."""

    def __init__(self, path: Path, containers: Containers) -> None:
        self.path = str(path)
        self._containers = containers
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(self.path)
        self._listening.listen(64)

    def start(self) -> None:
        self._containers.dockerd.inherited = self._listening
        self._containers.dockerd.start()

    def start_when_asked(self) -> threading.Thread:
        """Start the daemon as soon as somebody connects, as systemd does with docker.socket."""

        def wait() -> None:
            # Whoever connects is the daemon's to answer: its connection must stay in the queue.
            if select.select([self._listening], [], [], PATIENCE)[0]:
                self.start()

        thread = threading.Thread(target=wait, name="activation")
        thread.start()
        return thread

    def close(self) -> None:
        self._containers.dockerd.inherited = None
        self._listening.close()


@pytest.fixture
def activation(folder: Path, containers: Containers) -> Iterator[Activation]:
    made = Activation(folder / "a.sock", containers)
    yield made
    made.close()


def is_recovered(service: Service, containers: Containers) -> None:
    service.until_said("is over: recovered")
    service.until_over()
    assert [r.outcome for r in service.resets()] == ["taken"]
    eventually(containers.all_running)


def trouble(service: Service) -> str:
    return "; ".join(service.status()["service"]["troubles"])


def test_a_daemon_that_hangs_as_the_service_starts_is_not_left_out(by_itself: Install, containers: Containers) -> None:
    service = by_itself({})
    containers.run(Spec("llm", "0"))
    containers.dockerd.freeze()
    try:
        service.start()
        assert service.status()["service"]["runtimes"] == ["docker", "containerd"]
        eventually(lambda: "cannot reach docker" in trouble(service))
        row = next(r for r in service.status()["runtimes"] if r["name"] == "docker")
        assert 'runtimes = ["containerd"]' in row["hint"]
        service.inject(0)
        assert "docker" in service.until_reason("docker")
        assert service.cmgr("status", "--check").code == 4
        assert service.resets() == (), "who uses the ring is not known"
    finally:
        containers.dockerd.thaw()
    is_recovered(service, containers)
    assert containers.was_restarted("llm")


def test_a_container_that_is_held_comes_back_though_docker_is_gone_at_the_next_start(
    by_itself: Install, containers: Containers
) -> None:
    service = by_itself({"levels.RestartRequest.reset_after": "1h"})
    containers.run(Spec("keen", "0", policy="always"))
    service.start()
    service.inject(0, LATER)
    service.until_phase("waiting")
    eventually(lambda: containers.policy("keen") == "no")
    service.terminate()
    containers.dockerd.stop()
    Path(containers.dockerd.socket).unlink(missing_ok=True)
    service.start()
    eventually(lambda: "cannot reach docker" in trouble(service))
    service.inject(0)
    assert service.resets() == ()
    containers.dockerd.start()
    is_recovered(service, containers)
    assert containers.policy("keen") == "always"


def test_a_socket_that_appears_while_the_service_runs_is_found(
    by_itself: Install, containers: Containers, folder: Path
) -> None:
    link = folder / "later.sock"
    service = by_itself({"docker.socket": str(link)})
    containers.run(Spec("llm", "0"))
    service.start()
    assert service.status()["service"]["runtimes"] == ["containerd"]
    link.symlink_to(containers.dockerd.socket)
    service.until_said("docker is there now")
    eventually(lambda: service.container("llm"))
    service.inject(0)
    is_recovered(service, containers)
    assert containers.was_restarted("llm")


def test_docker_that_is_started_by_its_socket_is_waited_for(
    by_itself: Install, containers: Containers, activation: Activation
) -> None:
    service = by_itself({"docker.socket": activation.path})
    containers.run(Spec("keen", "0", policy="always"))
    containers.dockerd.stop()
    starting = activation.start_when_asked()
    service.start()
    starting.join(PATIENCE)
    assert not starting.is_alive()
    eventually(lambda: service.container("keen"), "the service has heard of it")
    service.inject(0)
    is_recovered(service, containers)


def test_a_daemon_that_takes_minutes_to_start_is_waited_for(
    by_itself: Install, containers: Containers, activation: Activation
) -> None:
    """A list's time limit stands for the minutes: nobody answers at the socket until after it has passed."""
    service = by_itself({"docker.socket": activation.path, "docker.timeout": "2s"})
    containers.run(Spec("keen", "0", policy="always"))
    containers.dockerd.stop()
    service.start()
    service.inject(0)
    eventually(lambda: "did not answer within" in trouble(service))
    service.terminate()
    service.configure({"docker.timeout": "28s"})
    service.start()
    assert service.resets() == ()
    activation.start()
    is_recovered(service, containers)


@pytest.mark.parametrize("phase", ["draining", "waiting", "resetting", "verifying"])
def test_an_upgrade_of_docker_and_of_cmgr_in_an_episode_loses_nothing(
    by_itself: Install, containers: Containers, phase: str
) -> None:
    service = by_itself({"levels.RestartRequest.reset_after": "5s", "sim.reset_time": "2s", "sim.boot_time": "2s"})
    containers.run(Spec("keen", "0", SLOW, policy="always"), Spec("plain", "1", SLOW))
    service.start()
    service.inject(0, LATER)
    service.until_phase(phase)
    # As unattended upgrades do it: the daemon goes, cmgr is restarted, and the new daemon comes later.
    containers.dockerd.stop()
    service.terminate()
    service.start()
    eventually(lambda: "cannot reach docker" in trouble(service))
    containers.dockerd.start()
    is_recovered(service, containers)
    assert containers.policy("keen") == "always"


def test_a_runtime_that_is_gone_for_good_keeps_nothing_waiting_once_a_person_has_said_so(
    by_itself: Install, containers: Containers
) -> None:
    service = by_itself({})
    containers.run(Spec("llm", "0"))
    service.start()
    eventually(lambda: service.container("llm"))
    assert service.cmgr("forget", "--runtime", "docker").code == 1, "it answers"
    containers.dockerd.stop()
    Path(containers.dockerd.socket).unlink(missing_ok=True)
    eventually(lambda: "cannot reach docker" in trouble(service))
    service.inject(0)
    assert "cannot ask docker" in service.until_reason("cannot ask docker")
    told = service.cmgr("forget", "--runtime", "docker")
    assert (told.code, told.out.splitlines()[0]) == (0, "docker: forgotten; nothing waits for it any more")
    service.until_said("is over: recovered")
    assert [r.outcome for r in service.resets()] == ["taken"]
    service.terminate()
    service.start()
    assert service.status()["service"]["runtimes"] == ["containerd"]
    containers.dockerd.start()
    service.until_said("docker is there now")
    eventually(lambda: service.status()["service"]["runtimes"] == ["containerd", "docker"])
    eventually(lambda: "llm" in str(service.status()["troubles"]), "it ought to run still, and ended with its daemon")
