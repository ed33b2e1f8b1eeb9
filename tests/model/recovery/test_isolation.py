"""Isolated chips: by level, by an exhausted budget; what may be used meanwhile; how isolation ends."""

from dataclasses import replace

import pytest

from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Isolation
from cmgr.model.values.handling.policy import OnIsolate
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import NoteKind, ReadRing, ResetRing, StartContainer, StopContainer
from cmgr.model.values.rings import Phase
from tests.model.builders import REQUEST, RESET, RING, SEPARATE, T0, Cmgr, container, names, seconds

STOP = replace(RING, isolation=replace(RING.isolation, on_isolate=OnIsolate.STOP))


def isolated(cmgr: Cmgr) -> list[int]:
    return sorted(cmgr.node.isolations)


def exhausted() -> Cmgr:
    """Return a ring that was reset three times, whose fourth fault isolated chip 0."""
    cmgr = Cmgr(container("a", 0), container("mate", 1))
    for _ in range(3):
        cmgr.fault(0)
        cmgr.wait(1)
    cmgr.fault(0)
    cmgr.wait(1)
    return cmgr


def test_a_fault_that_asks_for_separation_isolates_the_chip_and_leaves_its_containers_alone() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, SEPARATE)
    cmgr.wait(10)
    assert (isolated(cmgr), cmgr.phase(), names(cmgr.log), cmgr.sent(ResetRing)) == ([0], Phase.HEALTHY, [], [])
    assert cmgr.notes(NoteKind.ISOLATION) == [f"chip 0 is isolated: {SEPARATE} asks for it (SeparateNPU)"]


def test_with_on_isolate_stop_the_containers_of_that_chip_are_stopped_and_held_until_it_is_released() -> None:
    cmgr = Cmgr(container("a", 0), container("mate", 1), policy=STOP)
    assert names(cmgr.fault(0, SEPARATE)) == ["a"]
    cmgr.run()
    assert (cmgr.phase(), cmgr.held(), cmgr.sent(ResetRing)) == (Phase.HEALTHY, ["a"], [])
    assert cmgr.notes(NoteKind.OPENED) == ["isolated: chip 0, and a runs there"]
    assert cmgr.notes(NoteKind.CLOSED)[0].startswith("episode 1 is over: isolated")
    cmgr.clears(0, SEPARATE)
    cmgr.wait(301)
    assert (isolated(cmgr), cmgr.held(), cmgr.booked("a").running) == ([], [], True)


def test_with_on_isolate_stop_one_that_starts_later_on_that_chip_is_stopped_too() -> None:
    cmgr = Cmgr(container("late", 0, running=False), policy=STOP)
    cmgr.fault(0, SEPARATE)
    cmgr.run()
    assert names(cmgr.starts_by_hand("late")) == ["late"]
    cmgr.run()
    assert (cmgr.phase(), cmgr.held()) == (Phase.HEALTHY, ["late"])


def test_with_on_isolate_stop_one_that_cannot_be_stopped_is_named() -> None:
    cmgr = Cmgr(container("a", 0), policy=STOP)
    cmgr.fault(0, SEPARATE)
    cmgr.run_until(Phase.DRAINING)
    cmgr.answer(StopContainer, error="timed out")
    assert (cmgr.phase(), cmgr.ring().reason) == (Phase.RESUMING, "stopping a: timed out")
    cmgr.wait(5)
    assert (cmgr.phase(), cmgr.held(), cmgr.booked("a").running) == (Phase.HEALTHY, ["a"], False)


def test_healthy_ring_mates_of_an_isolated_chip_go_on_being_recovered() -> None:
    cmgr = Cmgr(container("mate", 1))
    cmgr.fault(0, SEPARATE)
    cmgr.fault(1)
    cmgr.run()
    assert (len(cmgr.sent(ResetRing)), cmgr.booked("mate").running) == (1, True)


def test_a_fault_of_an_isolated_chip_opens_no_episode() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, SEPARATE)
    assert names(cmgr.fault(0)) == []
    assert cmgr.phase() is Phase.HEALTHY


def test_nothing_is_started_on_an_isolated_chip() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, REQUEST)
    cmgr.run()
    cmgr.fault(0, SEPARATE)
    cmgr.run()
    assert (cmgr.phase(), cmgr.held(), cmgr.sent(StartContainer)) == (Phase.HEALTHY, ["a"], [])


def test_when_one_more_reset_would_be_needed_the_faulty_chip_is_isolated_instead() -> None:
    cmgr = exhausted()
    assert (isolated(cmgr), len(cmgr.sent(ResetRing)), cmgr.phase()) == ([0], 3, Phase.HEALTHY)
    assert cmgr.node.isolations[ChipId(0)].by == "budget"
    reason = f"{RESET} is still there and 3 resets of its ring within 6 h are used up"
    assert cmgr.node.isolations[ChipId(0)].reason == reason
    assert (cmgr.held(), cmgr.booked("mate").running) == (["a"], True)


def test_a_mate_that_has_not_booted_when_the_budget_is_used_up_is_isolated_until_it_has() -> None:
    policy = replace(RING, reset=replace(RING.reset, attempts=1))
    cmgr = Cmgr(container("a", 0), container("mate", 1), container("other", 2), policy=policy)
    cmgr.fault(0)
    cmgr.run_until(Phase.VERIFYING)
    cmgr.faults[0].add(RESET)
    cmgr.unbooted = {1}
    cmgr.wait(1000)
    assert (isolated(cmgr), cmgr.phase(), cmgr.held()) == ([0, 1], Phase.HEALTHY, ["a", "mate"])
    assert cmgr.node.isolations[ChipId(1)].reason == "it has not come up since its reset"
    cmgr.unbooted = set()
    cmgr.wait(11)
    assert (isolated(cmgr), cmgr.held(), cmgr.booked("mate").running) == ([0], ["a"], True)


