"""Things that are not there yet when a container is to start again, and are there half a minute later.

- A device node that the driver makes some time after the reset: "error gathering device information" (nvidia-docker
  288, 526).
- A log server that is away: "failed to initialize logging driver" (moby 44511, 43108).
- Something of the container's own that only a person can mend, and does long after the fifth try.

Tried in 2026 on cmgr as it was: five tries in 16 s, then `given up`, down for good, the restart policy off.
"""

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.running import reaper
from tests.stories.spoiling import mend, spoil
from tests.support.daemons.dockerd import IMAGE, OBEYS
from tests.support.service import NOW, Service
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers

pytestmark = pytest.mark.docker

SOON = {"retry.backoff": "100ms", "retry.backoff_max": "500ms", "retry.settle": "0s"}


def made(containers: Containers, name: str, **host: Any) -> None:
    """Make a container with more than a `Spec` says, and start it."""
    with closing(containers.dockerd.client()) as client:
        policy: dict[str, str | int] = {"Name": "always", "MaximumRetryCount": 0}
        config = client.create_host_config(network_mode="none", restart_policy=policy, **host)
        environment = ["ASCEND_VISIBLE_DEVICES=0"]
        client.create_container(IMAGE, list(OBEYS), name=name, host_config=config, environment=environment)
        client.start(name)
    containers.names.append(name)
    containers.mark()


@pytest.fixture
def node() -> Iterator[Path]:
    """A node like /dev/null, where a driver's would be."""
    path = Path("/dev/shm/late-chip")  # noqa: S108
    reaper.note(path)
    appears(path)
    yield path
    path.unlink(missing_ok=True)


def appears(path: Path) -> None:
    os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))


def test_a_device_node_that_is_late_is_waited_for(on_docker: Install, containers: Containers, node: Path) -> None:
    service = on_docker(SOON)
    made(containers, "llm", devices=[f"{node}:{node}:rwm"])
    service.start()
    eventually(lambda: service.container("llm"))
    node.unlink()
    service.inject(0, NOW)
    service.until_said("and it is tried until the runtime is well")
    waits_without_spending(service)
    appears(node)
    recovered(service, containers)


def test_a_log_server_that_is_away_is_waited_for(on_docker: Install, containers: Containers) -> None:
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]
    service = on_docker(SOON)
    log = {"type": "syslog", "config": {"syslog-address": f"tcp://127.0.0.1:{port}"}}
    made(containers, "llm", log_config=log)
    service.start()
    eventually(lambda: service.container("llm"))
    server.close()
    service.inject(0, NOW)
    service.until_said("and it is tried until the runtime is well")
    waits_without_spending(service)
    with closing(socket.create_server(("127.0.0.1", port))):
        recovered(service, containers)


def waits_without_spending(service: Service) -> None:
    """Wait beyond the tries that a container's own failure would have had."""
    told = set[str]()

    def often() -> bool:
        shown = service.container("llm")
        if shown is not None and shown["status"] == "resuming" and "cannot start it yet" in shown["reason"]:
            told.add(shown["reason"])  # The time of the next try stands in it.
        return len(told) > 6

    eventually(often, why="it is tried on")
    assert "llm is down" in str(service.status()["troubles"])
    assert service.ring()["phase"] == "resuming"


def recovered(service: Service, containers: Containers) -> None:
    service.until_said("is over: recovered")
    assert containers.is_running("llm")
    assert containers.policy("llm") == "always"
    eventually(lambda: not service.status()["troubles"])


def test_one_whose_own_command_is_gone_is_started_when_a_person_has_mended_that(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker(SOON | {"retry.starts": 2})
    made(containers, "llm")
    service.start()
    eventually(lambda: service.container("llm"))
    spoil(containers, "llm")
    service.inject(0, NOW)
    service.until_said("is over: failed")
    eventually(lambda: "container llm failed" in str(service.status()["troubles"]))
    service.until_phase("healthy")
    mend(containers, "llm")
    eventually(lambda: containers.is_running("llm"), why="nobody has typed anything")
    assert containers.policy("llm") == "always"
    eventually(lambda: not service.status()["troubles"])
    assert len([note for note in service.notes() if "llm has failed" in note.text]) == 1
