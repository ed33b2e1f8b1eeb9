"""Real clients stay with a container while cmgr stops it and starts it again: docker start -a, docker compose up.

By themselves they start nothing again. A loop around them does, as a unit or a script would.
"""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.support.daemons.dockerd import IMAGE, OBEYS
from tests.support.programs import program
from tests.support.service import LATER, Service
from tests.support.waiting import PATIENCE, eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker

ATTACHED = "exec docker start -a served"
COMPOSED = "exec docker-compose up"
AGAIN = "while :; do {}; done"


class Client:
    """A shell's command in a folder, whose docker is the private one's."""

    def __init__(self, folder: Path, socket: str, command: str) -> None:
        self._log = folder / "client"
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                ["sh", "-c", command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=folder,
                env={**os.environ, "DOCKER_HOST": f"unix://{socket}"},
                start_new_session=True,
            )

    @property
    def code(self) -> int | None:
        """Its exit code, or None while it stays."""
        return self._process.poll()

    def said(self) -> str:
        return self._log.read_text(errors="replace")

    def end(self) -> None:
        """End it and all that it has started, which has no time to do anything more."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(PATIENCE)


MakeClient = Callable[[str], Client]


@pytest.fixture
def client(containers: Containers, folder: Path) -> Iterator[MakeClient]:
    """Run a client, wait until "served" runs, and count what happens from then on."""
    clients: list[Client] = []

    def made(command: str) -> Client:
        program("docker")
        if "docker-compose" in command:
            program("docker-compose")
        else:
            containers.run(Spec("served", "0", running=False))
        started = Client(folder, containers.dockerd.socket, command)
        clients.append(started)
        eventually(lambda: "ready" in started.said() or started.code is not None, why="served runs")
        assert started.code is None, started.said()
        containers.names = ["served"]
        containers.mark()
        return started

    yield made
    for each in clients:
        each.end()


def compose(folder: Path, *mates: str) -> None:
    """Write what compose starts: "served" on chip 0, and its mates, which use no chip."""
    box: dict[str, Any] = {"image": IMAGE, "network_mode": "none", "command": [w.replace("$", "$$") for w in OBEYS]}
    served = {"container_name": "served", "environment": {"ASCEND_VISIBLE_DEVICES": "0"}, "restart": "always"}
    services = {"served": box | served, **{mate: box | {"container_name": mate} for mate in mates}}
    (folder / "docker-compose.yml").write_text(json.dumps({"version": "3", "services": services}))


def recovered(service: Service, containers: Containers) -> None:
    """Let chip 0 fault: "served" is stopped once, and started once, by cmgr."""
    eventually(lambda: service.runs("served"), why="cmgr knows it")
    service.inject(0)
    service.until_said("is over: recovered")
    service.until_over()
    assert containers.is_running("served")
    assert [containers.count("served", what) for what in ("kill", "start")] == [1, 1]
    assert "starts it again" not in service.said()


def test_a_client_that_is_attached_ends_with_the_container_and_starts_nothing(
    on_docker: Install, containers: Containers, client: MakeClient
) -> None:
    service = on_docker({})
    service.start()
    attached = client(ATTACHED)
    recovered(service, containers)
    assert eventually(lambda: attached.code is not None)
    assert attached.code == 0, attached.said()


def test_compose_in_the_foreground_starts_nothing_and_does_not_stop_what_cmgr_starts(
    on_docker: Install, containers: Containers, client: MakeClient, folder: Path
) -> None:
    service = on_docker({})
    compose(folder, "web")
    service.start()
    composed = client(COMPOSED)
    recovered(service, containers)
    assert "served exited with code 0" in composed.said()
    assert composed.code is None, "it stays with what still runs"
    assert containers.is_running("web")


def reason(service: Service) -> str:
    row = service.container("served")
    return str(row["reason"]) if row is not None else ""


@pytest.mark.parametrize("once", [ATTACHED, COMPOSED], ids=["start", "compose"])
def test_a_loop_around_a_client_is_an_owner_and_is_given_in_to(
    on_docker: Install, containers: Containers, client: MakeClient, folder: Path, once: str
) -> None:
    service = on_docker({"levels.RestartRequest.reset_after": "1h", "retry.backoff": "100ms"})
    compose(folder)
    service.start()
    loop = client(AGAIN.format(once.removeprefix("exec ")))
    eventually(lambda: service.runs("served"), why="cmgr knows it")
    service.inject(0, LATER)
    eventually(lambda: "something starts it again" in reason(service), why="cmgr has given in")
    assert containers.count("served", "die") == 4
    assert service.resets() == ()
    loop.end()
    eventually(lambda: containers.is_running("served"), why="its last start is over")
    containers.stop("served")
    service.inject(0, LATER, assertion="cleared")
    service.until_over()
    assert not containers.is_running("served"), "a person has stopped it, with its owner"
