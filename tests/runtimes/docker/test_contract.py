"""The contract of a runtime, kept with a real Docker daemon."""

from collections.abc import Iterator

import pytest

from tests.runtimes.contract import ContainerContract
from tests.runtimes.docker.world import DockerWorld
from tests.support.daemons.dockerd import Dockerd

pytestmark = pytest.mark.docker


class TestDocker(ContainerContract):
    @pytest.fixture
    def world(self, dockerd: Dockerd) -> Iterator[DockerWorld]:
        world = DockerWorld(dockerd)
        yield world
        world.close()
