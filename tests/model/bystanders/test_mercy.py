"""Nobody whose own chips are well is down for long because of a reset that does not come."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from cmgr.model.values.chips import UNCLEAR, ChipId
from cmgr.model.values.faults import Level
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import (
    Action,
    ListContainers,
    NoteKind,
    ResetRing,
    StartContainer,
    StopContainer,
)
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import Container
from tests.model.builders import REQUEST, RING, Cmgr, answered, container, key, names, seconds

MERCY = RING.limits.mercy.total_seconds()
LLM, MATE = container("llm", 0), container("mate", 2)


def beset(*others: Container) -> Cmgr:
    """Return a ring whose chip 0 has a fault, and a process of nobody's that only the look before the reset finds."""
    cmgr = Cmgr(LLM, MATE, *others)
    cmgr.processes[0] = "train"
    cmgr.fault(0)
    cmgr.run()
    return cmgr


def runs(cmgr: Cmgr, *of: str) -> list[bool]:
    return [cmgr.booked(name).running for name in of or ("llm", "mate")]


def passes(cmgr: Cmgr, length: float, kind: type[Action], runtime: str = "", **fields: Any) -> None:
    """Let time pass in which commands of this kind, about that runtime, have this answer, and others the true one."""
    end = cmgr.now + seconds(length)
    while cmgr.now < end:
        while cmgr.pending:
            command = cmgr.pending[0]
            if isinstance(command, kind) and getattr(command, "runtime", "") == runtime:
                cmgr.pending.remove(command)
                cmgr.tell(answered(command, **fields))
            else:
                cmgr.answer(type(command))
        cmgr.wait(5, run=False)


def went_away(cmgr: Cmgr) -> None:
    cmgr.removes("other")


def was_stopped(cmgr: Cmgr) -> None:
    cmgr.dies("other", 143, asked=True)


@pytest.mark.parametrize("goes", [went_away, was_stopped])
@pytest.mark.parametrize(
    "other",
    [
        container("other", 0, enabled=False),
        container("other", 3, enabled=False),
        container("other", 3, strategy=Strategy.NEVER),
        container("other", 0, auto_remove=True),
        container("other", 3, strategy=Strategy.SINGLE),
        replace(container("other"), claims=frozenset({UNCLEAR})),
    ],
)
def test_before_a_healthy_mate_is_stopped_the_books_say_that_nobody_refuses_to_go(
    other: Container, goes: Callable[[Cmgr], None]
) -> None:
    cmgr = Cmgr(LLM, MATE, other, policy=replace(RING, reset=replace(RING.reset, widen_after=None)))
    cmgr.blind = {1}
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert names(cmgr.fault(0)) == ["llm"]
    cmgr.wait(3600)
    assert (names(cmgr.log), cmgr.sent(ResetRing), runs(cmgr)) == (["llm"], [], [False, True])
    assert "waits for other" in cmgr.ring().reason
    goes(cmgr)
    cmgr.wait(1)
    assert (names(cmgr.log), len(cmgr.sent(ResetRing)), cmgr.phase()) == (["llm", "mate"], 1, Phase.HEALTHY)
    assert runs(cmgr) == [True, True]


def test_one_that_a_person_starts_on_a_healthy_chip_while_the_reset_cannot_come_is_left_alone() -> None:
    cmgr = Cmgr(LLM, container("mine", 0, enabled=False))
    cmgr.fault(0)
    cmgr.wait(300)
    cmgr.sees(container("late", 2))
    cmgr.wait(300)
    assert (names(cmgr.log), cmgr.booked("late").running) == (["llm"], True)


def test_a_process_of_nobody_on_a_chip_that_nobody_has_refuses_to_go() -> None:
    cmgr = Cmgr(LLM, MATE)
    cmgr.processes[3] = "train"
    cmgr.tell(facts.Resync())
    cmgr.run()
    cmgr.fault(0)
    cmgr.wait(600)
    assert names(cmgr.log) == ["llm"]
    assert cmgr.ring().reason == (
        "the reset of chips 0-3 waits, and mate runs until nothing is in the way: process 99 (train) on chip 3"
    )
    cmgr.processes.clear()
    cmgr.wait(60)
    assert (names(cmgr.log), cmgr.phase(), runs(cmgr)) == (["llm", "mate"], Phase.HEALTHY, [True, True])


