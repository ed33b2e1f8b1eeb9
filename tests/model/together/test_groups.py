"""Members of a group stop together and start together, whatever the rings; nothing else changes for anybody else."""

from dataclasses import replace
from typing import Any

import pytest

from cmgr.model.holds.obstacles import start_blocker
from cmgr.model.invariants import unsafe
from cmgr.model.values.chips import ChipId
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.holds import Attempt, Cause, HoldState
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import (
    CommandId,
    ListContainers,
    NoteKind,
    ResetRing,
    SetRestartPolicy,
    StartContainer,
    StopContainer,
)
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import UNHEALTHY, Container, Heal
from cmgr.model.values.services.groups import Group, GroupPhase
from cmgr.model.wanted import missing
from tests.model.builders import RING, SEPARATE, SINGLE, Cmgr, container, key, names


def tp(*more: Container, settle: float = 0, **fields: Any) -> Cmgr:
    """Return a machine with the group tp: r0 on ring 0, r1 on ring 4, kv without chips; `fields` are r1's."""
    r1 = container("r1", 4, group="tp", **fields)
    return Cmgr(
        container("r0", 0, group="tp"), r1, container("kv", group="tp"), container("router", 9), *more,
        policy=SINGLE, settle=settle, chips=12,
    )  # fmt: skip


def group(cmgr: Cmgr, name: str = "tp") -> Group:
    return cmgr.node.groups[name]


def phase(cmgr: Cmgr) -> GroupPhase:
    return group(cmgr).phase


def running(cmgr: Cmgr) -> list[str]:
    return sorted(c.name for c in cmgr.truth.values() if c.running)


def halted(cmgr: Cmgr) -> Cmgr:
    """Return it with a fault on r0's chip, all members down, and the reset not answered."""
    cmgr.fault(0)
    cmgr.run(StopContainer, ListContainers)
    assert phase(cmgr) is GroupPhase.HALTING
    return cmgr


def test_a_fault_on_one_stops_all_in_the_same_turn_and_nobody_else() -> None:
    cmgr = tp()
    stopped = names(cmgr.fault(0))
    assert sorted(stopped) == ["kv", "r0", "r1"]
    assert {cmgr.hold(n).cause for n in ("r1", "kv")} == {Cause.GROUP}
    assert (cmgr.phase(0), cmgr.phase(4)) == (Phase.LISTING, Phase.HEALTHY)


def test_none_starts_before_all_can_and_then_all_do() -> None:
    cmgr = halted(tp())
    assert "group tp waits: r0 cannot be started: ring 0 is" in start_blocker(cmgr.node, cmgr.hold("r1")).why
    assert not cmgr.sent(StartContainer)
    cmgr.run()
    assert names(cmgr.log, StartContainer) == ["kv", "r0", "r1"]
    assert (phase(cmgr), cmgr.held(), running(cmgr)) == (GroupPhase.RUNNING, [], ["kv", "r0", "r1", "router"])
    (last,) = group(cmgr).history
    assert (last.number, last.outcome) == (1, "recovered")
    assert last.cause == "r0 stops for 80000005 (RestartNPU) on chip 0"
    assert [c.ring for c in cmgr.sent(ResetRing)] == [0], "the ring of the healthy is left alone"


def test_a_start_in_a_round_that_waits_is_unsafe() -> None:
    cmgr = halted(tp())
    start = StartContainer(CommandId("start-x"), "", key("r1"), "r1", "")
    cmgr.node = replace(
        cmgr.node, holds={**cmgr.node.holds, key("r1"): replace(cmgr.hold("r1"), attempt=Attempt(command=start.id))}
    )
    assert "group tp waits" in unsafe(cmgr.node, start)


def test_the_order_counts_within_the_group_whatever_the_rings() -> None:
    cmgr = tp(order=1)
    assert names(cmgr.fault(0)) == ["r1"], "the highest first"
    cmgr.answer(StopContainer)
    assert sorted(names(cmgr.pending)) == ["kv", "r0"]
    cmgr.run_until(Phase.RESUMING)
    while not cmgr.sent(StartContainer):
        cmgr.answer(type(cmgr.pending[0]))
    assert names(cmgr.log, StartContainer) == ["kv", "r0"]
    cmgr.run()
    assert names(cmgr.log, StartContainer) == ["kv", "r0", "r1"]


def test_the_order_of_another_group_delays_nobody() -> None:
    cmgr = tp(container("x", 1, group="dec", order=9), order=0)
    assert "x" not in names(cmgr.fault(0))
    assert sorted(cmgr.held()) == ["kv", "r0", "r1"]


