"""A service whose metrics are on, as a process of its own."""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.fakes.dcmi.fixtures import ascend, workshop
from tests.fakes.nvml.fixtures import gpu_workshop, nvidia
from tests.metrics.scrape import free_port
from tests.support.service import Service, Setting

__all__ = ["ascend", "gpu_workshop", "nvidia", "workshop"]

Install = Callable[[Mapping[str, Setting]], Service]


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def install(port: int) -> Iterator[Install]:
    """Install the service, not started, with two pretended containers on chip 0."""
    # A unix socket's path may have 107 characters: pytest's own folders are too deep.
    folder = Path(tempfile.mkdtemp(prefix="cmgr-metrics-"))
    services: list[Service] = []

    def made(settings: Mapping[str, Setting]) -> Service:
        service = Service(folder, {"metrics.listen": f"127.0.0.1:{port}", **settings})
        services.append(service)
        service.pretend("one", "two")
        return service

    yield made
    for service in services:
        service.close()
    shutil.rmtree(folder)


@pytest.fixture
def service(install: Install) -> Service:
    return install({})
