"""A world of systemd's for each test."""

from collections.abc import Iterator

import pytest

from cmgr.model.values.messages.facts import RuntimeUp
from tests.runtimes.systemd.world import SystemdWorld
from tests.runtimes.told import Told
from tests.support.daemons.systemd import Systemd


@pytest.fixture
def world(systemd: Systemd) -> Iterator[SystemdWorld]:
    world = SystemdWorld(systemd)
    yield world
    world.close()


@pytest.fixture
def told(world: SystemdWorld) -> Told:
    """Return all that the runtime has told since before the test began."""
    told = Told()
    world.runtime.watch(told.tell)
    told.first(RuntimeUp)
    return told
