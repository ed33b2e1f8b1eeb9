"""The contract of a runtime, kept by units of a real systemd."""

from collections.abc import Iterator

import pytest

from tests.runtimes.contract import RuntimeContract
from tests.runtimes.systemd.world import SystemdWorld
from tests.support.daemons.systemd import Systemd


class TestSystemd(RuntimeContract):
    @pytest.fixture
    def world(self, systemd: Systemd) -> Iterator[SystemdWorld]:
        world = SystemdWorld(systemd)
        yield world
        world.close()
