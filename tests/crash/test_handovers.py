"""Compose makes a held container anew while the real service is killed at commits and calls, and goes on.

CMGR_CRASH_EVERY=1 tries every point; without it they are sampled.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from cmgr.errors import CmgrError
from cmgr.store.reader import open_reader
from tests.crash.crashing import Plan, program
from tests.crash.matrix import singles
from tests.crash.trial import ENVIRONMENT, Point
from tests.support.daemons.dockerd import IMAGE, OBEYS, Dockerd
from tests.support.figures import Figures
from tests.support.programs import program as installed
from tests.support.service import LATER, Service
from tests.support.waiting import PATIENCE, eventually
from tests.system.containers import Containers

pytestmark = [pytest.mark.docker, pytest.mark.timeout(7200)]


@pytest.fixture
def containers(dockerd: Dockerd) -> Iterator[Containers]:
    made = Containers(dockerd)
    yield made
    made.close()


class HandOver:
    """One service of a project, which compose makes anew while it is held; its cmgr dies at a point, or nowhere."""

    def __init__(self, containers: Containers, folder: Path, number: int) -> None:
        self.containers = containers
        self.name = f"served-{number}"
        folder.mkdir()
        command = [word.replace("$", "$$") for word in OBEYS]
        box: dict[str, object] = {
            "image": IMAGE,
            "network_mode": "none",
            "command": command,
            "container_name": self.name,
        }
        box |= {"restart": "always", "environment": {"ASCEND_VISIBLE_DEVICES": "0"}}
        (folder / "docker-compose.yml").write_text(json.dumps({"version": "3", "services": {self.name: box}}))
        socket = containers.dockerd.socket
        self.service = Service(
            folder, {"runtimes": ["docker"], "docker.socket": socket, "levels.RestartRequest.reset_after": "1h"}
        )
        self.deaths = 0
        self._old = ""

    def play(self, end: Point) -> None:
        service, containers = self.service, self.containers
        self._compose("up", "-d")
        containers.names = [self.name]
        eventually(lambda: containers.is_running(self.name), why="the project runs")
        service.start(ENVIRONMENT, self._program(end))
        self._old = eventually(self._id, why="cmgr knows it")
        with suppress(CmgrError):
            service.inject(0, LATER)
        eventually(lambda: not self._lives() or not containers.is_running(self.name), why="it is stopped")
        self._compose("up", "-d", "--force-recreate")
        eventually(lambda: not self._lives() or self._is_handed_over(), why="the successor is held, and down")
        self._go_on()
        with suppress(CmgrError):
            service.inject(0, LATER, "cleared")
        eventually(lambda: not self._lives() or self._is_over(), why=f"the episode ends in {service.folder}")
        self._go_on()
        eventually(self._is_over, why=f"the episode ends in {service.folder}")
        self._check()
        service.kill9()
        self._compose("down", "-t", "0")
        containers.names = []

    def _program(self, end: Point) -> list[str]:
        folder = self.service.folder
        return list(program(Plan(str(folder / "trace"), str(folder / "witness"), end)))

    def _lives(self) -> bool:
        return self.service.running()

    def _go_on(self) -> None:
        """Begin the next life where one has ended."""
        if not self._lives():
            self.deaths += 1
            self.service.start(ENVIRONMENT, self._program(None))
            eventually(self._is_handed_over, why="the next life has handed it over")
            with suppress(CmgrError):
                self.service.inject(0, LATER, "cleared")

    def _id(self, held: bool = False) -> str:
        """Return the id of the container that cmgr knows, or holds, by this name; nothing while it does not."""
        with suppress(CmgrError):
            row = self.service.container(self.name)
            return row["id"] if row and row["held"] is held else ""
        return ""

    def _knows(self) -> bool:
        """Return whether cmgr knows the heir, and holds it no more.

        It may have been killed with its very last commit, which could be read a moment before.
        """
        self._go_on()
        return self._id() not in ("", self._old)

    def _is_handed_over(self) -> bool:
        handed = self._id(held=True) not in ("", self._old) and not self.containers.is_running(self.name)
        return self._is_over() or handed

    def _is_over(self) -> bool:
        with open_reader(self.service.database) as reader:
            episodes, node = reader.episodes(10), reader.node()
        return bool(episodes) and all(e.ended for e in episodes) and not node.holds

    def _check(self) -> None:
        eventually(self._knows, why="cmgr knows the heir, and holds it no more")
        with open_reader(self.service.database) as reader:
            assert reader.commands() == ()
            assert not [e for e in reader.episodes(10) if e.outcome == "failed"]
        assert self.containers.is_running(self.name)
        assert self.containers.policy(self.name) == "always"
        texts = [note.text for note in self.service.notes()]
        assert not [text for text in texts if "is lost" in text], texts

    def _compose(self, *words: str) -> None:
        done = subprocess.run(
            [installed("docker-compose"), "-p", self.name, *words],
            cwd=self.service.folder,
            env={**os.environ, "DOCKER_HOST": f"unix://{self.containers.dockerd.socket}"},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    def passed(self) -> list[str]:
        return (self.service.folder / "trace").read_text().splitlines()


def test_killed_anywhere_while_compose_makes_a_held_container_anew_its_heir_runs_in_the_end(
    containers: Containers, tmp_path_factory: pytest.TempPathFactory, figures: Figures
) -> None:
    folder = tmp_path_factory.mktemp("h")
    alive = HandOver(containers, folder / "alive", 0)
    alive.play(None)
    ends = singles(alive.passed())
    deaths = 0
    for number, (end,) in enumerate(ends, 1):
        trial = HandOver(containers, folder / str(number), number)
        try:
            trial.play(end)
        finally:
            trial.service.close()
        deaths += trial.deaths
    assert deaths >= max(1, len(ends) - 3), "hardly a point was missed"
    figures.add("Crash matrix", "points killed at, a container that compose recreates", deaths)