def test_two_rings_of_one_group_that_fault_are_one_round() -> None:
    cmgr = tp()
    cmgr.fault(0)
    cmgr.fault(4)
    cmgr.run()
    assert (group(cmgr).round, len(cmgr.sent(ResetRing)), len(cmgr.sent(StartContainer))) == (1, 2, 3)


def test_a_member_on_an_isolated_chip_keeps_the_group_down_and_says_so() -> None:
    cmgr = tp()
    cmgr.fault(0, SEPARATE)
    assert running(cmgr) == ["kv", "r0", "r1", "router"], "that level alone stops nobody"
    cmgr.fault(1)
    cmgr.run()
    cmgr.tell(facts.GroupRestartOrdered("tp", "a", "try"))
    cmgr.run()
    assert (phase(cmgr), cmgr.phase(0)) == (GroupPhase.HALTING, Phase.HEALTHY)
    assert "r0 cannot be started: chip 0 is isolated" in start_blocker(cmgr.node, cmgr.hold("r1")).why
    assert running(cmgr) == ["router"]
    cmgr.faults[0].clear()
    cmgr.clears(0, SEPARATE)
    cmgr.tell(facts.ReleaseOrdered(ChipId(0), "a"))
    cmgr.run()
    assert running(cmgr) == ["kv", "r0", "r1", "router"]


def took_back(cmgr: Cmgr) -> None:
    cmgr.tell(facts.GroupRestartOrdered("tp", "b", back=True))


def test_an_ordered_restart_is_taken_back_and_who_was_not_stopped_yet_runs_on() -> None:
    cmgr = tp(order=1)
    cmgr.tell(facts.GroupRestartOrdered("tp", "a"))
    assert names(cmgr.pending) == ["r1"], "the highest first"
    took_back(cmgr)
    cmgr.run()
    assert (cmgr.held(), running(cmgr)) == ([], ["kv", "r0", "r1", "router"])
    assert names(cmgr.sent(StopContainer)) == ["r1"]
    assert names(cmgr.sent(StartContainer), StartContainer) == ["r1"]
    assert [each.outcome for each in group(cmgr).history] == ["taken back"]
    assert "b took back the restart of group tp that a ordered" in cmgr.notes(NoteKind.ACTION)


def test_taken_back_while_one_waits_all_others_run_again_and_what_was_down_before_stays_down() -> None:
    cmgr = tp()
    cmgr.fault(0, SEPARATE)
    cmgr.dies("kv", asked=True)
    cmgr.tell(facts.GroupRestartOrdered("tp", "a"))
    cmgr.run()
    assert (running(cmgr), phase(cmgr)) == (["router"], GroupPhase.HALTING)
    took_back(cmgr)
    cmgr.run()
    cmgr.wait(60)
    assert (running(cmgr), phase(cmgr)) == (["r1", "router"], GroupPhase.RUNNING)
    assert cmgr.held() == ["r0"], "its chip is isolated: it is started when it can be"
    assert missing(cmgr.node) == (key("r0"),)


def test_a_fault_that_came_meanwhile_is_not_taken_back() -> None:
    cmgr = tp()
    cmgr.tell(facts.GroupRestartOrdered("tp", "a"))
    cmgr.fault(0)
    cmgr.run(StopContainer, ListContainers)
    took_back(cmgr)
    cmgr.run()
    cmgr.wait(60)
    assert (cmgr.held(), running(cmgr), len(cmgr.sent(ResetRing))) == ([], ["kv", "r0", "r1", "router"], 1)


def test_a_round_that_nobody_ordered_cannot_be_taken_back() -> None:
    cmgr = halted(tp())
    took_back(cmgr)
    assert (phase(cmgr), cmgr.notes(NoteKind.ACTION)[-1].startswith("b took")) == (GroupPhase.HALTING, False)


def test_an_order_to_resume_starts_those_that_can_and_the_rest_when_they_can() -> None:
    cmgr = tp()
    cmgr.fault(0, SEPARATE)
    cmgr.tell(facts.GroupRestartOrdered("tp", "a"))
    cmgr.run()
    cmgr.tell(facts.GroupResumeOrdered("tp", "a"))
    cmgr.run()
    assert (running(cmgr), phase(cmgr)) == (["kv", "r1", "router"], GroupPhase.RUNNING)
    assert group(cmgr).out == frozenset({key("r0")})
    assert cmgr.held() == ["r0"], "it is not forgotten, and opens no round"
    cmgr.faults[0].clear()
    cmgr.clears(0, SEPARATE)
    cmgr.tell(facts.ReleaseOrdered(ChipId(0), "a"))
    cmgr.run()
    assert running(cmgr) == ["kv", "r0", "r1", "router"]
    assert group(cmgr).round == 1


