"""Observing: everything is decided and recorded, and nothing is done."""

from dataclasses import replace

import pytest

from cmgr.model.holds.obstacles import start_blocker
from cmgr.model.values.faults import Handling
from cmgr.model.values.handling.catalog import Catalog, Entry
from cmgr.model.values.handling.policy import OnIsolate
from cmgr.model.values.machine import DRIVER_REPLACED, Symptom
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import NoteKind, ResetRing, SetRestartPolicy, StartContainer, StopContainer
from cmgr.model.values.rings import Phase
from cmgr.view.advice import idle_hint
from tests.model.builders import CATALOG, REQUEST, RESET, RING, SEPARATE, Cmgr, container, died, names

OBSERVE = replace(RING, observe=True)


def switched(cmgr: Cmgr, observe: bool) -> None:
    cmgr.tell(facts.Reconfigured(replace(RING, observe=observe), CATALOG))


def test_it_tells_what_it_would_stop_and_stops_nothing() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 1), container("mine", 2, enabled=False), policy=OBSERVE)
    cmgr.fault(0)
    cmgr.wait(600)
    assert cmgr.notes(NoteKind.ACTION) == ["would stop a"], "b would be, when mine is away"
    assert (names(cmgr.log), cmgr.held(), cmgr.sent(ResetRing)) == ([], [], [])
    assert (cmgr.phase(), cmgr.ring().reason) == (
        Phase.WAITING, f"cmgr only observes: it would recover chips 0-3 of {RESET}",
    )  # fmt: skip


def test_the_episode_ends_when_the_fault_clears() -> None:
    cmgr = Cmgr(container("a", 0), policy=OBSERVE)
    cmgr.fault(0)
    cmgr.run()
    cmgr.clears(0)
    cmgr.run()
    assert cmgr.phase() is Phase.HEALTHY
    assert cmgr.notes(NoteKind.CLOSED)[0].startswith("episode 1 is over: observed")


def test_it_holds_nobody_who_died() -> None:
    cmgr = Cmgr(died("a", 0), policy=OBSERVE)
    cmgr.fault(0)
    cmgr.run()
    assert cmgr.held() == []


def test_it_opens_no_episode_for_isolated_chips() -> None:
    cmgr = Cmgr(
        container("a", 0), policy=replace(OBSERVE, isolation=replace(RING.isolation, on_isolate=OnIsolate.STOP))
    )
    cmgr.fault(0, SEPARATE)
    assert (cmgr.phase(), list(cmgr.node.isolations)) == (Phase.HEALTHY, [0])


def test_what_is_held_when_observing_begins_stays_down_until_it_ends() -> None:
    cmgr = Cmgr(container("a", 0, restart_policy="always"))
    cmgr.fault(0, REQUEST)
    cmgr.run()
    switched(cmgr, True)
    cmgr.clears(0, REQUEST)
    cmgr.wait(600)
    assert (cmgr.phase(), cmgr.held(), cmgr.sent(StartContainer)) == (Phase.HEALTHY, ["a"], [])
    switched(cmgr, False)
    cmgr.run()
    assert (cmgr.held(), cmgr.booked("a").running) == ([], True)


def test_a_stop_that_was_not_sent_yet_when_observing_begins_is_not_sent_any_more() -> None:
    cmgr = Cmgr(container("high", 0, order=1), container("low", 0))
    cmgr.fault(0)
    switched(cmgr, True)
    cmgr.wait(10)
    assert (names(cmgr.log), cmgr.phase()) == (["high"], Phase.WAITING)
    assert cmgr.ring().reason.startswith("cmgr only observes")
    cmgr.clears(0)
    cmgr.wait(10)
    assert (cmgr.phase(), cmgr.held(), cmgr.booked("low").running) == (Phase.HEALTHY, ["high"], True)
    switched(cmgr, False)
    cmgr.run()
    assert (cmgr.held(), len(cmgr.sent(StopContainer))) == ([], 1)


