"""The contract of a runtime, kept by pretended containers."""

from collections.abc import Iterator
from datetime import timedelta

import pytest

from cmgr.model.values.handling.policy import NO_TIME, Strategy
from cmgr.model.values.services.containers import DEFAULT_GRACE, NO_RESTART, ContainerKey
from tests.runtimes.contract import ContainerContract
from tests.runtimes.sim.by_hand import RuntimeByHand, pretended


class SimWorld:
    always = "always:0"
    blames = True
    blames_again = True
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
        like = pretended(
            name,
            *(chips.split(",") if chips else ()),
            strategy=Strategy.RING if labels else None,
            order=5 if labels else 0,
            enabled=not labels,
            grace=timedelta(seconds=33) if labels else DEFAULT_GRACE,
            restart_policy=policy,
            stop_time=timedelta(days=1) if ignores_term else NO_TIME,
        )
        key = self.runtime.create(like, auto_remove=auto_remove)
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