def test_a_death_stops_all_where_healing_is_on_once_the_wait_bears_it_out() -> None:
    cmgr = tp(heal=Heal())
    cmgr.dies("r1")
    assert not cmgr.sent(StopContainer), "perhaps a person has stopped it"
    cmgr.wait(60)
    assert (group(cmgr).history[0].cause, running(cmgr)) == ("r1 died by itself", ["kv", "r0", "r1", "router"])
    assert sorted(names(cmgr.log)) == ["kv", "r0"]
    assert len(cmgr.sent(StartContainer)) == 3


def test_a_death_that_a_person_had_asked_for_stops_nobody() -> None:
    cmgr = tp(heal=Heal())
    cmgr.dies("r1", asked=True)
    cmgr.wait(60)
    assert (running(cmgr), cmgr.node.groups) == (["kv", "r0", "router"], {})
    assert not missing(cmgr.node)


def test_a_death_without_healing_stops_nobody_and_is_told() -> None:
    cmgr = tp()
    cmgr.dies("r1")
    cmgr.wait(60)
    assert (running(cmgr), [each.id for each in missing(cmgr.node)]) == (["kv", "r0", "router"], ["r1"])


def test_an_unhealthy_member_stops_all_where_healing_is_on() -> None:
    cmgr = tp(heal=Heal())
    cmgr.sees(replace(cmgr.truth[key("r1")], health=UNHEALTHY))
    cmgr.wait(60)
    assert (group(cmgr).history[0].cause, running(cmgr)) == ("r1 is unhealthy", ["kv", "r0", "r1", "router"])


def test_one_that_is_healed_too_often_stops_nobody_any_more() -> None:
    cmgr = tp(heal=Heal(limit=1))
    cmgr.dies("r1")
    cmgr.wait(60)
    cmgr.dies("r1")
    cmgr.wait(300)
    assert cmgr.hold("r1").state is HoldState.FAILED
    assert (group(cmgr).round, running(cmgr)) == (1, ["kv", "r0", "router"])


def test_those_that_died_with_a_member_come_back_with_it() -> None:
    cmgr = tp()
    cmgr.dies("r1")
    cmgr.fault(0)
    assert (cmgr.hold("r1").cause, cmgr.hold("r1").state) == (Cause.GROUP, HoldState.DOWN)
    cmgr.run()
    assert running(cmgr) == ["kv", "r0", "r1", "router"]


def test_a_person_who_stops_a_member_has_it_and_the_others_stop_and_start_without_it() -> None:
    cmgr = tp()
    cmgr.dies("r1", asked=True)
    assert not cmgr.node.groups
    halted(cmgr)
    cmgr.run()
    assert running(cmgr) == ["kv", "r0", "router"]


def test_a_member_that_a_person_forgets_in_mid_round_is_waited_for_no_longer() -> None:
    cmgr = tp()
    cmgr.fault(4, SEPARATE)
    cmgr.tell(facts.GroupRestartOrdered("tp", "a"))
    cmgr.run()
    assert running(cmgr) == ["router"]
    cmgr.tell(facts.ForgetOrdered(key("r1"), "a"))
    cmgr.run()
    assert (running(cmgr), phase(cmgr)) == (["kv", "r0", "router"], GroupPhase.RUNNING)


def test_a_member_that_is_removed_in_mid_round_is_waited_for_until_another_has_its_name() -> None:
    cmgr = halted(tp())
    cmgr.removes("r1")
    cmgr.run()
    assert (running(cmgr), phase(cmgr)) == (["router"], GroupPhase.HALTING)
    assert start_blocker(cmgr.node, cmgr.hold("kv")).why == "group tp waits: r1 was removed"
    cmgr.sees(replace(container("r1", 4, group="tp"), key=key("new"), run="made anew"))
    cmgr.run()
    assert (running(cmgr), phase(cmgr)) == (["kv", "r0", "r1", "router"], GroupPhase.RUNNING)
    assert "r1" in names(cmgr.log), "it began too early, and is stopped with the rest"


