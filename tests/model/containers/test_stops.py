"""Stopping: all at once, by order, again after failures; holds are made before and end only for a reason."""

from dataclasses import replace
from datetime import timedelta

from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import ListContainers, NoteKind, ResetRing, StartContainer, StopContainer
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import Exit
from cmgr.model.wanted import missing
from tests.model.builders import T0, Cmgr, container, died, key, names, seconds


def test_all_containers_of_a_ring_are_stopped_at_once_each_with_its_own_grace() -> None:
    cmgr = Cmgr(*(container(f"c{n}", n % 4, grace=seconds(n)) for n in range(8)))
    stops = [c for c in cmgr.fault(0) if isinstance(c, StopContainer)]
    assert {c.name: c.grace for c in stops} == {f"c{n}": timedelta(seconds=n) for n in range(8)}


def test_a_container_is_held_before_it_is_stopped() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    assert (cmgr.hold("a").state, cmgr.hold("a").run, cmgr.hold("a").episode) == (HoldState.STOPPING, "life 1", 1)


def test_stops_are_asked_for_before_the_runtime_has_answered_who_uses_the_ring() -> None:
    cmgr = Cmgr(container("a", 0))
    commands = cmgr.fault(0)
    assert [type(c) for c in commands if isinstance(c, ListContainers | StopContainer)] == [
        ListContainers, StopContainer,
    ]  # fmt: skip
    assert cmgr.phase() is Phase.LISTING


def test_a_container_that_only_the_list_knows_of_is_stopped_too() -> None:
    cmgr = Cmgr()
    cmgr.truth[key("a")] = container("a", 0)
    assert names(cmgr.fault(0)) == []
    assert names(cmgr.answer(ListContainers)) == ["a"]


def test_containers_are_stopped_from_high_order_to_low_and_equals_in_parallel() -> None:
    cmgr = Cmgr(*(container(f"{order}{n}", n, order=order) for order in (2, 1, 0) for n in (0, 1)))
    assert names(cmgr.fault(0)) == ["20", "21"]
    assert names(cmgr.answer(StopContainer)) == []
    assert names(cmgr.answer(StopContainer)) == ["10", "11"]
    cmgr.run(StopContainer)
    assert names(cmgr.log) == ["20", "21", "10", "11", "00", "01"]


def test_an_order_keeps_nobody_waiting_for_longer_than_the_grace_of_those_before() -> None:
    cmgr = Cmgr(container("first", 0, order=1, grace=seconds(3)), container("b", 1))
    assert names(cmgr.fault(0)) == ["first"]
    cmgr.wait(2, run=False)
    assert names(cmgr.log) == ["first"]
    cmgr.wait(2, run=False)
    assert names(cmgr.log) == ["first", "b"]


def test_labels_of_others_keep_nobody_waiting_for_longer_than_the_limit() -> None:
    week = timedelta(days=7)
    evil = [container(f"evil{n}", 0, order=999999 - n, grace=week) for n in range(5)]
    cmgr = Cmgr(*evil, container("victim", 0))
    assert names(cmgr.fault(0)) == ["evil0"]
    cmgr.wait(59, run=False)
    assert names(cmgr.log) == ["evil0"]
    cmgr.wait(2, run=False)
    assert set(names(cmgr.log)) == {"victim", *(f"evil{n}" for n in range(5))}


def test_one_that_was_told_to_stop_long_ago_keeps_nobody_waiting_who_is_held_later() -> None:
    cmgr = Cmgr(container("evil", 0, order=9, grace=timedelta(days=7)))
    cmgr.fault(0)
    cmgr.wait(61, run=False)
    assert names(cmgr.sees(container("late", 1))) == ["late"]


def test_one_that_does_not_come_up_keeps_those_after_it_waiting_no_longer_than_the_limit() -> None:
    cmgr = Cmgr(container("first", 0), container("then", 0, order=1))
    cmgr.fault(0)
    cmgr.run_until(Phase.RESUMING)
    cmgr.wait(59, run=False)
    assert names(cmgr.log, StartContainer) == ["first"]
    cmgr.wait(2, run=False)
    assert names(cmgr.log, StartContainer) == ["first", "then"]


def test_the_order_counts_within_a_ring_only() -> None:
    cmgr = Cmgr(container("high", 0, order=5), container("elsewhere", 4, order=0))
    cmgr.fault(0)
    assert names(cmgr.fault(4)) == ["elsewhere"]


