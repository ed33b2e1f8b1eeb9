"""The contract of a runtime, kept with a real containerd."""

from collections.abc import Iterator

import pytest

from tests.runtimes.containerd.world import ContainerdWorld
from tests.runtimes.contract import LONG, ContainerContract, only
from tests.runtimes.told import Told
from tests.runtimes.world import World
from tests.support.daemons.containerd import Containerd

pytestmark = pytest.mark.containerd


class TestContainerd(ContainerContract):
    @pytest.fixture
    def world(self, containerd: Containerd) -> Iterator[ContainerdWorld]:
        world = ContainerdWorld(containerd)
        yield world
        world.close()

    def test_setting_a_policy_starts_nothing(self, world: World, told: Told) -> None:
        # A policy that is in force is obeyed by containerd within seconds: one that starts nothing shows the call.
        key = world.create("web", policy=world.always)
        world.runtime.stop(key, LONG)
        world.runtime.set_restart_policy(key, "status=stopped&policy=always")
        assert not only(world).running
