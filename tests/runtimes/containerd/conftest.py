"""A world of containerd's for each test, unless its file makes one of its own, and what belongs to it."""

from collections.abc import Iterator

import pytest

from cmgr.model.values.messages.facts import RuntimeUp
from cmgr.model.values.services.containers import ContainerKey
from tests.runtimes.containerd.world import ContainerdWorld
from tests.runtimes.told import Told
from tests.support.daemons.containerd import Containerd


@pytest.fixture
def world(containerd: Containerd) -> Iterator[ContainerdWorld]:
    world = ContainerdWorld(containerd)
    yield world
    world.close()


@pytest.fixture
def key(world: ContainerdWorld) -> ContainerKey:
    return ContainerKey("containerd", world.namespace, "web")


@pytest.fixture
def told(world: ContainerdWorld) -> Told:
    told = Told()
    world.runtime.watch(told.tell)
    told.first(RuntimeUp)
    return told