def test_who_was_stopped_for_a_reset_that_does_not_come_is_given_back_and_told_and_not_stopped_before_it_can() -> None:
    cmgr = beset()
    assert (names(cmgr.log), runs(cmgr)) == (["llm", "mate"], [False, False])
    cmgr.wait(MERCY - 2)
    assert runs(cmgr) == [False, False]
    cmgr.wait(4)
    assert (runs(cmgr), cmgr.held(), cmgr.phase()) == ([False, True], ["llm"], Phase.WAITING)
    assert cmgr.notes(NoteKind.WARNING)[-1] == (
        "the reset of chips 0-3 has not begun within 5 min (limits.mercy): mate runs again until it can, "
        "on chips that are well: process 99 (train) is on chip 0"
    )
    cmgr.wait(3600)
    assert (names(cmgr.log), runs(cmgr)) == (["llm", "mate"], [False, True])
    assert cmgr.ring().reason.endswith("mate runs until nothing is in the way: process 99 (train) on chip 0")
    cmgr.processes.clear()
    cmgr.wait(60)
    assert (names(cmgr.log), len(cmgr.sent(ResetRing)), cmgr.phase()) == (["llm", "mate", "mate"], 1, Phase.HEALTHY)
    assert runs(cmgr) == [True, True]


def test_where_it_goes_away_by_itself_meanwhile_nobody_is_stopped_again() -> None:
    cmgr = beset()
    cmgr.wait(MERCY + 60)
    cmgr.clears(0)
    cmgr.wait(60)
    assert (cmgr.phase(), runs(cmgr), names(cmgr.log), cmgr.sent(ResetRing)) == (
        Phase.HEALTHY, [True, True], ["llm", "mate"], [],
    )  # fmt: skip


def test_the_time_in_which_others_are_being_stopped_does_not_count_and_one_that_cannot_be_stopped_is_no_such() -> None:
    cmgr = Cmgr(LLM, MATE, container("slow", 1))
    cmgr.fault(0)
    cmgr.run_until(Phase.DRAINING)
    while names([c for c in cmgr.pending if isinstance(c, StopContainer)]) != ["slow"]:
        cmgr.pending.sort(key=lambda c: getattr(c, "name", "") == "slow")
        cmgr.answer(type(cmgr.pending[0]))
    cmgr.wait(2 * MERCY, run=False)
    assert (runs(cmgr), cmgr.sent(StartContainer)) == ([False, False], [])
    passes(cmgr, 2 * MERCY, StopContainer, error="it is in state D")
    assert (runs(cmgr, "llm", "mate", "slow"), names(cmgr.log, StartContainer)) == ([False, True, True], ["mate"])


def test_where_the_driver_refuses_without_a_visible_reason_its_mates_are_not_stopped_for_each_try() -> None:
    cmgr = Cmgr(LLM, MATE)
    cmgr.fault(0)
    passes(cmgr, MERCY + 120, ResetRing, error="in use", refused=True)
    assert runs(cmgr) == [False, True]
    passes(cmgr, 3000, ResetRing, error="in use", refused=True)
    assert (runs(cmgr), names(cmgr.log)) == ([False, True], ["llm", "mate"])
    cmgr.wait(900)
    assert (cmgr.phase(), runs(cmgr), names(cmgr.log)) == (Phase.HEALTHY, [True, True], ["llm", "mate", "mate"])


