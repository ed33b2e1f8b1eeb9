"""Both ways to run a program in the host: as a child, and as a unit of a real systemd."""

import pytest

from cmgr.host.host import Host
from tests.support.daemons.systemd import Systemd


@pytest.fixture
def children() -> Host:
    return Host("", "systemd has not begun it")


@pytest.fixture
def by_systemd(systemd: Systemd) -> Host:
    return Host(systemd.socket, "")


@pytest.fixture(params=["children", "by_systemd"])
def host(request: pytest.FixtureRequest) -> Host:
    found: Host = request.getfixturevalue(request.param)
    return found
