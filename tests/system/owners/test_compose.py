"""docker compose with a real Docker daemon: its order, and the containers that it makes anew in mid-episode.

Compose 1 writes no `depends_on` into its labels; the order is tried with compose 2 (`make test-newest`).
"""

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.daemons.dockerd import IMAGE, OBEYS
from tests.support.programs import program
from tests.support.service import LATER, NOW, Service
from tests.support.waiting import PATIENCE, eventually
from tests.system.conftest import Install
from tests.system.containers import Containers

pytestmark = pytest.mark.docker

RING = {"strategy": "ringRecover", "retry.settle": "0s"}
Compose = Callable[..., str]


@pytest.fixture
def compose(containers: Containers, folder: Path) -> Compose:
    """Run compose on the private daemon, and return what it said."""
    client = program("docker-compose")

    def run(*words: str) -> str:
        environment = {**os.environ, "DOCKER_HOST": f"unix://{containers.dockerd.socket}"}
        done = subprocess.run(
            [client, "-p", "llm", *words],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def is_second(compose: Compose) -> bool:
    return not compose("version", "--short").strip().lstrip("v").startswith("1.")


def write(folder: Path, services: Mapping[str, Mapping[str, Any]]) -> None:
    """Write a project of services, each on the chip that it names."""
    command = [word.replace("$", "$$") for word in OBEYS]
    box: dict[str, Any] = {"image": IMAGE, "network_mode": "none", "command": command}
    project = {
        name: box | {"container_name": name, "environment": {"ASCEND_VISIBLE_DEVICES": str(chip)}} | dict(more)
        for chip, (name, more) in enumerate(services.items())
    }
    (folder / "docker-compose.yml").write_text(json.dumps({"version": "3", "services": project}))


def watched(containers: Containers, *names: str) -> None:
    containers.names = list(names)
    eventually(lambda: all(containers.is_running(name) for name in names), why="the project runs")
    containers.mark()


def order(service: Service, verb: str) -> list[str]:
    return [n.text.split()[1] for n in service.notes() if n.kind == "action" and n.text.startswith(f"{verb} ")]


def test_depends_on_is_the_order_of_stop_and_start_and_the_check_is_waited_for(
    on_docker: Install, containers: Containers, compose: Compose, folder: Path
) -> None:
    if not is_second(compose):
        pytest.skip("compose 1 says nothing of depends_on")
    check = {"test": ["CMD-SHELL", "test -e /"], "interval": "200ms", "retries": 50, "timeout": "2s"}
    write(
        folder,
        {
            "router": {"depends_on": {"model": {"condition": "service_healthy"}}},
            "model": {"healthcheck": check, "depends_on": {"store": {"condition": "service_started"}}},
            "store": {},
        },
    )
    compose("up", "-d")
    watched(containers, "router", "model", "store")
    service = on_docker(RING)
    service.start()
    row = service.container("model")
    assert row is not None
    assert (row["project"], row["service"]) == ("llm", "model")
    service.inject(0)
    service.until_said("episode 1 is over: recovered")
    assert order(service, "stop") == ["router", "model", "store"]
    assert order(service, "start") == ["store", "model", "router"]
    compose("down", "-t", "0")
    containers.names = []


def test_whoever_compose_is_to_restart_with_a_service_is_restarted_with_it(
    on_docker: Install, containers: Containers, compose: Compose, folder: Path
) -> None:
    if not is_second(compose):
        pytest.skip("compose 1 says nothing of depends_on")
    needs = {"condition": "service_started"}
    write(
        folder,
        {
            "model": {},
            "web": {"environment": {}, "depends_on": {"model": {**needs, "restart": True}}},
            "index": {"environment": {}, "depends_on": {"model": needs}},
        },
    )
    compose("up", "-d")
    watched(containers, "model", "web", "index")
    service = on_docker(RING)
    service.start()
    service.inject(0)
    service.until_said("episode 1 is over: recovered")
    service.until_over()
    assert [name for name in containers.names if containers.was_restarted(name)] == ["model", "web"]
    assert containers.all_running()
    compose("down", "-t", "0")
    containers.names = []


def test_a_container_that_is_made_anew_in_mid_episode_is_recovered_in_the_place_of_the_old_one(
    on_docker: Install, containers: Containers, compose: Compose, folder: Path
) -> None:
    write(folder, {"served": {}})
    compose("up", "-d")
    watched(containers, "served")
    old = containers.started_at("served")
    service = on_docker({**RING, "levels.RestartRequest.reset_after": "1h"})
    service.start()
    service.inject(0, LATER)
    eventually(lambda: not containers.is_running("served"), why="cmgr has stopped it")
    compose("up", "-d", "--force-recreate")
    eventually(lambda: "compose has" in " ".join(n.text for n in service.notes()), why="the successor is known")
    eventually(lambda: not containers.is_running("served"), why="the successor is down as well")
    service.inject(0, LATER, "cleared")
    service.until_said("episode 1 is over: cleared")
    assert containers.is_running("served")
    assert containers.started_at("served") != old
    assert not any("lost" in n.text for n in service.notes())
    compose("down", "-t", "0")
    containers.names = []


def test_a_project_that_a_person_takes_down_in_mid_episode_stays_down(
    on_docker: Install, containers: Containers, compose: Compose, folder: Path
) -> None:
    write(folder, {"served": {}})
    compose("up", "-d")
    watched(containers, "served")
    # On a busy machine compose takes seconds to begin; the start must not be due before it is done.
    service = on_docker({**RING, "sim.boot_time": "20s"})
    service.start()
    service.inject(0, NOW)
    eventually(lambda: not containers.is_running("served"), why="cmgr has stopped it")
    compose("down", "-t", "0")
    containers.names = []
    service.until_said("episode 1 is over: failed")
    assert order(service, "start") == []
    lost = "served is lost: somebody removed it, says an event of docker; cmgr cannot start it again"
    assert any(note.text == lost for note in service.notes())


def test_one_that_a_person_stops_before_its_start_has_settled_stays_down(
    on_docker: Install, containers: Containers, compose: Compose, folder: Path
) -> None:
    write(folder, {"served": {}})
    compose("up", "-d")
    watched(containers, "served")
    service = on_docker({**RING, "retry.settle": "1h"})
    service.start()
    service.inject(0)
    service.until_said("served runs again")
    compose("stop", "-t", "1")
    service.until_said("episode 1 is over: recovered")
    assert not containers.is_running("served")
    compose("down", "-t", "0")
    containers.names = []


def test_one_that_a_person_brings_up_long_after_its_stop_is_theirs(
    on_docker: Install, containers: Containers, compose: Compose, folder: Path
) -> None:
    write(folder, {"served": {}})
    compose("up", "-d")
    watched(containers, "served")
    service = on_docker({**RING, "levels.RestartRequest.reset_after": "1h", "retry.owner_window": "1ms"})
    service.start()
    service.inject(0, LATER)
    service.until_said("served is stopped")
    compose("up", "-d")
    service.until_said("served is no longer held")
    assert containers.is_running("served")
    service.inject(0, LATER, "cleared")
    service.until_over()
    assert (containers.count("served", "start"), containers.count("served", "die")) == (1, 1)
    compose("down", "-t", "0")
    containers.names = []
