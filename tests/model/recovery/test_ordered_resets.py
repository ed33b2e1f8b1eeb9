"""Resets that a person orders: under the rules of every reset, except that the chips need no fault."""

from dataclasses import replace

import pytest

from cmgr.model.values.chips import ChipId, RingId
from cmgr.model.values.handling.policy import Policy
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import (
    ListContainers,
    NoteKind,
    PrepareReset,
    ReadRing,
    ResetRing,
    StopContainer,
)
from cmgr.model.values.rings import Phase
from tests.model.builders import REQUEST, RESET, RING, SEPARATE, SINGLE, Cmgr, container, died, key, names

WHO = "uid 0 (root)"
NEVER = Policy()
ONE = replace(RING, reset=replace(RING.reset, attempts=1))


def orders(cmgr: Cmgr, chip: int = 1, *, stop: bool = False) -> None:
    cmgr.tell(facts.ResetOrdered(ChipId(chip), WHO, stop))


def test_a_healthy_ring_that_nobody_uses_is_reset_once() -> None:
    cmgr = Cmgr(container("other", 4))
    orders(cmgr)
    cmgr.wait(60)
    (reset,) = cmgr.sent(ResetRing)
    assert (reset.chips, reset.faulty, reset.codes) == ((0, 1, 2, 3), (1,), frozenset())
    assert reset.reason == f"ordered by {WHO} for chip 1; nobody is on chips 0-3"
    assert (cmgr.phase(), dict(cmgr.node.reset_orders), len(cmgr.ring().resets)) == (Phase.HEALTHY, {}, 1)
    assert cmgr.notes(NoteKind.OPENED) == [f"a reset of chip 1 was ordered by {WHO}"]
    assert cmgr.notes(NoteKind.CLOSED)[0].startswith("episode 1 is over: recovered")
    assert names(cmgr.log) == []


def test_one_that_fails_is_not_told_as_a_recovery_though_all_runs_again() -> None:
    cmgr = Cmgr(container("a", 0))
    orders(cmgr, stop=True)
    cmgr.run(ListContainers, StopContainer, ReadRing, PrepareReset)
    cmgr.answer(ResetRing, error="the driver says no")
    cmgr.wait(60)
    assert (cmgr.phase(), cmgr.held(), cmgr.booked("a").running) == (Phase.HEALTHY, [], True)
    assert cmgr.notes(NoteKind.CLOSED)[0].startswith("episode 1 is over: failed")


@pytest.mark.parametrize("policy", [RING, SINGLE, NEVER])
def test_with_stop_the_containers_of_the_whole_ring_are_stopped_and_started_again(policy: Policy) -> None:
    cmgr = Cmgr(container("a", 0), container("mate", 3), container("other", 4), policy=policy)
    orders(cmgr, stop=True)
    assert names(cmgr.log) == ["a", "mate"]
    cmgr.wait(60)
    assert (len(cmgr.sent(ResetRing)), cmgr.held(), cmgr.phase()) == (1, [], Phase.HEALTHY)
    assert all(cmgr.booked(name).running for name in ("a", "mate", "other"))
    assert "a will be stopped, and started again when the reset is over" in cmgr.notes(NoteKind.HOLD)


def test_without_stop_it_waits_for_whoever_uses_the_ring() -> None:
    cmgr = Cmgr(container("a", 0))
    orders(cmgr)
    cmgr.wait(60)
    assert (cmgr.phase(), cmgr.ring().reason) == (
        Phase.WAITING, "the reset of chips 0-3 waits for a (strategy ringRecover)",
    )  # fmt: skip
    cmgr.dies("a", 143, asked=True)
    cmgr.run()
    assert (len(cmgr.sent(ResetRing)), cmgr.phase(), cmgr.held()) == (1, Phase.HEALTHY, [])


def test_it_lapses_when_nothing_could_be_done_for_ten_minutes_and_what_was_stopped_is_started() -> None:
    cmgr = Cmgr(container("a", 0), container("mine", 1, enabled=False))
    orders(cmgr, stop=True)
    cmgr.wait(599)
    assert (cmgr.phase(), cmgr.held()) == (Phase.WAITING, ["a"])
    cmgr.wait(2)
    assert (cmgr.phase(), cmgr.held(), cmgr.sent(ResetRing)) == (Phase.HEALTHY, [], [])
    assert (cmgr.booked("a").running, dict(cmgr.node.reset_orders)) == (True, {})
    assert any("is not done: nothing could be done for 10 min: the reset" in n for n in cmgr.notes(NoteKind.WARNING))


def test_a_process_on_the_ring_keeps_it_waiting() -> None:
    cmgr = Cmgr()
    cmgr.processes[2] = "python3"
    orders(cmgr)
    cmgr.wait(30)
    assert (cmgr.sent(ResetRing), cmgr.ring().reason) == ([], "process 99 (python3) is on chip 2")
    cmgr.processes.clear()
    cmgr.wait(15)
    assert (len(cmgr.sent(ResetRing)), cmgr.phase()) == (1, Phase.HEALTHY)