def test_one_that_ends_while_it_waits_for_its_turn_is_asked_to_stop_all_the_same() -> None:
    cmgr = Cmgr(container("high", 0, order=1), container("low", 0))
    cmgr.fault(0)
    cmgr.dies("low", 143, asked=True)
    assert names(cmgr.answer(StopContainer)) == ["low"]
    cmgr.run()
    assert (cmgr.phase(), names(cmgr.log, StartContainer)) == (Phase.HEALTHY, ["high"])


def test_one_that_cannot_be_stopped_delays_nobody_else() -> None:
    cmgr = Cmgr(container("stubborn", 0, order=1), container("b", 1))
    cmgr.fault(0)
    assert names(cmgr.answer(StopContainer, error="timed out")) == ["b"]
    cmgr.answer(StopContainer)
    cmgr.run(ListContainers)
    assert cmgr.phase() is Phase.WAITING
    assert cmgr.ring().reason == "stubborn cannot be stopped: timed out"
    assert cmgr.ring().deadline == cmgr.hold("stubborn").attempt.retry_at
    assert not cmgr.sent(ResetRing)


def test_a_failed_stop_is_tried_again_later_each_time() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    waits = []
    for _ in range(9):
        cmgr.answer(StopContainer, error="timed out")
        retry_at = cmgr.hold("a").attempt.retry_at
        assert retry_at is not None
        waits.append((retry_at - cmgr.now).total_seconds())
        cmgr.now = retry_at
        cmgr.tell(facts.Tick())
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    cmgr.run()
    assert (cmgr.phase(), cmgr.booked("a").running) == (Phase.HEALTHY, True)


def test_a_stop_that_fails_for_days_does_not_fill_the_timeline() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    for _ in range(500):
        cmgr.answer(StopContainer, error="timed out")
        cmgr.run(ListContainers)
        cmgr.wait(61, run=False)
    assert len(cmgr.notes()) < 20


def test_a_runtime_that_is_away_for_days_is_asked_less_often_and_does_not_fill_the_timeline() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.tell(facts.RuntimeDown("docker", "connection refused"))
    cmgr.fault(0)
    for _ in range(1000):
        for command in list(cmgr.pending):
            away = {"unreachable": True} if isinstance(command, StopContainer) else {}
            cmgr.answer(type(command), error="connection refused", **away)
        cmgr.wait(10, run=False)
    assert len(cmgr.sent(StopContainer)) < 200
    assert len(cmgr.notes()) < 20
    cmgr.tell(facts.RuntimeUp("docker"))
    assert names(cmgr.log[-3:]) == ["a"]
    cmgr.run()
    assert (cmgr.phase(), cmgr.held()) == (Phase.HEALTHY, [])


def test_a_stop_that_was_tried_is_never_given_up() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.answer(StopContainer, error="timed out")
    cmgr.clears(0)
    cmgr.run()
    assert cmgr.held() == ["a"]
    cmgr.wait(5)
    assert (cmgr.held(), cmgr.booked("a").running, len(cmgr.sent(StartContainer))) == ([], True, 1)


def test_a_stop_that_never_reached_the_runtime_is_dropped_when_the_fault_is_over() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.answer(StopContainer, error="connection refused", unreachable=True)
    cmgr.clears(0)
    cmgr.wait(2)
    assert (cmgr.held(), cmgr.booked("a").run, len(cmgr.sent(StopContainer))) == ([], "life 1", 1)
    assert "a is no longer held: it need not be stopped any more" in cmgr.notes(NoteKind.HOLD)


def test_one_that_a_person_had_stopped_a_moment_before_is_not_held() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.truth[key("a")] = replace(container("a", 0), running=False, exit=Exit(143, T0, asked=True))
    cmgr.answer(StopContainer)
    assert (cmgr.held(), cmgr.booked("a").running) == ([], False)
    cmgr.run()
    assert (cmgr.phase(), cmgr.sent(StartContainer)) == (Phase.HEALTHY, [])


