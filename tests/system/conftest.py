"""Services as processes, with and without a real Docker daemon. Each ends with its test."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.daemons.containerd import Containerd
from tests.support.daemons.dockerd import Dockerd
from tests.support.service import Service, Setting
from tests.system.containers import Containers
from tests.system.tasks import Tasks

Install = Callable[[Mapping[str, Setting]], Service]


@pytest.fixture
def folder() -> Iterator[Path]:
    # A unix socket's path may have 107 characters: pytest's own folders are too deep.
    made = Path(tempfile.mkdtemp(prefix="cmgr-system-"))
    yield made
    shutil.rmtree(made)


@pytest.fixture
def install(folder: Path) -> Iterator[Install]:
    """Install services, not started, whose containers are pretended ones."""
    services: list[Service] = []

    def made(settings: Mapping[str, Setting]) -> Service:
        place = folder / str(len(services))
        place.mkdir()
        services.append(Service(place, settings))
        return services[-1]

    yield made
    for service in services:
        service.close()


@pytest.fixture
def containers(dockerd: Dockerd) -> Iterator[Containers]:
    made = Containers(dockerd)
    yield made
    made.close()


@pytest.fixture
def on_docker(install: Install, containers: Containers) -> Install:
    """Install services whose containers are those of the private Docker daemon."""

    def made(settings: Mapping[str, Setting]) -> Service:
        return install({"runtimes": ["docker"], "docker.socket": containers.dockerd.socket, **settings})

    return made


@pytest.fixture
def tasks(containerd: Containerd) -> Iterator[Tasks]:
    made = Tasks(containerd)
    yield made
    made.close()


@pytest.fixture
def on_containerd(install: Install, tasks: Tasks) -> Install:
    """Install services whose containers are those of the private containerd."""

    def made(settings: Mapping[str, Setting]) -> Service:
        address = tasks.containerd.socket
        return install({"runtimes": ["containerd"], "containerd.address": address, **settings})

    return made
