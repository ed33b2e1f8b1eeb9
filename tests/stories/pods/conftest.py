"""A service for a private podman, and podman as a person types it."""

import json
import os
import shlex
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.daemons.daemon import root_folder
from tests.support.daemons.dockerd import IMAGE, OBEYS
from tests.support.daemons.podman import Podman
from tests.support.service import Service, Setting
from tests.support.waiting import PATIENCE, eventually
from tests.system.conftest import Install

OnPodman = Callable[..., Service]

FIRST = "cmgr-first:latest"
"""The image of a pod's first container. Podman would make one of a program that many a machine lacks (catatonit)."""

BY_DOCKER = "docker.io/library"
"""Before the names of images that come through Docker's interface podman puts this."""

CONTAINERS_CONF = f"""
[containers]
pids_limit = -1
[engine]
infra_image = "{BY_DOCKER}/{FIRST}"
"""
"""A limit on processes is more than many a sandbox bears."""


class Pods:
    """`close` removes all containers and pods."""

    def __init__(self, podman: Podman, folder: Path) -> None:
        self._podman = podman
        with closing(podman.client()) as client:
            name, tag = FIRST.split(":")
            changes = [f"CMD {json.dumps(OBEYS)}"]
            client.import_image_from_data(root_folder(), repository=name, tag=tag, changes=changes)
        conf = folder / "containers.conf"
        conf.write_text(CONTAINERS_CONF)
        self.environment = {**os.environ, "CONTAINERS_CONF": str(conf)}

    def __call__(self, *words: str) -> str:
        """Type a command of podman's, and return what it says."""
        done = subprocess.run(
            self._podman.command(*words),
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout.strip()

    def shell(self, script: str) -> "subprocess.Popen[bytes]":
        """Begin a script, in which `podman` is this one."""
        podman = f'podman() {{ command {shlex.join(self._podman.command())} "$@"; }}'
        return subprocess.Popen(
            ["sh", "-c", f"{podman}\n{script}"],
            env=self.environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def run(self, name: str, chips: str, *options: str) -> None:
        """Run a container that obeys; without chips it asks for none."""
        asks = ["--env", f"ASCEND_VISIBLE_DEVICES={chips}"] if chips else []
        self("run", "--detach", "--name", name, "--stop-timeout", "2", *asks, *options, IMAGE, *OBEYS)
        eventually(lambda: "ready" in self("logs", name), why=f"{name} is ready")

    def runs(self, name: str) -> bool:
        return self("inspect", "--format", "{{.State.Running}}", name) == "true"

    def life(self, name: str) -> str:
        return self("inspect", "--format", "{{.State.StartedAt}}", name)

    def close(self) -> None:
        self("pod", "rm", "--force", "--all")
        self("rm", "--force", "--all")


@pytest.fixture
def pods(podman: Podman, folder: Path) -> Iterator[Pods]:
    made = Pods(podman, folder)
    yield made
    made.close()


@pytest.fixture
def on_podman(install: Install, podman: Podman) -> OnPodman:
    """Install a service whose containers are those of the private podman."""

    def made(**settings: Setting) -> Service:
        how: dict[str, Setting] = {"runtimes": ["docker"], "docker.socket": podman.socket}
        return install({**how, **settings})

    return made
