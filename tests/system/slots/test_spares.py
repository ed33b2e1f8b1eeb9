"""Spares that do not suffice, or fault themselves: the real service, real containers on a private containerd."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import pytest

from cmgr.service.door.client import order
from tests.support.daemons.containerd import Containerd
from tests.support.service import LATER, Service, Setting
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Spec
from tests.system.tasks import Tasks

pytestmark = pytest.mark.containerd

MAY_MOVE = {"cmgr.spare": "auto"}


@pytest.fixture
def tasks(containerd: Containerd) -> Iterator[Tasks]:
    made = Tasks(containerd)
    yield made
    made.close()


@pytest.fixture
def service(install: Install, tasks: Tasks) -> Service:
    """Return a service with three chips, each a ring of its own."""
    places: Mapping[str, Setting] = {"runtimes": ["containerd"], "containerd.address": tasks.containerd.socket}
    more = {"strategy": "singleRecover", "isolation.on_isolate": "stop", "levels.RestartRequest.reset_after": "1h"}
    made = install({**places, **more, "sim.chips": 3, "sim.ring": 1})
    made.start()
    return made


def isolate(service: Service, chip: int) -> None:
    order(service.socket, "isolate", chip=chip, reason="its fan is loud")


def rows(service: Service) -> Mapping[str, tuple[str, list[int], str]]:
    return {c["name"]: (c["status"], c["chips"], c["reason"]) for c in service.status()["containers"]}


def given(tasks: Tasks, name: str) -> str:
    """Return the chips that the container's process was given; nothing while none runs."""
    pid = tasks.world.task(tasks.keys[name])[0]
    lines: list[str] = []
    with suppress(OSError):
        lines = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0") if pid else []
    return next((line.partition("=")[2] for line in lines if line.startswith("ASCEND_VISIBLE_DEVICES=")), "")


def test_two_faults_and_one_spare_give_it_to_one_and_the_other_waits_for_its_chip(
    service: Service, tasks: Tasks
) -> None:
    tasks.run(Spec("chat", "0", labels=MAY_MOVE), Spec("code", "1", labels=MAY_MOVE))
    eventually(lambda: service.runs("chat") and service.runs("code"), why="cmgr knows both")
    isolate(service, 0)
    isolate(service, 1)

    def settled() -> bool:
        told = sorted(rows(service).values(), key=lambda row: row[0])
        return [(status, "no spare of its kind is free" in why) for status, _, why in told] == [
            ("paused", True),
            ("running", False),
        ]

    eventually(settled, why="one runs on the spare, and the other waits")
    (moved,) = (name for name, row in rows(service).items() if row[0] == "running")
    (waits,) = {"chat", "code"} - {moved}
    home = {"chat": "0", "code": "1"}
    assert given(tasks, moved) == "2"
    assert service.cmgr("status", "--check").code == 4
    assert service.cmgr("release", home[waits]).code == 0
    eventually(lambda: given(tasks, waits) == home[waits] and service.runs(waits), why="it runs where it was")
    assert given(tasks, moved) == "2"


def test_a_spare_that_is_isolated_while_the_container_starts_on_it_is_left_for_another(
    service: Service, tasks: Tasks
) -> None:
    tasks.run(Spec("chat", "0", labels=MAY_MOVE))
    eventually(lambda: service.runs("chat"), why="cmgr knows it")
    service.inject(0, LATER)
    service.until_said("chat is stopped")
    tasks.containerd.freeze()
    try:
        isolate(service, 0)
        service.until_said("chat moves from chip 0")
        (spare,) = rows(service)["chat"][1]
        isolate(service, spare)
    finally:
        tasks.containerd.thaw()
    (other,) = {1, 2} - {spare}
    eventually(lambda: given(tasks, "chat") == str(other) and service.runs("chat"), why="it runs on the other spare")
    assert rows(service)["chat"][1] == [other]
