"""Services that are to be made ill: with Docker and containerd real and pretended, and with Ascend chips."""

from collections.abc import Iterator, Mapping

import pytest

from tests.fakes.dcmi.fixtures import ascend, workshop
from tests.sick.daemons import DAEMONS, HURRIED, Daemon, furnished
from tests.sick.lively_dockerd import LivelyDockerd, lively_dockerd
from tests.support.service import Service, Setting
from tests.system.conftest import Install, containers, folder, install, on_docker
from tests.system.dcmi.conftest import furnish_alone

__all__ = ["ascend", "containers", "folder", "furnish_alone", "install", "on_docker", "workshop"]


def _upon(install: Install, daemon: Daemon) -> Install:
    def made(settings: Mapping[str, Setting]) -> Service:
        return install({**daemon.settings, **HURRIED, **settings})

    return made


@pytest.fixture(params=DAEMONS)
def daemon(request: pytest.FixtureRequest) -> Iterator[Daemon]:
    """Docker's, and then containerd's."""
    with furnished(DAEMONS[request.param]) as daemon:
        yield daemon


@pytest.fixture
def on_daemon(install: Install, daemon: Daemon) -> Install:
    """Install services whose containers are those of that daemon."""
    return _upon(install, daemon)


@pytest.fixture
def lively() -> Iterator[LivelyDockerd]:
    """Docker's, for what is no matter of the runtime."""
    with furnished(lively_dockerd) as daemon:
        yield daemon


@pytest.fixture
def on_lively(install: Install, lively: LivelyDockerd) -> Install:
    return _upon(install, lively)