def test_a_chip_that_does_not_answer_is_given_up_while_its_mates_run() -> None:
    cmgr = Cmgr(LLM, MATE, policy=replace(RING, reset=replace(RING.reset, boot_timeout=seconds(3 * MERCY))))
    cmgr.fault(0)
    cmgr.silent = {0}
    cmgr.wait(MERCY + 120)
    assert (runs(cmgr), list(cmgr.node.isolations)) == ([False, True], [])
    cmgr.wait(2 * MERCY)
    assert (runs(cmgr), list(cmgr.node.isolations), names(cmgr.log)) == ([False, True], [0], ["llm", "mate"])
    assert "does not answer" in cmgr.node.isolations[ChipId(0)].reason


def test_a_reset_that_waits_by_its_level_keeps_no_mate_down_for_that() -> None:
    levels = {
        **RING.levels,
        Level.RestartRequest: replace(RING.levels[Level.RestartRequest], reset_after=seconds(3600)),
    }
    cmgr = Cmgr(LLM, MATE, policy=replace(RING, levels=levels))
    cmgr.fault(0, REQUEST)
    cmgr.wait(MERCY + 10)
    assert (runs(cmgr), names(cmgr.log)) == ([False, True], ["llm", "mate"])
    cmgr.wait(3600)
    assert (cmgr.phase(), len(cmgr.sent(ResetRing)), names(cmgr.log)) == (Phase.HEALTHY, 1, ["llm", "mate", "mate"])


def test_a_runtime_that_does_not_say_who_uses_the_ring_keeps_no_mate_down_for_that() -> None:
    cmgr = Cmgr(LLM, MATE, runtimes=("docker", "containerd"))
    cmgr.tell(facts.RuntimeDown("containerd", "no such socket"))
    cmgr.fault(0)
    passes(cmgr, MERCY + 60, ListContainers, "containerd", error="no such socket")
    assert (runs(cmgr), cmgr.sent(ResetRing)) == ([False, True], [])
    cmgr.wait(60)
    assert (cmgr.phase(), runs(cmgr), len(cmgr.sent(ResetRing))) == (Phase.HEALTHY, [True, True], 1)


def test_a_member_of_a_group_goes_back_with_its_group_or_not_at_all() -> None:
    job = [container(name, chip, group="job") for name, chip in (("rank-0", 1), ("rank-1", 5))]
    tied = [container(name, chip, group="tied") for name, chip in (("first", 0), ("second", 3))]
    cmgr = beset(*job, *tied)
    cmgr.wait(MERCY + 60)
    assert runs(cmgr, "rank-0", "rank-1", "first", "second") == [True, True, False, False]
    assert "first" not in cmgr.notes(NoteKind.WARNING)[-1]


def test_a_person_who_wants_the_ring_empty_has_it_empty() -> None:
    cmgr = beset()
    cmgr.wait(MERCY + 60)
    cmgr.tell(facts.ResetOrdered(ChipId(0), "uid 0", stop=True))
    cmgr.run()
    assert runs(cmgr) == [False, False]
    cmgr.wait(MERCY + 60)
    assert runs(cmgr) == [False, False]
    cmgr.wait(600)
    assert runs(cmgr) == [False, True], "the order has lapsed"


def test_a_mate_whose_own_chip_is_ill_stays_down() -> None:
    cmgr = beset(container("ill", 1))
    cmgr.fault(1, REQUEST)
    cmgr.wait(MERCY + 60)
    assert runs(cmgr, "mate", "ill") == [True, False]


def test_a_restart_of_cmgr_gives_back_in_its_time_what_was_down() -> None:
    cmgr = beset()
    cmgr.wait(MERCY - 60)
    cmgr.begin()
    cmgr.wait(120)
    assert (runs(cmgr), key("mate") in cmgr.node.holds) == ([False, True], False)


def test_a_ring_that_is_to_be_idle_for_longer_is_idle_so_long_and_reset() -> None:
    idle = replace(RING.levels[Level.RestartNPU], idle=seconds(3 * MERCY))
    cmgr = Cmgr(LLM, MATE, policy=replace(RING, levels={**RING.levels, Level.RestartNPU: idle}))
    cmgr.fault(0)
    cmgr.wait(2 * MERCY)
    assert runs(cmgr) == [False, False]
    cmgr.wait(MERCY + 60)
    assert (cmgr.phase(), len(cmgr.sent(ResetRing)), names(cmgr.log)) == (Phase.HEALTHY, 1, ["llm", "mate"])


