"""When time alone can change something; what must not go out; what counts as stuck."""

from dataclasses import replace
from typing import cast

import pytest

from cmgr.model.invariants import stuck, unsafe
from cmgr.model.reduce import next_deadline
from cmgr.model.values.chips import ChipId, RingId
from cmgr.model.values.faults import FaultCode, Isolation
from cmgr.model.values.handling.policy import backed_off, look_again_after
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import CommandId, ReadRing, ResetRing, StartContainer, StopContainer
from cmgr.model.values.rings import EDGES, Phase, Ring, entered, resets_within
from cmgr.model.values.services.containers import DEFAULT_GRACE, NO_RESTART
from tests.model.builders import REQUEST, SEPARATE, T0, Cmgr, container, key, seconds


def due(cmgr: Cmgr) -> float | None:
    """Return in how many seconds a tick is wanted."""
    at = next_deadline(cmgr.node, cmgr.now)
    return None if at is None else (at - cmgr.now).total_seconds()


def test_a_quiet_machine_waits_for_no_time() -> None:
    assert due(Cmgr(container("a", 0))) is None


def test_a_tick_is_wanted_when_a_fault_has_lasted() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, REQUEST)
    cmgr.run()
    assert due(cmgr) == pytest.approx(60, abs=0.1)


def test_a_tick_is_wanted_when_a_stop_is_tried_again() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, REQUEST)
    cmgr.answer(StopContainer, error="timed out")
    assert due(cmgr) == 1


def test_a_tick_is_wanted_when_a_runtime_is_asked_again() -> None:
    cmgr = Cmgr()
    cmgr.tell(facts.Resync())
    cmgr.answer(type(cmgr.pending[0]), error="timed out")
    assert due(cmgr) == 1


def test_a_tick_is_wanted_when_a_chip_may_be_released_but_not_for_an_operators_isolation() -> None:
    cmgr = Cmgr()
    cmgr.fault(0, SEPARATE)
    cmgr.clears(0, SEPARATE)
    assert due(cmgr) == 300
    by_hand = Isolation(ChipId(0), T0, "operator", "", clean_since=T0)
    assert next_deadline(replace(cmgr.node, isolations={ChipId(0): by_hand}), cmgr.now) is None


def test_what_is_past_and_still_there_asks_for_no_tick() -> None:
    cmgr = Cmgr(container("a", 0), container("mine", 1, enabled=False))
    cmgr.fault(0, REQUEST)
    cmgr.wait(100)
    assert (cmgr.phase(), due(cmgr)) == (Phase.WAITING, None)


def reset_of(cmgr: Cmgr) -> ResetRing:
    return ResetRing(CommandId("x"), "", RingId(0), cmgr.ring().chips, (ChipId(0),), frozenset({FaultCode("1")}))


def test_a_reset_under_a_running_container_is_unsafe() -> None:
    cmgr = Cmgr(container("a", 3))
    assert unsafe(cmgr.node, reset_of(cmgr)) == "a runs on ring 0"


@pytest.mark.parametrize(
    ("resets", "why"), [(0, "0 resets are over the budget"), (3, ""), (4, "4 resets are over the budget")]
)
def test_a_reset_beyond_the_budget_is_unsafe(resets: int, why: str) -> None:
    cmgr = Cmgr()
    cmgr.node = replace(cmgr.node, rings={RingId(0): replace(cmgr.ring(), resets=(T0,) * resets)})
    assert unsafe(cmgr.node, reset_of(cmgr)) == why


def test_a_start_or_stop_of_what_is_not_held_is_unsafe() -> None:
    cmgr = Cmgr(container("a", 0))
    start = StartContainer(CommandId("x"), "", key("a"), "a", NO_RESTART)
    stop = StopContainer(CommandId("x"), "", key("a"), "a", DEFAULT_GRACE)
    assert (unsafe(cmgr.node, start), unsafe(cmgr.node, stop)) == ("a is not held", "a is not held")
    cmgr.fault(0)
    assert unsafe(cmgr.node, stop) == "a is not held"
    assert unsafe(cmgr.node, cmgr.sent(StopContainer)[0]) == ""


