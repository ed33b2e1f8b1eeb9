"""Others who act meanwhile: they start, stop and remove containers, restart a runtime's daemon."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from cmgr.model.values.chips import ChipId
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import (
    ListContainers,
    Note,
    NoteKind,
    ReadRing,
    ResetRing,
    SetRestartPolicy,
    StartContainer,
    StopContainer,
)
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import Exit
from cmgr.model.values.troubles import TroubleKind
from cmgr.model.wanted import missing
from cmgr.view.advice import ring_hint
from cmgr.view.troubles import troubles
from tests.model.builders import REQUEST, RING, SINGLE, T0, Cmgr, container, died, key, names, seconds


def waiting(*others: str, **fields: Any) -> Cmgr:
    """Return a ring that waits for its fault to have lasted, its container "a" stopped."""
    cmgr = Cmgr(container("a", 0, **fields), *(container(name, 1) for name in others))
    cmgr.fault(0, REQUEST)
    cmgr.run()
    assert cmgr.phase() is Phase.WAITING
    return cmgr


@pytest.mark.parametrize("phase", [Phase.LISTING, Phase.DRAINING, Phase.WAITING, Phase.RESETTING, Phase.VERIFYING])
def test_one_that_starts_on_a_faulty_chip_during_the_episode_is_stopped_and_held(phase: Phase) -> None:
    cmgr = Cmgr(container("a", 0), container("late", 0, running=False))
    cmgr.fault(0)
    cmgr.run_until(phase)
    assert names(cmgr.starts_by_hand("late")) == ["late"]
    assert cmgr.hold("late").state is HoldState.STOPPING
    cmgr.wait(30)
    assert (cmgr.phase(), cmgr.held(), cmgr.booked("late").running) == (Phase.HEALTHY, [], True)


def test_one_that_starts_out_of_scope_keeps_the_ring_from_being_reset() -> None:
    cmgr = Cmgr(container("a", 0), container("late", 1, running=False), policy=SINGLE)
    cmgr.fault(0, REQUEST)
    cmgr.run()
    cmgr.starts_by_hand("late")
    cmgr.wait(600)
    assert "late (not on a faulty chip" in cmgr.ring().reason
    assert not cmgr.sent(ResetRing)


def test_a_held_container_that_a_person_starts_is_theirs() -> None:
    cmgr = waiting()
    assert names(cmgr.starts_by_hand("a")) == []
    assert (cmgr.held(), cmgr.ring().theirs) == ([], frozenset({key("a")}))
    assert "a is no longer held: somebody started it by hand: it is theirs" in cmgr.notes(NoteKind.HOLD)
    cmgr.wait(120)
    assert cmgr.ring().reason == "the reset of chips 0-3 waits for a (started by hand, or forgotten)"
    assert (names(cmgr.log), cmgr.sent(ResetRing)) == (["a"], [])


@pytest.mark.parametrize("by_list", [True, False])
def test_one_that_is_forgotten_before_its_stop_has_worked_is_known_to_run(by_list: bool) -> None:
    cmgr = Cmgr(container("a", 0, restart_policy="always:0"))
    cmgr.fault(0, REQUEST)
    cmgr.answer(StopContainer, error="no answer", unreachable=True)
    cmgr.tell(facts.ForgetOrdered(key("a"), "a person"))
    assert cmgr.hold("a").state is HoldState.RETURNING
    if by_list:
        cmgr.tell(facts.Resync())
        cmgr.run(ListContainers)
    else:
        cmgr.sees(cmgr.truth[key("a")])
    assert cmgr.booked("a").running
    cmgr.run()
    assert (cmgr.held(), cmgr.booked("a").running, cmgr.truth[key("a")].running) == ([], True, True)


def test_late_news_of_an_earlier_life_do_not_end_a_hold() -> None:
    cmgr = waiting()
    cmgr.tell(facts.ContainerSeen(container("a", 0, run="long ago")))
    assert (cmgr.held(), cmgr.booked("a").running) == (["a"], True)
    assert cmgr.sent(ListContainers)[-1].reason == "does a run again?"
    cmgr.run()
    assert (cmgr.held(), cmgr.booked("a").running) == (["a"], False)


def test_one_that_a_person_has_started_and_stopped_again_is_left_down() -> None:
    """The list that is out when they do cannot tell: the next one is waited for."""
    cmgr = waiting()
    cmgr.tell(facts.Resync())
    cmgr.sees(replace(cmgr.truth[key("a")], running=True, run="by hand", exit=None))
    cmgr.dies("a", 143, asked=True)
    cmgr.clears(0, REQUEST)
    cmgr.run(ReadRing)
    cmgr.answer(ListContainers)
    assert (cmgr.phase(), cmgr.held(), cmgr.sent(StartContainer)) == (Phase.RESUMING, ["a"], [])
    cmgr.run()
    assert (cmgr.phase(), cmgr.held(), cmgr.sent(StartContainer)) == (Phase.HEALTHY, [], [])


def test_one_that_a_person_has_stopped_while_its_restart_policy_is_switched_off_is_left_down() -> None:
    cmgr = Cmgr(container("a", 0, restart_policy="always:0"))
    cmgr.fault(0, REQUEST)
    cmgr.dies("a", 1)
    cmgr.run(StopContainer)
    cmgr.sees(replace(cmgr.truth[key("a")], running=True, run="by policy", exit=None))
    cmgr.dies("a", 143, asked=True)
    cmgr.run(ListContainers)
    cmgr.run()
    cmgr.clears(0, REQUEST)
    cmgr.wait(5)
    assert (cmgr.held(), cmgr.sent(StartContainer), cmgr.booked("a").running) == ([], [], False)


def test_late_news_of_an_end_that_is_known_do_not_outweigh_a_list_that_says_more() -> None:
    cmgr = waiting()
    cmgr.clears(0, REQUEST)
    cmgr.run(ReadRing)
    down = cmgr.booked("a")
    cmgr.answer(StartContainer, error="timed out")
    cmgr.truth[key("a")] = replace(cmgr.truth[key("a")], running=True, run="by our start", exit=None)
    cmgr.tell(facts.Resync())
    cmgr.tell(facts.ContainerSeen(down))
    cmgr.run(ListContainers)
    assert (cmgr.booked("a").running, cmgr.booked("a").run) == (True, "by our start")


def test_late_news_of_how_an_earlier_life_ended_are_no_death() -> None:
    cmgr = Cmgr(container("a", 0, run="first"))
    late = died("a", 0, run="first", at=cmgr.now)
    cmgr.sees(container("a", 0, run="second"))
    cmgr.dies("a", 143, asked=True)
    cmgr.fault(0, REQUEST)
    assert cmgr.held() == []
    cmgr.tell(facts.ContainerSeen(late))
    cmgr.run()
    cmgr.clears(0, REQUEST)
    cmgr.wait(5)
    assert (cmgr.held(), cmgr.sent(StartContainer)) == ([], [])


@pytest.mark.parametrize(
    ("end", "held"),
    [
        (Exit(1, T0, asked=False), True), (Exit(143, T0, asked=True), False), (Exit(0, T0, asked=False), False),
        (Exit(137, T0, asked=None), True), (None, True),
    ],
)  # fmt: skip
def test_one_that_lived_again_unseen_is_held_on_unless_a_person_has_stopped_it(end: Exit | None, held: bool) -> None:
    cmgr = waiting(restart_policy="always")
    cmgr.truth[key("a")] = container("a", 0, run="unseen", running=False, exit=end)
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert (cmgr.held() == ["a"], cmgr.booked("a").run) == (held, "unseen")
    cmgr.wait(70)
    assert (cmgr.phase(), cmgr.held(), cmgr.booked("a").running) == (Phase.HEALTHY, [], held)
    assert cmgr.truth[key("a")].restart_policy == "always"


def test_the_life_that_a_stop_has_ended_is_learnt_from_the_next_list_when_its_answer_does_not_say_it() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, REQUEST)
    cmgr.truth[key("a")] = container("a", 0, run="unseen")
    cmgr.answer(StopContainer, run="")
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert (cmgr.held(), cmgr.hold("a").run) == (["a"], "unseen")


def test_news_of_a_start_that_no_list_has_confirmed_yet_keep_the_ring_from_being_reset() -> None:
    cmgr = waiting()
    cmgr.tell(facts.ContainerSeen(container("a", 0, run="long ago")))
    cmgr.wait(120, run=False)
    assert cmgr.ring().reason == "the reset of chips 0-3 waits for a (held, and it runs again)"
    assert not cmgr.sent(ResetRing)
    cmgr.run()
    assert (cmgr.phase(), cmgr.held(), len(cmgr.sent(ResetRing))) == (Phase.HEALTHY, [], 1)


def test_the_reset_follows_when_a_person_has_ended_what_is_theirs() -> None:
    cmgr = waiting()
    cmgr.starts_by_hand("a")
    cmgr.wait(120)
    cmgr.dies("a", 1)
    cmgr.run()
    assert (len(cmgr.sent(ResetRing)), cmgr.held(), cmgr.sent(StartContainer)) == (1, [], [])


def test_what_was_theirs_in_one_episode_is_not_in_the_next() -> None:
    cmgr = waiting()
    cmgr.starts_by_hand("a")
    cmgr.clears(0, REQUEST)
    cmgr.run()
    assert cmgr.phase() is Phase.HEALTHY
    assert names(cmgr.fault(0)) == ["a"]


def test_a_start_right_after_the_daemon_came_up_is_not_by_hand() -> None:
    cmgr = waiting()
    cmgr.tell(facts.RuntimeUp("docker", restarted=True))
    cmgr.wait(9)
    assert names(cmgr.starts("a", "by the daemon")) == ["a"]
    assert (cmgr.hold("a").state, cmgr.hold("a").run) == (HoldState.STOPPING, "by the daemon")
    cmgr.wait(60)
    assert (cmgr.phase(), cmgr.held(), cmgr.booked("a").running) == (Phase.HEALTHY, [], True)


@pytest.mark.parametrize(
    ("end", "held"),
    [
        (Exit(1, T0, asked=False), True),
        (Exit(143, T0, asked=True), False),
        (Exit(143, T0), True),
        (Exit(143, T0, asked=True, missed=True), True),
    ],
)
def test_one_that_the_daemon_had_started_is_held_on_unless_a_person_has_stopped_it_since(end: Exit, held: bool) -> None:
    cmgr = waiting()
    cmgr.tell(facts.RuntimeUp("docker", restarted=True))
    cmgr.starts("a", "by the daemon")
    cmgr.truth[key("a")] = container("a", 0, run="by the daemon", running=False, exit=end)
    cmgr.wait(70)
    assert (cmgr.phase(), cmgr.held(), cmgr.booked("a").running) == (Phase.HEALTHY, [], held)


def test_a_start_of_now_is_by_hand_though_the_news_of_a_daemon_that_came_long_ago_is_new() -> None:
    cmgr = waiting()
    cmgr.tell(facts.RuntimeUp("docker", restarted=True, came=cmgr.now - timedelta(minutes=3)))
    assert names(cmgr.starts_by_hand("a")) == []
    assert cmgr.held() == []


@pytest.mark.parametrize(("restarted", "later"), [(True, 11), (False, 1)])
def test_a_start_long_after_the_daemon_or_when_only_events_were_lost_is_by_hand(restarted: bool, later: float) -> None:
    cmgr = waiting()
    cmgr.tell(facts.RuntimeUp("docker", restarted=restarted))
    cmgr.wait(later)
    assert names(cmgr.starts_by_hand("a")) == []
    assert cmgr.held() == []


def test_one_that_the_daemon_starts_when_nothing_is_in_its_way_any_more_is_left_running() -> None:
    cmgr = Cmgr(container("first", 0), container("then", 0, order=1))
    cmgr.fault(0)
    cmgr.run_until(Phase.RESUMING)
    cmgr.tell(facts.RuntimeUp("docker", restarted=True))
    assert names(cmgr.starts("then", "by the daemon")) == []
    assert "then runs again: its restart policy has started it" in cmgr.notes(NoteKind.RESULT)
    cmgr.run()
    assert (cmgr.phase(), cmgr.held(), len(cmgr.sent(StopContainer, "then"))) == (Phase.HEALTHY, [], 1)


def test_a_held_container_that_is_removed_is_forgotten() -> None:
    cmgr = waiting()
    cmgr.removes("a")
    assert (cmgr.held(), "a" in {c.name for c in cmgr.node.containers.values()}) == ([], False)
    assert any(note.startswith("a is lost") for note in cmgr.notes(NoteKind.WARNING))
    cmgr.clears(0, REQUEST)
    cmgr.run()
    assert (cmgr.phase(), cmgr.sent(StartContainer)) == (Phase.HEALTHY, [])


def test_one_that_a_stop_would_remove_is_not_stopped_and_the_ring_waits_for_it() -> None:
    cmgr = Cmgr(container("once", 0, auto_remove=True), container("b", 1))
    cmgr.fault(0)
    cmgr.wait(600)
    assert (names(cmgr.log, StopContainer), cmgr.sent(ResetRing), cmgr.phase()) == ([], [], Phase.WAITING)
    assert cmgr.ring().reason == ("the reset of chips 0-3 waits for once (started with --rm: a stop would remove it)")
    assert str(ring_hint(cmgr.node, cmgr.ring())) == "to have it reset, stop once yourself"
    assert [t.id for t in troubles(cmgr.node) if t.kind is TroubleKind.BLOCKED] == ["blocked-docker-once"]
    cmgr.removes("once")
    cmgr.run()
    assert (cmgr.phase(), cmgr.held(), outcome(cmgr)) == (Phase.HEALTHY, [], "recovered")


def test_nor_is_it_stopped_for_an_ordered_reset_nor_when_the_wait_for_it_was_too_long() -> None:
    widening = replace(RING, reset=replace(RING.reset, widen_after=seconds(5)))
    cmgr = Cmgr(container("once", 0, auto_remove=True), policy=widening)
    cmgr.tell(facts.ResetOrdered(ChipId(0), "a person", stop=True))
    cmgr.fault(1)
    cmgr.wait(60)
    assert (cmgr.sent(StopContainer), cmgr.sent(ResetRing)) == ([], [])


def test_one_whose_label_agrees_is_stopped_and_its_loss_is_told() -> None:
    cmgr = Cmgr(container("a", 0, auto_remove=True, strategy=Strategy.SINGLE))
    cmgr.fault(0)
    cmgr.answer(StopContainer, gone=True)
    del cmgr.truth[key("a")]
    cmgr.run(ListContainers)
    assert (cmgr.held(), cmgr.node.containers) == ([], {})
    assert cmgr.notes(NoteKind.HOLD) == ["a will be stopped, which removes it (--rm): its label agrees to that"]
    text = "a is lost: it was started with --rm, and its end removed it; cmgr cannot start it again"
    assert cmgr.notes(NoteKind.WARNING) == [text], "once"
    cmgr.run()
    assert (cmgr.phase(), outcome(cmgr)) == (Phase.HEALTHY, "failed")


def test_a_loss_that_was_made_good_by_one_of_the_same_name_is_none() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, REQUEST)
    cmgr.run()
    cmgr.removes("a")
    assert cmgr.ring().lost == {"docker//a"}
    cmgr.sees(container("a", 0, key=key("another")))
    cmgr.wait(5)
    cmgr.clears(0, REQUEST)
    cmgr.run()
    assert (cmgr.phase(), cmgr.held(), outcome(cmgr)) == (Phase.HEALTHY, [], "cleared")


def test_a_removal_that_only_a_list_tells_of_is_found() -> None:
    cmgr = waiting()
    del cmgr.truth[key("a")]
    cmgr.tell(facts.Resync())
    cmgr.run(ListContainers)
    assert cmgr.held() == []


@pytest.mark.parametrize("kind", [StartContainer, SetRestartPolicy])
def test_one_that_is_gone_when_it_is_to_be_changed_is_forgotten(kind: type[StartContainer | SetRestartPolicy]) -> None:
    cmgr = Cmgr(container("a", 0, restart_policy="always"))
    cmgr.fault(0, REQUEST)
    cmgr.run(StopContainer)
    if kind is StartContainer:
        cmgr.run()
        cmgr.clears(0, REQUEST)
    cmgr.answer(kind, gone=True)
    assert cmgr.held() == ["a"], "an engine with other books may have said so"
    del cmgr.truth[key("a")]
    cmgr.run(ListContainers)
    assert (cmgr.held(), cmgr.node.containers) == ([], {})


def test_one_that_an_operator_stopped_before_the_fault_is_never_started() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.dies("a", 143, asked=True)
    cmgr.fault(0)
    cmgr.run()
    assert (cmgr.phase(), cmgr.sent(StartContainer), len(cmgr.sent(ResetRing))) == (Phase.HEALTHY, [], 1)


def test_one_that_a_person_stops_after_it_was_started_again_stays_down() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 1))
    cmgr.fault(0)
    cmgr.run_until(Phase.RESUMING)
    cmgr.answer(StartContainer)
    cmgr.sees(replace(cmgr.truth[key("a")], running=False, exit=Exit(143, cmgr.now, asked=True)))
    cmgr.run()
    assert (cmgr.phase(), cmgr.booked("a").running) == (Phase.HEALTHY, False)


def outcome(cmgr: Cmgr) -> str:
    return [c.outcome for c in cmgr.log if isinstance(c, Note) and c.kind is NoteKind.CLOSED][-1]


def lived_again(code: int, run: str = "by hand", later: float = 5) -> Cmgr:
    """Return a cmgr that was dead while somebody started what it holds, and that life ended so much later."""
    cmgr = waiting(run="life of 12.5")
    known = cmgr.truth[key("a")]
    cmgr.truth[key("a")] = replace(known, run=run, running=False, exit=Exit(code, cmgr.now + seconds(later)))
    cmgr.now += seconds(10)
    cmgr.begin()
    cmgr.run()
    return cmgr


def test_one_that_somebody_started_and_stopped_while_nobody_looked_stays_down() -> None:
    cmgr = lived_again(0)
    cmgr.clears(0, REQUEST)
    cmgr.wait(5)
    assert (cmgr.held(), cmgr.sent(StartContainer), missing(cmgr.node)) == ([], [], ())


def test_one_that_somebody_started_and_whose_end_nobody_saw_is_told() -> None:
    cmgr = lived_again(137)
    cmgr.clears(0, REQUEST)
    cmgr.wait(5)
    assert (cmgr.held(), cmgr.sent(StartContainer), missing(cmgr.node)) == ([], [], (key("a"),))


@pytest.mark.parametrize(("run", "later"), [("life of ", 5), ("by hand", -5)])
def test_the_life_that_cmgr_ended_is_no_other_one_where_its_word_is_told_anew(run: str, later: float) -> None:
    """To the next life of cmgr containerd's word for a dead one is shorter."""
    cmgr = lived_again(0, run, later)
    assert cmgr.held() == ["a"]
    cmgr.clears(0, REQUEST)
    cmgr.wait(5)
    assert names(cmgr.log, StartContainer) == ["a"]