def test_isolation_ends_by_itself_when_the_chip_has_been_clean_for_long_enough() -> None:
    cmgr = exhausted()
    cmgr.wait(1000)
    assert isolated(cmgr) == [0]
    cmgr.clears(0)
    cmgr.wait(299)
    assert isolated(cmgr) == [0]
    cmgr.wait(2)
    assert (isolated(cmgr), cmgr.held(), cmgr.booked("a").running) == ([], [], True)
    assert "chip 0 is released: no fault for 5 min" in cmgr.notes(NoteKind.ISOLATION)


def test_a_handled_fault_meanwhile_begins_the_clean_period_anew() -> None:
    cmgr = Cmgr()
    cmgr.fault(0, SEPARATE)
    cmgr.clears(0, SEPARATE)
    cmgr.wait(200)
    cmgr.fault(0, REQUEST)
    cmgr.clears(0, REQUEST)
    cmgr.wait(250)
    assert isolated(cmgr) == [0]
    cmgr.wait(51)
    assert isolated(cmgr) == []


def test_a_chip_is_released_only_on_the_word_of_a_read_out_made_then() -> None:
    cmgr = Cmgr()
    cmgr.fault(0, SEPARATE)
    cmgr.clears(0, SEPARATE)
    cmgr.run()
    cmgr.faults[0].add(RESET)
    cmgr.wait(301)
    assert (isolated(cmgr), cmgr.phase(), cmgr.fault_of(0).active) == ([0], Phase.HEALTHY, True)


@pytest.mark.parametrize("silent", [True, False])
def test_a_chip_that_is_not_up_is_not_released_before_it_has_been_up_for_as_long(silent: bool) -> None:
    cmgr = Cmgr()
    cmgr.fault(0, SEPARATE)
    cmgr.clears(0, SEPARATE)
    cmgr.silent, cmgr.unbooted = ({0}, set()) if silent else (set(), {0})
    for _ in range(100):
        cmgr.wait(100)
        cmgr.tell(facts.Resync())
    assert isolated(cmgr) == [0]
    assert len(cmgr.sent(ReadRing)) < 500
    cmgr.silent, cmgr.unbooted = set(), set()
    cmgr.tell(facts.Resync())
    cmgr.wait(299)
    assert isolated(cmgr) == [0]
    cmgr.wait(2)
    assert isolated(cmgr) == []


def test_the_silence_of_an_isolated_chip_keeps_no_mate_from_being_released() -> None:
    cmgr = Cmgr()
    cmgr.tell(facts.IsolateOrdered(ChipId(3), "it is broken", "uid 0"))
    cmgr.silent = {3}
    cmgr.fault(0, SEPARATE)
    cmgr.clears(0, SEPARATE)
    cmgr.wait(320)
    assert isolated(cmgr) == [3]


def test_a_person_releases_a_chip_and_the_budget_of_its_ring_begins_anew() -> None:
    cmgr = exhausted()
    cmgr.clears(0)
    cmgr.tell(facts.ReleaseOrdered(ChipId(0), "uid 0"))
    cmgr.run()
    assert (isolated(cmgr), cmgr.held(), cmgr.ring().resets) == ([], [], ())
    assert "chip 0 is released by uid 0" in cmgr.notes(NoteKind.ISOLATION)


def test_a_chip_that_is_released_with_its_fault_is_recovered_once_more() -> None:
    cmgr = exhausted()
    cmgr.tell(facts.ReleaseOrdered(ChipId(0), "uid 0"))
    assert cmgr.phase() is Phase.LISTING
    cmgr.wait(5)
    assert (cmgr.phase(), len(cmgr.ring().resets), cmgr.held()) == (Phase.HEALTHY, 1, [])


def test_a_chip_whose_fault_asks_for_separation_is_isolated_again_at_once() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, SEPARATE)
    cmgr.tell(facts.ReleaseOrdered(ChipId(0), "uid 0"))
    assert isolated(cmgr) == [0]
    assert cmgr.node.isolations[ChipId(0)].reason == f"{SEPARATE} asks for it (SeparateNPU)"


@pytest.mark.parametrize("chip", [1, 99])
def test_an_order_to_release_what_is_not_isolated_is_ignored(chip: int) -> None:
    cmgr = Cmgr()
    cmgr.fault(0, SEPARATE)
    assert cmgr.tell(facts.ReleaseOrdered(ChipId(chip), "uid 0")) == []


def test_an_isolation_by_an_operator_ends_only_by_an_operator() -> None:
    cmgr = Cmgr()
    by_hand = Isolation(ChipId(0), T0, "operator", "to be swapped on Monday", clean_since=T0)
    cmgr.node = replace(cmgr.node, isolations={ChipId(0): by_hand})
    cmgr.wait(100_000)
    assert isolated(cmgr) == [0]
    cmgr.tell(facts.ReleaseOrdered(ChipId(0), "uid 0"))
    assert isolated(cmgr) == []


def test_an_isolation_survives_a_restart_with_its_clean_period() -> None:
    cmgr = Cmgr()
    cmgr.fault(0, SEPARATE)
    cmgr.clears(0, SEPARATE)
    cmgr.wait(200)
    cmgr.begin()
    cmgr.wait(101)
    assert isolated(cmgr) == []


def test_another_fault_of_an_isolated_chip_leaves_the_reason_as_it_was() -> None:
    cmgr = exhausted()
    cmgr.fault(0, SEPARATE)
    assert cmgr.node.isolations[ChipId(0)].by == "budget"
    cmgr.now += seconds(1)
    assert len(cmgr.notes(NoteKind.ISOLATION)) == 1