def test_a_group_of_which_nothing_is_left_has_no_round() -> None:
    cmgr = halted(tp())
    for name in ("r0", "r1", "kv"):
        cmgr.removes(name)
    cmgr.run()
    assert phase(cmgr) is GroupPhase.RUNNING
    cmgr.now += cmgr.policy.death_window * 100
    cmgr.tell(facts.Resync())
    cmgr.wait(3601)
    cmgr.tell(facts.Resync())
    assert not cmgr.node.groups


def test_a_member_that_is_removed_at_its_end_is_not_stopped_for_the_others_and_they_wait_for_it() -> None:
    cmgr = halted(tp(auto_remove=True))
    cmgr.run()
    assert running(cmgr) == ["r1", "router"]
    assert "r1 runs, and a stop would remove it (--rm)" in start_blocker(cmgr.node, cmgr.hold("kv")).why
    cmgr.removes("r1")
    cmgr.run()
    assert running(cmgr) == ["kv", "r0", "router"]


@pytest.mark.parametrize(
    ("fields", "why"),
    [({"enabled": False}, "its label says hands off"), ({"strategy": Strategy.NEVER}, "its strategy is never")],
)
def test_one_that_cmgr_must_not_stop_is_waited_for(fields: dict[str, Any], why: str) -> None:
    cmgr = halted(tp(**fields))
    cmgr.run()
    assert running(cmgr) == ["r1", "router"]
    assert why in start_blocker(cmgr.node, cmgr.hold("kv")).why
    cmgr.dies("r1", asked=True)
    cmgr.run()
    assert running(cmgr) == ["kv", "r0", "router"]


def test_one_that_cmgr_must_not_stop_and_whose_owner_starts_it_anew_is_waited_for_no_longer() -> None:
    cmgr = halted(tp(enabled=False))
    cmgr.run()
    cmgr.dies("r1", asked=True)
    cmgr.starts("r1", "again")
    cmgr.run()
    assert running(cmgr) == ["kv", "r0", "r1", "router"]


def test_in_maintenance_nothing_of_a_round_goes_on_and_afterwards_all_does() -> None:
    cmgr = halted(tp())
    cmgr.tell(facts.MaintenanceOrdered(on=True, who="a"))
    cmgr.run()
    assert (running(cmgr), phase(cmgr)) == (["router"], GroupPhase.HALTING)
    cmgr.tell(facts.GroupRestartOrdered("tp", "a"))
    assert group(cmgr).round == 1
    cmgr.tell(facts.MaintenanceOrdered(on=False, who="a"))
    cmgr.run()
    assert running(cmgr) == ["kv", "r0", "r1", "router"]


def test_a_start_that_fails_is_tried_again_in_the_round_and_the_others_wait_running() -> None:
    cmgr = halted(tp())
    while not cmgr.sent(StartContainer, "r1"):
        cmgr.answer(type(cmgr.pending[0]))
    cmgr.run(StopContainer)
    waiting = [c for c in cmgr.pending if isinstance(c, StartContainer)]
    assert waiting[-1].name == "r1"
    while cmgr.pending[0] is not waiting[-1]:
        cmgr.answer(type(cmgr.pending[0]))
    cmgr.answer(StartContainer, error="port in use")
    assert (phase(cmgr), group(cmgr).round) == (GroupPhase.STARTING, 1)
    cmgr.wait(60)
    assert (running(cmgr), group(cmgr).round) == (["kv", "r0", "r1", "router"], 1)


def until_failed(cmgr: Cmgr) -> None:
    """Refuse each start of r1 until it has failed, and the others are down with it."""
    for _ in range(400):
        if not cmgr.pending and running(cmgr) == ["router"] and cmgr.hold("r1").state is HoldState.FAILED:
            return
        if not cmgr.pending:
            cmgr.wait(5, run=False)
        command = cmgr.pending[0] if cmgr.pending else None
        if isinstance(command, StartContainer) and command.name == "r1":
            cmgr.pending.remove(command)
            cmgr.tell(facts.ContainerStarted(command.id, command.key, error="port in use"))
        elif command is not None:
            cmgr.answer(type(command))
    raise AssertionError("it never failed")


def test_a_member_that_cannot_be_started_at_all_takes_the_others_down_again() -> None:
    cmgr = halted(tp())
    until_failed(cmgr)
    assert (cmgr.hold("r1").state, phase(cmgr), running(cmgr)) == (HoldState.FAILED, GroupPhase.HALTING, ["router"])
    assert "r1 has failed: port in use" in start_blocker(cmgr.node, cmgr.hold("kv")).why
    cmgr.tell(facts.ResumeOrdered(key("r1"), "a"))
    cmgr.run()
    assert running(cmgr) == ["kv", "r0", "r1", "router"]


