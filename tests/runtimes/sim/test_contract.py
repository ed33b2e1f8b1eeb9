"""The contract of a runtime, kept by pretended containers."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.services.containers import DEFAULT_GRACE, NO_RESTART, ContainerKey
from cmgr.runtimes.sim.world import Pretended
from tests.runtimes.contract import ContainerContract
from tests.runtimes.sim.by_hand import RuntimeByHand


class SimWorld:
    always = "always:0"
    blames = True
    outlives = False

    def __init__(self) -> None:
        self.runtime = RuntimeByHand()
        self._names: dict[ContainerKey, str] = {}

    def create(
        self,
        name: str,
        *,
        chips: str = "0",
        policy: str = NO_RESTART,
        ignores_term: bool = False,
        auto_remove: bool = False,
        labels: bool = False,
    ) -> ContainerKey:
        like = Pretended(
            name,
            frozenset(chips.split(",")) if chips else frozenset(),
            strategy=Strategy.RING if labels else None,
            order=5 if labels else 0,
            enabled=not labels,
            grace=timedelta(seconds=33) if labels else DEFAULT_GRACE,
            restart_policy=policy,
            auto_remove=auto_remove,
            ignores_term=ignores_term,
        )
        key = self.runtime.create(like)
        self._names[key] = name
        return key

    def start(self, key: ContainerKey) -> None:
        self.runtime.start_by_hand(self._names[key])

    def stop(self, key: ContainerKey) -> None:
        self.runtime.stop_by_hand(self._names[key])

    def pause(self, key: ContainerKey) -> None:
        self.runtime.pause_by_hand(self._names[key])

    def resume(self, key: ContainerKey) -> None:
        self.runtime.resume_by_hand(self._names[key])

    def die(self, key: ContainerKey) -> None:
        self.runtime.kill(self._names[key])

    def remove(self, key: ContainerKey) -> None:
        self.runtime.remove(self._names[key])

    def restart_daemon(self) -> None:
        self.runtime.set_down()
        self.runtime.set_up()


class TestSim(ContainerContract):
    @pytest.fixture
    def world(self) -> Iterator[SimWorld]:
        world = SimWorld()
        yield world
        world.runtime.close()