def test_one_that_the_driver_refuses_is_kept_and_tried_again_and_costs_nothing() -> None:
    cmgr = Cmgr()
    orders(cmgr)
    cmgr.run_until(Phase.RESETTING)
    cmgr.answer(ResetRing, error="process 7 is on chip 0", refused=True)
    assert (cmgr.phase(), cmgr.ring().resets) == (Phase.WAITING, ())
    cmgr.wait(30)
    assert (len(cmgr.sent(ResetRing)), len(cmgr.ring().resets), cmgr.phase()) == (2, 1, Phase.HEALTHY)


def test_one_that_fails_is_not_tried_again() -> None:
    cmgr = Cmgr(container("a", 0))
    orders(cmgr, stop=True)
    cmgr.run_until(Phase.RESETTING)
    cmgr.answer(ResetRing, error="the driver said no")
    cmgr.wait(60)
    assert (len(cmgr.sent(ResetRing)), cmgr.phase(), cmgr.held()) == (1, Phase.HEALTHY, [])


def test_it_counts_and_is_not_done_when_the_budget_is_used_up() -> None:
    cmgr = Cmgr(policy=ONE)
    orders(cmgr)
    cmgr.wait(30)
    orders(cmgr)
    cmgr.wait(30)
    assert (len(cmgr.sent(ResetRing)), cmgr.phase(), dict(cmgr.node.reset_orders)) == (1, Phase.HEALTHY, {})
    text = f"the reset of chip 1 that {WHO} ordered is not done: 1 reset of its ring within 6 h is used up"
    assert text in cmgr.notes(NoteKind.WARNING)


def test_after_it_a_fault_finds_the_budget_used_up_and_isolates() -> None:
    cmgr = Cmgr(policy=ONE)
    orders(cmgr)
    cmgr.wait(30)
    cmgr.fault(1)
    cmgr.wait(30)
    assert (len(cmgr.sent(ResetRing)), list(cmgr.node.isolations)) == (1, [1])


def test_an_isolated_chip_can_be_reset_and_stays_isolated() -> None:
    cmgr = Cmgr(container("mate", 1))
    cmgr.fault(0, SEPARATE)
    orders(cmgr, 0, stop=True)
    cmgr.wait(30)
    assert (len(cmgr.sent(ResetRing)), list(cmgr.node.isolations), cmgr.booked("mate").running) == (1, [0], True)
    cmgr.wait(301)
    assert not cmgr.node.isolations, "the reset has cured it, and it has been clean for long enough"


@pytest.mark.parametrize("phase", [Phase.LISTING, Phase.DRAINING, Phase.WAITING, Phase.RESUMING])
def test_it_joins_an_episode_that_is_under_way(phase: Phase) -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, REQUEST)
    if phase is Phase.RESUMING:
        cmgr.run()
        cmgr.clears(0, REQUEST)
    cmgr.run_until(phase)
    orders(cmgr, stop=True)
    cmgr.wait(30)
    (reset,) = cmgr.sent(ResetRing)
    assert (reset.codes, cmgr.phase(), cmgr.held()) == (frozenset(), Phase.HEALTHY, [])


@pytest.mark.parametrize("phase", [Phase.RESETTING, Phase.VERIFYING])
def test_one_more_is_not_made_right_after_a_reset_that_is_under_way(phase: Phase) -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.run_until(phase)
    orders(cmgr)
    cmgr.wait(30)
    assert (len(cmgr.sent(ResetRing)), cmgr.phase()) == (1, Phase.HEALTHY)
    assert f"{WHO} ordered a reset of chip 1: not done, its ring is just being reset" in cmgr.notes(NoteKind.WARNING)


def test_a_later_order_with_stop_means_those_too_that_a_person_had_started() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, REQUEST)
    cmgr.run()
    cmgr.starts_by_hand("a")
    orders(cmgr, stop=True)
    cmgr.wait(30)
    assert (len(cmgr.sent(ResetRing)), cmgr.held(), cmgr.booked("a").running) == (1, [], True)


def test_one_that_is_not_cmgrs_is_not_stopped_for_it() -> None:
    cmgr = Cmgr(container("mine", 0, enabled=False))
    orders(cmgr, stop=True)
    cmgr.wait(60)
    assert names(cmgr.log) == []
    assert "mine (label cmgr.enable=false)" in cmgr.ring().reason


def test_one_that_had_died_before_is_not_taken_for_a_fault_s_victim() -> None:
    cmgr = Cmgr(died("a", 0))
    orders(cmgr)
    cmgr.wait(60)
    assert (cmgr.held(), cmgr.booked("a").running, len(cmgr.sent(ResetRing))) == ([], False, 1)


def test_one_that_starts_during_it_is_stopped_and_started_again() -> None:
    cmgr = Cmgr(container("late", 0, running=False))
    orders(cmgr, stop=True)
    cmgr.run_until(Phase.VERIFYING)
    cmgr.starts_by_hand("late")
    assert cmgr.held() == ["late"]
    cmgr.wait(60)
    assert (cmgr.held(), cmgr.booked("late").running, cmgr.phase()) == ([], True, Phase.HEALTHY)