def test_all_are_tried_again_when_one_that_has_failed_is_due() -> None:
    cmgr = halted(tp())
    until_failed(cmgr)
    number = group(cmgr).round
    cmgr.wait(61, run=False)
    until_failed(cmgr)
    assert (group(cmgr).round, phase(cmgr)) == (number + 1, GroupPhase.HALTING)
    cmgr.wait(61)
    assert (running(cmgr), phase(cmgr)) == (["kv", "r0", "r1", "router"], GroupPhase.RUNNING)


def test_a_member_that_dies_soon_after_the_start_begins_another_round() -> None:
    cmgr = halted(tp(settle=30))
    cmgr.run()
    cmgr.dies("r1")
    cmgr.wait(200)
    assert (running(cmgr), group(cmgr).round) == (["kv", "r0", "r1", "router"], 2)
    assert cmgr.held() == []


def test_a_new_fault_in_mid_start_begins_another_round() -> None:
    cmgr = halted(tp())
    while not cmgr.sent(StartContainer):
        cmgr.answer(type(cmgr.pending[0]))
    cmgr.fault(4)
    assert (phase(cmgr), group(cmgr).round) == (GroupPhase.HALTING, 2)
    cmgr.run()
    assert running(cmgr) == ["kv", "r0", "r1", "router"]
    assert [r.outcome for r in group(cmgr).history] == ["again", "recovered"]


def test_what_something_starts_in_mid_round_is_stopped_again_and_given_up_after_three_times() -> None:
    cmgr = halted(tp())
    for again in range(4):
        cmgr.run(StopContainer, ListContainers, SetRestartPolicy)
        cmgr.starts("r1", f"unit {again}")
        cmgr.wait(4, run=False)
        cmgr.run(StopContainer, ListContainers, SetRestartPolicy)
    assert len([n for n in names(cmgr.log) if n == "r1"]) == 4
    assert (key("r1") in group(cmgr).out, "r1" in running(cmgr)) == (True, True)


def test_what_a_person_starts_in_mid_round_is_theirs_and_the_others_go_on() -> None:
    cmgr = halted(tp())
    cmgr.starts_by_hand("r1")
    assert "r1" not in cmgr.held()
    cmgr.run()
    assert running(cmgr) == ["kv", "r0", "r1", "router"]
    assert len([n for n in names(cmgr.log) if n == "r1"]) == 1


def test_a_restart_by_order_takes_all_in_also_those_that_are_down() -> None:
    cmgr = tp()
    cmgr.dies("r1", asked=True)
    cmgr.tell(facts.GroupRestartOrdered("tp", "uid 0", "new weights"))
    assert sorted(names(cmgr.pending)) == ["kv", "r0"]
    cmgr.run()
    assert running(cmgr) == ["kv", "r0", "r1", "router"]
    assert group(cmgr).history[0].cause == "ordered by uid 0: new weights"
    assert "uid 0 ordered that group tp is restarted: new weights" in cmgr.notes(NoteKind.ACTION)


def test_an_ordered_reset_stops_the_group_too() -> None:
    cmgr = tp()
    cmgr.tell(facts.ResetOrdered(ChipId(1), "a", stop=True))
    cmgr.run()
    assert sorted(names(cmgr.log)) == ["kv", "r0", "r1"]
    assert running(cmgr) == ["kv", "r0", "r1", "router"]


@pytest.mark.parametrize("steps", range(12))
def test_a_round_goes_on_in_the_next_life(steps: int) -> None:
    cmgr = tp(settle=30, restart_policy="always:0")
    cmgr.fault(0)
    for _ in range(steps):
        if cmgr.pending:
            cmgr.answer(type(cmgr.pending[0]))
    cmgr.begin()
    cmgr.wait(120)
    assert (running(cmgr), phase(cmgr), cmgr.held()) == (["kv", "r0", "r1", "router"], GroupPhase.RUNNING, [])
    assert cmgr.truth[key("r1")].restart_policy == "always:0"


def test_where_cmgr_only_observes_no_round_begins() -> None:
    cmgr = Cmgr(container("a", 0, group="g"), container("b", 4, group="g"), policy=replace(RING, observe=True))
    cmgr.fault(0)
    cmgr.run()
    assert (cmgr.node.groups, running(cmgr)) == ({}, ["a", "b"])
