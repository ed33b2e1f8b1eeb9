"""A person takes a project down and up again while cmgr holds it: what he made anew is held, and runs once afterwards.

People do so where a service does not answer. Tried in 2026 on cmgr as it was: it started what was being removed.
"""

import json
import os
import subprocess
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

CHIPS = {"llm": "0", "embed": "1", "web": ""}


def test_a_project_that_is_taken_down_and_up_in_an_episode_runs_once_after_it(
    on_docker: Install, containers: Containers, folder: Path
) -> None:
    box = {"image": IMAGE, "network_mode": "none", "command": [word.replace("$", "$$") for word in OBEYS]}
    services: dict[str, Any] = {name: {**box, "container_name": name} for name in CHIPS}
    for name, chip in CHIPS.items():
        if chip:
            services[name]["environment"] = {"ASCEND_VISIBLE_DEVICES": chip}
    (folder / "docker-compose.yml").write_text(json.dumps({"version": "3", "services": services}))

    def compose(*words: str) -> None:
        environment = {**os.environ, "DOCKER_HOST": f"unix://{containers.dockerd.socket}"}
        command = [program("docker-compose"), "-p", "ai", *words]
        subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=PATIENCE, check=True)

    compose("up", "-d")
    containers.names = list(CHIPS)
    eventually(lambda: all(containers.is_running(name) for name in CHIPS), why="the project runs")
    containers.mark()
    service = on_docker({"strategy": "ringRecover", "retry.settle": "0s", "levels.RestartRequest.reset_after": "1h"})
    service.start()
    service.inject(0, LATER)
    eventually(lambda: not containers.is_running("llm") and not containers.is_running("embed"), why="both are held")
    compose("down", "-t", "0")
    service.until_said("embed is lost: somebody removed it")
    compose("up", "-d")
    eventually(lambda: not containers.is_running("llm") and not containers.is_running("embed"), why="so are the new")
    assert service.cmgr("status", "--check").code != 0
    service.inject(0, LATER, "cleared")
    service.until_over()
    eventually(lambda: all(containers.is_running(name) for name in CHIPS), why="the project runs again")
    eventually(lambda: service.cmgr("status", "--check").code == 0, why="all is well")
    starts = [note.text for note in service.notes() if note.kind == "action" and note.text.startswith("start ")]
    assert sorted(text.split()[1] for text in starts) == ["embed", "llm"], "web was taken away as well"
    compose("down", "-t", "0")
    containers.names = []
