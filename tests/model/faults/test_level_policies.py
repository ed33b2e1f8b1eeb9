"""The settings of one level: only to be observed, and how long nobody must have used the ring before a reset."""

from dataclasses import replace
from enum import IntEnum

import pytest

from cmgr.model.values.faults import Level
from cmgr.model.values.handling.policy import DEFAULT_LEVELS, Levels, Policy, Strategy
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import NoteKind, ResetRing
from cmgr.model.values.rings import Phase
from tests.model.builders import MINOR, REQUEST, RESET, SEPARATE, Cmgr, container, seconds
from tests.model.faults.escalated import LINK_DOWN, isolated, ruled, rules


def policy(level: Level, **changes: object) -> Policy:
    levels = {**DEFAULT_LEVELS, level: replace(DEFAULT_LEVELS[level], **changes)}  # type: ignore[arg-type]
    return Policy(strategy=Strategy.RING, levels=levels)


def test_faults_of_a_level_that_is_only_observed_do_nothing_and_say_what_they_would() -> None:
    cmgr = Cmgr(container("a", 0), policy=policy(Level.RestartNPU, observe=True))
    cmgr.fault(0, RESET)
    cmgr.wait(600)
    assert (cmgr.phase(), cmgr.held(), cmgr.sent(ResetRing)) == (Phase.HEALTHY, [], [])
    assert cmgr.fault_of(0).active
    assert cmgr.notes(NoteKind.ACTION) == [
        f"would recover its ring for {RESET}, but faults of level RestartNPU are only observed"
    ]


def test_the_other_levels_are_handled_and_containers_come_back_beside_an_observed_fault() -> None:
    cmgr = Cmgr(container("a", 0), policy=policy(Level.RestartRequest, observe=True))
    cmgr.cures = False
    cmgr.fault(0, REQUEST)
    cmgr.fault(0, RESET)
    assert cmgr.held() == ["a"]
    cmgr.run_until(Phase.WAITING)
    cmgr.clears(0, RESET)
    cmgr.wait(10)
    assert (cmgr.held(), cmgr.phase()) == ([], Phase.HEALTHY)


def test_a_level_that_is_no_longer_only_observed_is_acted_on_at_once() -> None:
    cmgr = Cmgr(container("a", 0), policy=policy(Level.RestartNPU, observe=True))
    cmgr.fault(0, RESET)
    cmgr.tell(facts.Reconfigured(policy(Level.RestartNPU), cmgr.catalog))
    assert cmgr.held() == ["a"]


def test_no_chip_is_isolated_while_that_level_is_only_observed() -> None:
    cmgr = Cmgr(policy=policy(Level.SeparateNPU, observe=True))
    cmgr.fault(0, SEPARATE)
    assert isolated(cmgr) == {}
    assert any("would isolate the chip" in note for note in cmgr.notes(NoteKind.ACTION))
    cmgr.tell(facts.Reconfigured(policy(Level.SeparateNPU), cmgr.catalog))
    assert isolated(cmgr) == {0: "level"}


def test_nor_by_a_rule() -> None:
    cmgr = ruled(policy=policy(Level.SeparateNPU, observe=True), by=rules(duration=LINK_DOWN, code=MINOR))
    cmgr.fault(0, MINOR)
    cmgr.wait(30)
    assert isolated(cmgr) == {}
    assert any("would isolate the chip" in note for note in cmgr.notes(NoteKind.ACTION))
    cmgr.tell(facts.Reconfigured(policy(Level.SeparateNPU), cmgr.catalog))
    assert isolated(cmgr) == {0: "escalation"}


def test_a_ring_that_has_to_be_idle_is_reset_when_nobody_was_on_it_for_so_long() -> None:
    cmgr = Cmgr(container("a", 0), policy=policy(Level.RestartNPU, idle=seconds(60)))
    cmgr.fault(0, RESET)
    cmgr.wait(59)
    assert (cmgr.phase(), cmgr.sent(ResetRing)) == (Phase.WAITING, [])
    assert cmgr.ring().reason == "nobody is on chips 0-3; a reset comes when that has lasted 60 s"
    assert cmgr.ring().deadline is not None
    cmgr.wait(2)
    assert (len(cmgr.sent(ResetRing)), cmgr.phase(), cmgr.held()) == (1, Phase.HEALTHY, [])


def test_whoever_comes_meanwhile_makes_the_wait_begin_anew() -> None:
    cmgr = Cmgr(container("a", 0), policy=policy(Level.RestartNPU, idle=seconds(60)))
    cmgr.fault(0, RESET)
    cmgr.wait(40)
    cmgr.processes[1] = "train"
    cmgr.tell(facts.Resync())
    cmgr.run()
    del cmgr.processes[1]
    cmgr.wait(50)
    assert not cmgr.sent(ResetRing)
    cmgr.wait(30)
    assert len(cmgr.sent(ResetRing)) == 1


def test_so_does_a_container_and_a_restart_of_cmgr() -> None:
    cmgr = Cmgr(policy=policy(Level.RestartNPU, idle=seconds(60)))
    cmgr.fault(0, RESET)
    cmgr.wait(40)
    cmgr.sees(container("mine", 2, enabled=False))
    cmgr.run()
    cmgr.dies("mine", 0)
    cmgr.wait(40)
    assert not cmgr.sent(ResetRing)
    cmgr.begin()
    cmgr.wait(55)
    assert not cmgr.sent(ResetRing)
    cmgr.wait(10)
    assert len(cmgr.sent(ResetRing)) == 1


@pytest.mark.parametrize("after", [0.0, 30.0])
def test_a_fault_that_clears_while_the_ring_has_to_be_idle_needs_no_reset(after: float) -> None:
    cmgr = Cmgr(container("a", 0), policy=policy(Level.RestartNPU, idle=seconds(60)))
    cmgr.fault(0, RESET)
    cmgr.wait(after)
    cmgr.clears(0, RESET)
    cmgr.wait(20)
    assert (cmgr.sent(ResetRing), cmgr.held(), cmgr.phase()) == ([], [], Phase.HEALTHY)


def test_a_new_level_without_its_entry_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {level.name: level.value for level in Level}
    monkeypatch.setattr("cmgr.model.values.handling.policy.Level", IntEnum("Level", {**known, "Doubtful": 6}))
    with pytest.raises(AssertionError, match=r"^Doubtful: a level is a member of Level and a field of Levels$"):
        Levels().policies()
