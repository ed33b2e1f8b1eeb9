"""Services that are to be made ill: with Docker and containerd real and pretended, and with Ascend chips."""

import threading
from collections.abc import Iterator, Mapping

import pytest

from tests.fakes.dcmi.fixtures import ascend, workshop
from tests.sick.lively_containerd import LivelyContainerd, lively_containerd
from tests.sick.lively_dockerd import LivelyDockerd, lively_dockerd
from tests.support.service import Service, Setting
from tests.system.conftest import Install, containers, folder, install, on_docker
from tests.system.dcmi.conftest import furnish_alone

__all__ = ["ascend", "containers", "folder", "furnish_alone", "install", "on_docker", "workshop"]

HURRIED: Mapping[str, Setting] = {"docker.timeout": "3s", "containerd.timeout": "3s", "resync": "1s"}
"""A list may take 3 s, a look 0.5 s, a start 4.3 s, and an event stream be silent for 6.4 s."""


@pytest.fixture
def lively() -> Iterator[LivelyDockerd]:
    """A daemon with two containers on ring 0 and one on ring 4."""
    with lively_dockerd() as daemon:
        daemon.run("one", "0", **{"cmgr.stop-timeout": "0"})
        daemon.run("two", "1", **{"cmgr.stop-timeout": "0"})
        daemon.run("beside", "4")
        yield daemon


@pytest.fixture
def on_lively(install: Install, lively: LivelyDockerd) -> Install:
    """Install services whose containers are those of that daemon."""

    def made(settings: Mapping[str, Setting]) -> Service:
        return install({"runtimes": ["docker"], "docker.socket": lively.socket, **HURRIED, **settings})

    return made


@pytest.fixture
def tasks() -> Iterator[LivelyContainerd]:
    """A containerd with two containers on ring 0 and one on ring 4."""
    with lively_containerd() as daemon:
        daemon.run("one", "0", **{"cmgr.stop-timeout": "0"})
        daemon.run("two", "1", **{"cmgr.stop-timeout": "0"})
        daemon.run("beside", "4", **{"cmgr.stop-timeout": "0"})
        yield daemon


@pytest.fixture
def on_tasks(install: Install, tasks: LivelyContainerd) -> Install:
    """Install services whose containers are those of that containerd."""

    def made(settings: Mapping[str, Setting]) -> Service:
        return install({"runtimes": ["containerd"], "containerd.address": tasks.socket, **HURRIED, **settings})

    return made


@pytest.fixture
def healed() -> Iterator[threading.Event]:
    """Is set when a daemon is to be well again."""
    event = threading.Event()
    yield event
    event.set()
