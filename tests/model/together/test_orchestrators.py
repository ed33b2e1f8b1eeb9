"""Orchestrators make theirs anew by themselves: cmgr stops one where a reset needs that, and holds nothing."""

from dataclasses import replace
from typing import Any

import pytest

from cmgr.model.containers.moving.spares import free_chips
from cmgr.model.turn import REDEPLOY
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import ResetRing, StartContainer, StopContainer
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import Container
from cmgr.model.values.troubles import TroubleKind
from cmgr.runtimes.labels import OWNERS
from cmgr.view import containers as rows
from cmgr.view import troubles as view
from cmgr.view.advice import DRAINS
from cmgr.view.containers import stop_the_owner
from tests.model.builders import RESET, Cmgr, container, key, names

DRAIN = "on a manager: docker node update --availability drain $(hostname); afterwards: --availability active"


def task(number: int, chip: int = 0, owner: str = "swarm", **fields: Any) -> Container:
    return container(f"llm.1.task{number}", chip, run=f"life of {number}", owner=owner, **fields)


def succeeded(cmgr: Cmgr, number: int, **fields: Any) -> None:
    """Have the owner make another one, and cmgr do what it will."""
    cmgr.sees(task(number, **fields))
    cmgr.run(StopContainer)


def test_a_task_is_stopped_for_a_reset_and_neither_held_nor_started_nor_told_as_down() -> None:
    cmgr = Cmgr(task(1), container("mate", 1))
    cmgr.fault(0, RESET)
    cmgr.run()
    assert cmgr.phase() is Phase.HEALTHY
    assert sorted(names(cmgr.log)) == ["llm.1.task1", "mate"]
    assert [start.name for start in cmgr.sent(StartContainer)] == ["mate"]
    assert len(cmgr.sent(ResetRing)) == 1
    assert cmgr.held() == []
    assert not cmgr.booked("llm.1.task1").kept.wanted
    assert view.troubles(cmgr.node) == []


def test_one_that_died_of_a_fault_is_left_to_its_owner() -> None:
    cmgr = Cmgr(task(1))
    cmgr.dies("llm.1.task1")
    cmgr.fault(0, RESET)
    cmgr.run()
    assert (cmgr.held(), cmgr.sent(StartContainer), view.troubles(cmgr.node)) == ([], [], [])


def in_an_episode_without_end(*containers: Container) -> Cmgr:
    cmgr = Cmgr(*containers)
    cmgr.fault(0, RESET)
    cmgr.run(StopContainer)
    cmgr.processes[1] = "somebody's"  # So that the reset waits.
    return cmgr


@pytest.mark.parametrize("owner", ["swarm", "kubelet", "nomad", "balena", "gpustack"])
def test_the_first_successor_is_stopped_and_from_the_second_on_the_ring_waits(owner: str) -> None:
    cmgr = in_an_episode_without_end(task(1, owner=owner))
    succeeded(cmgr, 2, owner=owner)
    cmgr.wait(30)
    assert not cmgr.truth[key("llm.1.task2")].running
    for number in (3, 4):
        succeeded(cmgr, number, owner=owner)
        cmgr.wait(30)
        assert cmgr.truth[key(f"llm.1.task{number}")].running
    assert len(cmgr.sent(StopContainer)) == 2
    (first, _) = [t for t in view.troubles(cmgr.node) if t.kind is TroubleKind.OWNER]
    assert first.why == f"{owner} starts another in its place each time that cmgr stops one"
    assert owner in first.hint or "drain" in first.hint
    assert cmgr.sent(ResetRing) == []
    for number in (3, 4):
        cmgr.removes(f"llm.1.task{number}")
    cmgr.processes.clear()
    cmgr.run()
    cmgr.wait(60)
    assert len(cmgr.sent(ResetRing)) == 1


def test_the_line_to_type_is_told_with_the_trouble_and_with_the_container() -> None:
    cmgr = in_an_episode_without_end(task(1))
    for number in (2, 3):
        succeeded(cmgr, number)
        cmgr.wait(30)
    (trouble,) = [t for t in view.troubles(cmgr.node) if t.kind is TroubleKind.OWNER]
    assert trouble.hint == f"have swarm leave this machine alone: {DRAIN}"
    (row,) = [row for row in rows.containers(cmgr.node) if row["name"] == "llm.1.task3"]
    assert (row["hint"], row["owner"]) == (trouble.hint, "swarm")


@pytest.mark.parametrize("owner", sorted(set(OWNERS.values())))
def test_each_has_a_line_that_takes_the_machine_out_of_its_hands_and_one_that_gives_it_back(owner: str) -> None:
    line = stop_the_owner(task(1, owner=owner))
    assert line.startswith(f"have {owner} leave this machine alone: ")
    assert "; afterwards: " in line
    assert DRAINS.keys() == set(OWNERS.values())


def test_each_chip_has_successors_of_its_own() -> None:
    cmgr = in_an_episode_without_end(task(1), task(11, 1))
    succeeded(cmgr, 2)
    succeeded(cmgr, 12, chip=1)
    cmgr.wait(30)
    assert not any(cmgr.truth[key(f"llm.1.task{number}")].running for number in (2, 12))


def test_in_the_next_episode_they_are_counted_anew() -> None:
    cmgr = Cmgr(task(1))
    for number in (1, 2, 3):
        cmgr.fault(0, RESET)
        cmgr.run()
        assert not cmgr.truth[key(f"llm.1.task{number}")].running
        succeeded(cmgr, number + 1)
    assert len(cmgr.sent(ResetRing)) == 3


def test_an_owner_that_is_known_only_after_a_restart_of_cmgr_is_as_good() -> None:
    cmgr = Cmgr(task(1))
    cmgr.fault(0, RESET)
    assert cmgr.held() == ["llm.1.task1"]
    cmgr.begin()
    cmgr.run()
    assert (cmgr.held(), cmgr.sent(StartContainer)) == ([], [])


def test_its_chip_is_kept_for_the_successor_for_a_while() -> None:
    cmgr = Cmgr(task(1), container("other", 1), chips=2, ring=1)
    cmgr.dies("llm.1.task1", 0, asked=True)
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert free_chips(cmgr.node, "") == ()
    cmgr.wait(REDEPLOY.total_seconds())
    assert free_chips(cmgr.node, "") == (0,)


def test_what_has_no_owner_is_held_as_ever_beside_one_that_has() -> None:
    cmgr = Cmgr(task(1), replace(container("own", 1), restart_policy="always:0"))
    cmgr.fault(0, RESET)
    cmgr.run()
    assert (cmgr.booked("own").running, cmgr.booked("llm.1.task1").running) == (True, False)
