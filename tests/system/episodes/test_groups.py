"""A group over two rings with a real Docker daemon: stopped together, started together, through the death of cmgr."""

import pytest

from tests.support.service import NOW
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker

LABELS = {"cmgr.group": "tp4"}
MEMBERS = ("rank0", "rank1", "kv")


def test_a_round_over_two_rings_goes_on_after_a_kill_and_nobody_starts_early(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker({"strategy": "singleRecover", "sim.chips": 8, "sim.ring": 4, "sim.reset_time": "2s"})
    containers.run(
        Spec("rank0", "0", labels=LABELS), Spec("rank1", "4", labels=LABELS), Spec("kv", "", labels=LABELS),
        Spec("beside", "5"),
    )  # fmt: skip
    service.start()
    eventually(lambda: service.container("rank1"), why="the books know the members")
    service.inject(0, NOW)
    eventually(lambda: not any(containers.is_running(name) for name in MEMBERS), why="all members are down")
    assert [containers.count(name, "start") for name in MEMBERS] == [0, 0, 0]
    service.kill9()
    service.start()
    eventually(lambda: all(containers.is_running(name) for name in MEMBERS), why="all members run again")
    assert [containers.count(name, "start") for name in (*MEMBERS, "beside")] == [1, 1, 1, 0]
    texts = [note.text for note in service.notes()]
    ready = texts.index("group tp4: all members are down and can be started")
    assert min(texts.index(f"start {name}") for name in MEMBERS) > ready