def test_the_time_begins_anew_with_a_reset_that_did_not_cure() -> None:
    cmgr = Cmgr(LLM, MATE, policy=replace(RING, reset=replace(RING.reset, backoff=seconds(60))))
    cmgr.cures = False
    cmgr.fault(0)
    cmgr.run_until(Phase.RESETTING)
    cmgr.wait(MERCY + 60, run=False)
    cmgr.answer(ResetRing, error="timed out")
    cmgr.cures = True
    cmgr.wait(120)
    assert (cmgr.phase(), names(cmgr.log), runs(cmgr)) == (Phase.HEALTHY, ["llm", "mate"], [True, True])


def test_nobody_is_given_back_to_a_chip_of_which_nothing_is_known_since_a_reset_that_failed() -> None:
    cmgr = Cmgr(LLM, MATE, policy=replace(RING, reset=replace(RING.reset, backoff=seconds(3600))))
    cmgr.fault(0)
    cmgr.run_until(Phase.RESETTING)
    cmgr.answer(ResetRing, error="timed out")
    cmgr.wait(2 * MERCY, run=False)
    assert (cmgr.phase(), runs(cmgr), cmgr.sent(StartContainer)) == (Phase.WAITING, [False, False], [])
    cmgr.wait(MERCY)
    assert (cmgr.phase(), runs(cmgr)) == (Phase.HEALTHY, [True, True])


def test_whom_somebody_new_keeps_from_the_reset_each_time_is_stopped_ever_more_seldom() -> None:
    cmgr = beset()
    end = cmgr.now + seconds(6 * 3600)
    while cmgr.now < end:
        cmgr.run(StartContainer)
        cmgr.processes = {} if runs(cmgr, "mate")[0] else {0: "train"}
        cmgr.wait(20, run=False)
        while cmgr.pending and not isinstance(cmgr.pending[0], StopContainer):
            cmgr.answer(type(cmgr.pending[0]))
        cmgr.processes = {0: "train"} if cmgr.pending else cmgr.processes
        cmgr.run()
    assert 5 <= names(cmgr.log).count("mate") <= 9


def test_after_a_restart_of_cmgr_mates_that_were_given_back_are_not_stopped_before_it_is_known_who_is_there() -> None:
    cmgr = beset()
    cmgr.wait(MERCY + 60)
    cmgr.begin()
    cmgr.wait(600)
    assert (runs(cmgr), names(cmgr.log)) == ([False, True], ["llm", "mate"])
    cmgr.processes.clear()
    cmgr.wait(60)
    assert (cmgr.phase(), runs(cmgr), names(cmgr.log)) == (Phase.HEALTHY, [True, True], ["llm", "mate", "mate"])


def test_while_mates_run_whoever_is_in_the_way_now_is_named() -> None:
    """Not what was so when they were given back: that a look was late, or somebody who has gone since."""
    cmgr = beset()
    cmgr.wait(MERCY + 60)
    cmgr.processes[0] = "eval"
    cmgr.wait(60)
    assert cmgr.ring().reason.endswith("mate runs until nothing is in the way: process 99 (eval) on chip 0")


def test_while_the_last_look_is_under_way_and_the_books_know_of_nobody_it_is_about_to_be_reset() -> None:
    cmgr = Cmgr(LLM, MATE)
    cmgr.fault(0)
    cmgr.run_until(Phase.WAITING)
    cmgr.wait(MERCY + 60, run=False)
    assert (cmgr.notes(NoteKind.WARNING), cmgr.sent(StartContainer), runs(cmgr)) == ([], [], [False, False])
    cmgr.wait(60)
    assert (len(cmgr.sent(ResetRing)), names(cmgr.log), runs(cmgr)) == (1, ["llm", "mate"], [True, True])
