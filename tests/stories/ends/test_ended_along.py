"""A client that ends the rest of its project once one container of it has ended, which cmgr had stopped.

Reported of `docker compose up --abort-on-container-exit` (apache/openwhisk-devtools issue 262, docker/compose issues
2940 and 4107). Tried in 2026 on cmgr as it was: compose stopped the services of healthy rings within a second of cmgr's
stop, cmgr started its own one alone, the others vanished from the list, and all was well.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.daemons.dockerd import IMAGE, OBEYS
from tests.support.programs import program
from tests.support.service import LATER
from tests.support.waiting import PATIENCE, eventually
from tests.system.conftest import Install
from tests.system.containers import Containers

pytestmark = pytest.mark.docker

PROJECT = ("llm", "embed", "web")
WELL, WRONG = 0, 4


@pytest.fixture
def project(containers: Containers, folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a project in the foreground: `llm` on chip 0, `embed` on chip 4 of another ring, `web` on none."""
    box = {"image": IMAGE, "network_mode": "none", "command": [word.replace("$", "$$") for word in OBEYS]}
    services: dict[str, Any] = {name: {**box, "container_name": name} for name in PROJECT}
    for name, chip in (("llm", "0"), ("embed", "4")):
        services[name]["environment"] = {"ASCEND_VISIBLE_DEVICES": chip}
    (folder / "docker-compose.yml").write_text(json.dumps({"version": "3", "services": services}))
    compose = [program("docker-compose"), "-p", "ai"]
    how: dict[str, Any] = {
        "cwd": folder,
        "env": {**os.environ, "DOCKER_HOST": f"unix://{containers.dockerd.socket}"},
        "stdout": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
    }
    client = subprocess.Popen([*compose, "up", "--abort-on-container-exit", "-t", "2"], **how)
    with closing(containers.dockerd.client()) as docker:
        eventually(lambda: len(docker.containers()) == len(PROJECT), why="the project runs")
    containers.names = list(PROJECT)
    containers.mark()
    yield client
    client.kill()
    client.wait(PATIENCE)
    subprocess.run([*compose, "down", "-t", "0"], timeout=PATIENCE, check=True, **how)
    containers.names = []


def test_whom_a_client_ends_because_of_our_stop_runs_again_and_whom_a_person_ends_does_not(
    on_docker: Install, containers: Containers, project: "subprocess.Popen[bytes]"
) -> None:
    service = on_docker({"levels.RestartRequest.reset_after": "1h"})
    service.start()
    service.inject(0, LATER)
    project.wait(PATIENCE)
    eventually(lambda: not any(containers.is_running(name) for name in PROJECT), why="the client has ended them")
    eventually(lambda: (service.container("web") or {}).get("status") == "paused", why="cmgr holds them")
    service.inject(0, LATER, assertion="cleared")
    service.until_over()
    eventually(lambda: all(containers.is_running(name) for name in PROJECT), why="all run again")
    assert "embed was stopped right after llm, because of that" in service.said()
    eventually(lambda: service.cmgr("status", "--check").code == WELL)
    containers.stop("embed")
    eventually(lambda: service.container("embed") is None, why="it is the person's")
    assert service.cmgr("status", "--check").code == WELL
