"""The real service is killed before and after commits and commands of a move to a spare chip, and ends it.

CMGR_CRASH_EVERY=1 tries every point; without it they are sampled.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from cmgr.errors import CmgrError
from cmgr.model.values.chips import ChipId
from cmgr.model.values.services.containers import ContainerKey
from cmgr.service.door.client import order
from cmgr.store.reader import open_reader
from tests.crash.crashing import Plan, program
from tests.crash.matrix import singles
from tests.crash.trial import ENVIRONMENT, Point
from tests.support.daemons.containerd import Containerd
from tests.support.daemons.dockerd import OBEYS
from tests.support.figures import Figures
from tests.support.service import Service
from tests.support.waiting import eventually
from tests.system.tasks import Tasks

pytestmark = [pytest.mark.containerd, pytest.mark.timeout(7200)]

HOME = 3

MADE = "before the task of chat, which is made, is started #1"
"""Such a task neither runs nor has it ended, and it is in the way of the next start."""


@pytest.fixture
def tasks(containerd: Containerd) -> Iterator[Tasks]:
    made = Tasks(containerd)
    yield made
    made.close()


class Move:
    """One container on a slot, whose chip is isolated while its service dies at a point, or nowhere."""

    def __init__(self, tasks: Tasks, folder: Path, number: int, *, slot: bool = True) -> None:
        self.tasks, self.slot = tasks, slot
        self.key = ContainerKey("containerd", tasks.containerd.namespaces[0], f"chat-{number}")
        address = tasks.containerd.socket
        folder.mkdir()
        stops = {"strategy": "singleRecover", "isolation.on_isolate": "stop"}
        self.service = Service(folder, {"runtimes": ["containerd"], "containerd.address": address, **stops})
        self.deaths = 0

    def play(self, end: Point) -> None:
        service, world = self.service, self.tasks.world
        service.start(ENVIRONMENT, self._program(end))
        if self.slot:
            assert service.cmgr("slot", "create", "chat", "--chips", str(HOME)).code == 0
            given = [word for line in ("CMGR_SLOT=chat", f"CMGR_CHIPS={HOME}") for word in ("--env", line)]
            world.run(self.key, *OBEYS, chips="", options=("--log-uri", f"file://{world.log(self.key)}", *given))
        else:
            world.run(self.key, *OBEYS, chips=str(HOME), labels={"cmgr.spare": "auto"})
        world.ready(self.key, 0)
        eventually(lambda: service.runs(self.key.id), why="cmgr knows it")
        self.tasks.mark()
        self._isolate()
        while eventually(self._state, f"it moves in {service.folder}") == "dead":
            self.deaths += 1
            service.start(ENVIRONMENT, self._program(None))
            self._isolate()  # It may have died before it had noted the order.
        self._check()
        service.kill9()
        world.remove(self.key)

    def _program(self, end: Point) -> list[str]:
        folder = self.service.folder
        return list(program(Plan(str(folder / "trace"), str(folder / "witness"), end)))

    def _isolate(self) -> None:
        with suppress(CmgrError):
            order(self.service.socket, "isolate", chip=HOME, reason="its fan is loud")

    def _state(self) -> str:
        if not self.service.running():
            return "dead"
        with suppress(CmgrError):
            row = self.service.container(self.key.id)
            quiet = all(ring["phase"] == "healthy" for ring in self.service.status()["rings"])
            return "moved" if row and row["status"] == "running" and row["chips"] != [HOME] and quiet else ""
        return ""

    def _check(self) -> None:
        with open_reader(self.service.database) as reader:
            node, commands = reader.node(), reader.commands()
        assert (dict(node.holds), commands) == ({}, ())
        if self.slot:
            assert node.slots["chat"].home == frozenset({ChipId(HOME)})
            chips, variable = node.slots["chat"].chips, "CMGR_CHIPS"
        else:
            assert node.containers[self.key].made_for == frozenset({str(HOME)})
            chips, variable = node.containers[self.key].kept.chips, "ASCEND_VISIBLE_DEVICES"
        # Which one is free depends on how far its own ring is by then.
        assert chips.isdisjoint(node.isolations)
        (chip,) = chips
        pid = self.tasks.world.task(self.key)[0]
        assert f"{variable}={chip}" in Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
        told = (self.tasks.count(self.key.id, "start"), self.tasks.count(self.key.id, "die"))
        assert told == (1, 1), "it was stopped and started once"

    def passed(self) -> list[str]:
        return (self.service.folder / "trace").read_text().splitlines()


@pytest.mark.parametrize("slot", [True, False], ids=["on a slot", "on none"])
def test_killed_anywhere_in_a_move_the_service_ends_on_the_spare(
    tasks: Tasks, tmp_path_factory: pytest.TempPathFactory, figures: Figures, slot: bool
) -> None:
    folder = tmp_path_factory.mktemp("m")
    alive = Move(tasks, folder / "alive", 0, slot=slot)
    alive.play(None)
    ends = list(dict.fromkeys([*singles(alive.passed()), (MADE,)]))
    deaths = 0
    for number, (end,) in enumerate(ends, 1):
        move = Move(tasks, folder / str(number), number, slot=slot)
        try:
            move.play(end)
        finally:
            move.service.close()
        deaths += move.deaths
    assert deaths >= max(1, len(ends) - 2), "hardly a point was missed"
    figures.add(
        "Crash matrix",
        "points killed at, a move to a spare chip" if slot else "points killed at, a move of one on no slot",
        deaths,
    )