def test_a_start_on_a_chip_that_is_isolated_or_in_an_episode_is_unsafe() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.run_until(Phase.RESUMING)
    start = cmgr.sent(StartContainer)[0]
    assert unsafe(cmgr.node, start) == ""
    cmgr.fault(0, SEPARATE)
    assert unsafe(cmgr.node, start) == f"chip 0 is isolated: {SEPARATE} asks for it (SeparateNPU)"
    cmgr.fault(1)
    assert unsafe(replace(cmgr.node, isolations={}), start).startswith("ring 0 is in an episode (listing)")


def test_other_commands_are_safe() -> None:
    cmgr = Cmgr()
    assert unsafe(cmgr.node, ReadRing(CommandId("x"), "", RingId(0), cmgr.ring().chips)) == ""


@pytest.mark.parametrize("phase", [p for p in Phase if p not in (Phase.HEALTHY, Phase.WAITING)])
def test_a_ring_that_waits_for_nothing_is_stuck(phase: Phase) -> None:
    cmgr = Cmgr()
    cmgr.node = replace(cmgr.node, rings={RingId(0): replace(cmgr.ring(), phase=phase, reason="no reason")})
    assert stuck(cmgr.node) == (f"ring 0 is stuck in {phase}: no reason",)


def test_a_ring_in_an_episode_without_a_reason_is_stuck() -> None:
    cmgr = Cmgr()
    cmgr.node = replace(cmgr.node, rings={RingId(0): replace(cmgr.ring(), phase=Phase.WAITING)})
    assert stuck(cmgr.node) == ("ring 0 is stuck in waiting: ",)


@pytest.mark.parametrize("before", Phase)
@pytest.mark.parametrize("after", Phase)
def test_a_ring_moves_along_its_edges_only(before: Phase, after: Phase) -> None:
    ring = Ring(RingId(0), (), before, deadline=T0, ask_at=T0)
    if (before, after) in EDGES:
        assert entered(ring, after, T0, "why") == Ring(RingId(0), (), after, since=T0, reason="why")
    else:
        with pytest.raises(AssertionError, match=f"no edge {before} -> {after}"):
            entered(ring, after, T0, "why")


def test_every_phase_is_reached_and_left() -> None:
    assert {a for a, _ in EDGES} == {b for _, b in EDGES} == set(Phase)


def test_resets_count_within_the_window_and_those_from_the_future_do() -> None:
    ring = Ring(RingId(0), (), resets=(T0 - seconds(10), T0 - seconds(9), T0, T0 + seconds(99)))
    assert resets_within(ring, T0, seconds(10)) == ring.resets[1:]


def test_waits_double_up_to_a_limit_however_long_it_goes_on() -> None:
    waits = [backed_off(seconds(1), seconds(60), n).total_seconds() for n in (1, 2, 3, 6, 7, 8, 10**9)]
    assert waits == [1, 2, 4, 32, 60, 60, 60]


def test_looks_come_soon_at_first_and_more_seldom_later() -> None:
    waits = [look_again_after(seconds(s), seconds(0.05), 4).total_seconds() for s in (0, 0.2, 2, 4, 60, 300, 10**7)]
    assert waits == [0.05, 0.05, 0.5, 1, 1, 5, 10]


def test_what_is_no_fact_is_a_bug() -> None:
    with pytest.raises(AssertionError):
        Cmgr().tell(cast("facts.Fact", "no fact"))


def test_a_ring_whose_reset_nobody_does_is_a_bug() -> None:
    cmgr = Cmgr()
    cmgr.node = replace(cmgr.node, rings={RingId(0): replace(cmgr.ring(), phase=Phase.RESETTING, episode=1)})
    with pytest.raises(AssertionError, match="ring 0 waits for a reset that nobody does"):
        cmgr.tell(facts.Tick())
