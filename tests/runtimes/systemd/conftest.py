"""A world of systemd's for each test."""

from collections.abc import Iterator

import pytest

from tests.runtimes.systemd.world import SystemdWorld
from tests.support.daemons.systemd import Systemd


@pytest.fixture
def world(systemd: Systemd) -> Iterator[SystemdWorld]:
    world = SystemdWorld(systemd)
    yield world
    world.close()