def test_one_that_a_person_was_stopping_is_stopped_and_not_started_again() -> None:
    cmgr = Cmgr(container("a", 0, restart_policy="always"), container("b", 1))
    cmgr.fault(0)
    cmgr.answer(StopContainer, ordered=True)
    assert cmgr.held() == ["b"]
    assert "a was being stopped by somebody else: not held" in cmgr.notes(NoteKind.HOLD)
    cmgr.run()
    assert (cmgr.phase(), names(cmgr.log, StartContainer), missing(cmgr.node)) == (Phase.HEALTHY, ["b"], ())


def test_one_whose_stop_was_tried_before_is_not_left_for_an_order_that_may_be_the_last_lifes() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.begin()
    cmgr.answer(StopContainer, ordered=True)
    assert cmgr.held() == ["a"]
    cmgr.run()
    assert names(cmgr.log, StartContainer) == ["a"]


def test_one_that_is_stopped_for_its_group_while_a_person_stops_it_is_not_started_with_it() -> None:
    cmgr = Cmgr(container("a", 0, group="tp"), container("b", 4, group="tp"))
    cmgr.fault(0)
    cmgr.run(ListContainers)
    stop = next(c for c in cmgr.pending if isinstance(c, StopContainer) and c.name == "b")
    cmgr.pending.remove(stop)
    known = cmgr.truth[stop.key]
    cmgr.truth[stop.key] = replace(known, running=False, exit=Exit(0, cmgr.now, asked=True))
    cmgr.tell(facts.ContainerStopped(stop.id, stop.key, known.run, ordered=True))
    cmgr.run()
    cmgr.wait(120)
    assert "b" not in names(cmgr.log, StartContainer)


def test_one_that_had_died_by_itself_a_moment_before_is_held() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.truth[key("a")] = died("a", 0, run="life 1")
    cmgr.run()
    assert (cmgr.phase(), cmgr.booked("a").running) == (Phase.HEALTHY, True)
    assert "a had died by itself (exit code 1)" in cmgr.notes(NoteKind.RESULT)


def test_one_whose_stop_had_worked_although_its_answer_said_no_is_held() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.answer(StopContainer, error="timed out")
    cmgr.truth[key("a")] = replace(container("a", 0), running=False, exit=Exit(143, T0, asked=True))
    cmgr.wait(3)
    assert (cmgr.phase(), cmgr.booked("a").running) == (Phase.HEALTHY, True)


def test_an_order_to_resume_does_not_make_cmgr_forget_that_it_tried_to_stop() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.answer(StopContainer, error="timed out")
    cmgr.truth[key("a")] = replace(container("a", 0), running=False, exit=Exit(143, T0, asked=True))
    cmgr.tell(facts.ResumeOrdered(key("a"), "a person"))
    cmgr.wait(3)
    assert (cmgr.phase(), cmgr.booked("a").running) == (Phase.HEALTHY, True)


def test_old_news_of_a_life_that_was_stopped_change_nothing() -> None:
    cmgr = Cmgr(container("a", 0), container("slow", 1))
    cmgr.fault(0)
    cmgr.answer(StopContainer)
    cmgr.tell(facts.ContainerSeen(container("a", 0)))
    assert (cmgr.booked("a").running, cmgr.hold("a").state) == (False, HoldState.DOWN)


def test_a_container_that_was_restarted_while_it_is_being_stopped_is_stopped_in_its_new_life() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.sees(container("a", 0, run="life 2"))
    assert (cmgr.hold("a").state, cmgr.hold("a").run) == (HoldState.STOPPING, "life 2")
    cmgr.run()
    assert (cmgr.phase(), cmgr.held()) == (Phase.HEALTHY, [])


def test_an_answer_that_nobody_waits_for_changes_nothing() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    before = cmgr.node
    command = cmgr.sent(StopContainer)[0]
    assert cmgr.tell(facts.ContainerStopped(type(command.id)("stop-0"), key("a"), "life 1")) == []
    assert cmgr.tell(facts.ContainerStopped(command.id, key("stranger"), "life 1")) == []
    assert cmgr.node == before


def test_nothing_is_reset_while_a_stop_is_unanswered() -> None:
    cmgr = Cmgr(container("a", 0), container("late", 1, running=False))
    cmgr.fault(0)
    cmgr.answer(StopContainer)
    cmgr.run(ListContainers)
    cmgr.sees(container("late", 1, run="life 2"))
    assert cmgr.ring().reason == "late is being stopped"
    cmgr.wait(120, run=False)
    assert cmgr.sent(ResetRing) == []