def test_a_stop_that_had_failed_when_observing_begins_is_tried_again_when_it_ends() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.answer(StopContainer, error="timed out")
    switched(cmgr, True)
    cmgr.clears(0)
    cmgr.wait(100)
    assert (cmgr.phase(), cmgr.held()) == (Phase.HEALTHY, ["a"])
    switched(cmgr, False)
    cmgr.run()
    assert (cmgr.held(), len(cmgr.sent(StopContainer)), cmgr.booked("a").running) == ([], 2, True)


def test_no_restart_policy_is_changed() -> None:
    cmgr = Cmgr(container("a", 0, restart_policy="always"))
    cmgr.fault(0, REQUEST)
    switched(cmgr, True)
    cmgr.run()
    assert (cmgr.held(), cmgr.sent(SetRestartPolicy)) == (["a"], [])


def test_a_recovery_begins_when_observing_ends() -> None:
    cmgr = Cmgr(container("a", 0), policy=OBSERVE)
    cmgr.fault(0)
    cmgr.run()
    switched(cmgr, False)
    cmgr.run()
    assert (cmgr.phase(), len(cmgr.sent(ResetRing)), cmgr.booked("a").running) == (Phase.HEALTHY, 1, True)


REPLACED = Symptom(DRIVER_REPLACED)
WITH_IT = Catalog({**CATALOG.entries, DRIVER_REPLACED: Entry(Handling.PreSeparateNPU, "a test", "it was updated")})
WHY = "the driver was updated while it runs"


def updated(cmgr: Cmgr, *, over: bool = False) -> None:
    cmgr.tell(facts.MachineTold("driver", () if over else (REPLACED,)))


@pytest.mark.parametrize("code", [RESET, REQUEST, SEPARATE])
def test_nothing_is_stopped_for_what_a_driver_that_was_updated_cannot_do(code: str) -> None:
    stops = replace(RING, isolation=replace(RING.isolation, on_isolate=OnIsolate.STOP))
    cmgr = Cmgr(container("a", 0), container("b", 1), policy=stops, catalog=WITH_IT)
    updated(cmgr)
    cmgr.fault(0, code)
    cmgr.wait(3600)
    assert (names(cmgr.log), cmgr.held(), cmgr.sent(ResetRing)) == ([], [], [])
    updated(cmgr, over=True)  # By a restart of the machine it is the same, in which all of them end.
    cmgr.run()
    assert cmgr.sent(StopContainer)


def test_its_reset_says_what_it_waits_for_and_uses_up_no_try() -> None:
    cmgr = Cmgr(container("a", 0), catalog=WITH_IT)
    updated(cmgr)
    cmgr.fault(0)
    cmgr.wait(3600)
    assert (cmgr.phase(), cmgr.ring().reason) == (Phase.WAITING, f"{WHY}: it would recover chips 0-3 of {RESET}")
    assert (cmgr.ring().resets, cmgr.ring().failures, cmgr.node.isolations) == ((), 0, {})
    assert str(idle_hint(cmgr.node)).startswith("restart the machine, or load the driver's new modules")


def test_what_is_down_when_the_driver_is_updated_waits_for_it_and_what_has_no_chips_does_not() -> None:
    cmgr = Cmgr(container("a", 0, restart_policy="always"), catalog=WITH_IT)
    cmgr.fault(0, REQUEST)
    cmgr.run_until(Phase.DRAINING)
    cmgr.answer(StopContainer)
    updated(cmgr)
    cmgr.clears(0, REQUEST)
    cmgr.wait(600)
    (hold,) = cmgr.node.holds.values()
    assert (cmgr.sent(StartContainer), start_blocker(cmgr.node, hold).why) == ([], WHY)
    assert start_blocker(cmgr.node, replace(hold, chips=frozenset())).why == ""
    updated(cmgr, over=True)
    cmgr.run()
    assert [c.name for c in cmgr.sent(StartContainer)] == ["a"]


def test_a_table_that_makes_light_of_it_has_everything_done_as_ever() -> None:
    light = Catalog({**WITH_IT.entries, DRIVER_REPLACED: Entry(Handling.SubHealthFault, "a test", "")})
    cmgr = Cmgr(container("a", 0), catalog=light)
    updated(cmgr)
    cmgr.fault(0)
    cmgr.run()
    assert len(cmgr.sent(ResetRing)) == 1