@pytest.mark.parametrize("phase", Phase)
def test_a_restart_in_any_phase_loses_neither_the_order_nor_doubles_the_reset(phase: Phase) -> None:
    cmgr = Cmgr(container("a", 0))
    if phase is not Phase.HEALTHY:
        orders(cmgr, stop=True)
        cmgr.run_until(phase)
        made = len(cmgr.sent(ResetRing))
        cmgr.begin()
        cmgr.wait(60)
        # A reset that was under way counts as made, for nobody knows.
        assert len(cmgr.sent(ResetRing)) == max(1, made)
    cmgr.wait(60)
    assert (cmgr.phase(), cmgr.held(), dict(cmgr.node.reset_orders)) == (Phase.HEALTHY, [], {})
    assert cmgr.booked("a").running


def test_a_second_order_while_the_first_waits_keeps_its_stop() -> None:
    cmgr = Cmgr(container("a", 0))
    orders(cmgr, stop=True)
    orders(cmgr, 2)
    assert cmgr.node.reset_orders[RingId(0)].stop
    cmgr.run()
    assert [r.faulty for r in cmgr.sent(ResetRing)] == [(2,)]


def test_of_a_chip_that_is_not_there_nothing_is_reset() -> None:
    cmgr = Cmgr()
    orders(cmgr, 99)
    assert not cmgr.node.reset_orders


def test_a_fault_in_the_middle_of_it_is_recovered_by_the_same_reset() -> None:
    cmgr = Cmgr(container("a", 0))
    orders(cmgr, stop=True)
    cmgr.run(StopContainer, ListContainers)
    cmgr.fault(2, RESET)
    cmgr.wait(60)
    assert (len(cmgr.sent(ResetRing)), cmgr.held(), cmgr.phase()) == (1, [], Phase.HEALTHY)


def test_two_rings_are_not_reset_at_once_because_a_person_wants_it() -> None:
    cmgr = Cmgr()
    orders(cmgr, 0)
    orders(cmgr, 4)
    cmgr.run_until(Phase.RESETTING)
    assert len(cmgr.sent(ResetRing)) == 1
    cmgr.wait(30)
    assert len(cmgr.sent(ResetRing)) == 2
    assert key("a") not in cmgr.node.holds


@pytest.mark.parametrize("phase", [Phase.LISTING, Phase.DRAINING, Phase.WAITING])
def test_one_that_waits_can_be_taken_back_and_what_was_stopped_for_it_is_started(phase: Phase) -> None:
    cmgr = Cmgr(container("a", 0), container("mine", 1, enabled=False))
    orders(cmgr, stop=True)
    cmgr.run_until(phase)
    cmgr.tell(facts.ResetOrdered(ChipId(2), "uid 7", back=True))
    cmgr.wait(60)
    assert (cmgr.phase(), cmgr.held(), cmgr.sent(ResetRing)) == (Phase.HEALTHY, [], [])
    assert (cmgr.booked("a").running, dict(cmgr.node.reset_orders)) == (True, {})
    assert f"uid 7 took back the reset of chip 1 that {WHO} ordered" in cmgr.notes(NoteKind.ACTION)


def test_one_that_is_taken_back_leaves_the_recovery_of_a_fault_as_it_was() -> None:
    cmgr = Cmgr(container("a", 0), policy=SINGLE)
    cmgr.fault(0)
    orders(cmgr)
    cmgr.tell(facts.ResetOrdered(ChipId(1), "uid 7", back=True))
    cmgr.wait(60)
    assert (len(cmgr.sent(ResetRing)), cmgr.phase(), cmgr.held()) == (1, Phase.HEALTHY, [])
    assert "ordered" not in cmgr.sent(ResetRing)[0].reason


def test_one_that_has_begun_is_not_taken_back() -> None:
    cmgr = Cmgr()
    orders(cmgr)
    cmgr.run_until(Phase.RESETTING)
    cmgr.tell(facts.ResetOrdered(ChipId(1), "uid 7", back=True))
    cmgr.wait(60)
    assert (len(cmgr.sent(ResetRing)), cmgr.phase()) == (1, Phase.HEALTHY)
    assert not any("took back" in note for note in cmgr.notes())


@pytest.mark.parametrize(("later", "policy"), [(0, NEVER), (3, SINGLE)])
def test_one_that_is_done_stops_nobody_for_a_later_fault(later: int, policy: Policy) -> None:
    cmgr = Cmgr(container("a", 0), container("mate", 1), policy=policy, settle=30)
    orders(cmgr, stop=True)
    cmgr.run_until(Phase.RESUMING)
    cmgr.run()
    cmgr.log.clear()
    cmgr.fault(later)
    cmgr.run()
    assert (cmgr.phase(), names(cmgr.log), dict(cmgr.node.reset_orders)) == (Phase.WAITING, [], {})
    assert (cmgr.booked("a").running, cmgr.booked("mate").running) == (True, True)
