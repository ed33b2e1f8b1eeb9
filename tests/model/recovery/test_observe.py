"""Observing: everything is decided and recorded, and nothing is done."""

from dataclasses import replace

from cmgr.model.values.handling.policy import OnIsolate
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import NoteKind, ResetRing, SetRestartPolicy, StartContainer, StopContainer
from cmgr.model.values.rings import Phase
from tests.model.builders import CATALOG, REQUEST, RESET, RING, SEPARATE, Cmgr, container, died, names

OBSERVE = replace(RING, observe=True)


def switched(cmgr: Cmgr, observe: bool) -> None:
    cmgr.tell(facts.Reconfigured(replace(RING, observe=observe), CATALOG))


def test_it_tells_what_it_would_stop_and_stops_nothing() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 1), container("mine", 2, enabled=False), policy=OBSERVE)
    cmgr.fault(0)
    cmgr.wait(600)
    assert cmgr.notes(NoteKind.ACTION) == ["would stop a", "would stop b"]
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
