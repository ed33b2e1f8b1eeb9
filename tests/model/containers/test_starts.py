"""Starting again: by order, with back-off, told as failed after five failures and tried on, never without a hold."""

from dataclasses import replace

import pytest

from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import ListContainers, NoteKind, StartContainer, StopContainer
from cmgr.model.values.rings import Phase
from cmgr.model.values.troubles import Trouble, TroubleKind
from cmgr.view.troubles import troubles
from tests.model.builders import REQUEST, RESET, Cmgr, container, died, key, names


def resuming(cmgr: Cmgr) -> Cmgr:
    """Bring ring 0 to where its containers are being started."""
    cmgr.fault(0)
    cmgr.run_until(Phase.RESUMING)
    return cmgr


def try_again(cmgr: Cmgr) -> None:
    cmgr.now = cmgr.hold("a").attempt.retry_at or cmgr.now
    cmgr.tell(facts.Tick())


def fail(cmgr: Cmgr, times: int, error: str = "no such image") -> None:
    for time in range(times):
        if time:
            try_again(cmgr)
        cmgr.answer(StartContainer, error=error)


def failed(cmgr: Cmgr) -> list[Trouble]:
    return [trouble for trouble in troubles(cmgr.node) if trouble.kind is TroubleKind.FAILED]


def test_containers_are_started_from_low_order_to_high_and_equals_in_parallel() -> None:
    cmgr = Cmgr(*(container(f"{order}{n}", n, order=order) for order in (1, 0) for n in (0, 1)))
    resuming(cmgr)
    assert names(cmgr.pending, StartContainer) == ["00", "01"]
    assert names(cmgr.answer(StartContainer), StartContainer) == []
    assert names(cmgr.answer(StartContainer), StartContainer) == ["10", "11"]


def test_a_failed_start_is_tried_again_later_each_time_and_told_as_failed_after_five() -> None:
    cmgr = resuming(Cmgr(container("a", 0)))
    waits = []
    for _ in range(8):
        cmgr.answer(StartContainer, error="no such image")
        waits.append(round(((cmgr.hold("a").attempt.retry_at or cmgr.now) - cmgr.now).total_seconds()))
        assert bool(failed(cmgr)) is (len(waits) >= 5)
        try_again(cmgr)
        assert bool(failed(cmgr)) is (len(waits) >= 5), "it is told while the next try is under way, too"
    assert waits == [1, 2, 4, 8, 60, 60, 60, 60]
    told = [text for text in cmgr.notes() if "a has failed" in text or "cannot start a" in text or text == "start a"]
    assert len(told) == 11
    assert "a has failed, and is tried again every 60 s; now: cmgr resume a" in told
    (closed,) = cmgr.notes(NoteKind.CLOSED)
    assert closed.startswith("episode 1 is over: failed")


def test_one_that_has_failed_is_started_for_good_when_what_kept_it_is_over() -> None:
    cmgr = resuming(Cmgr(container("a", 0), settle=30))
    fail(cmgr, 100)
    try_again(cmgr)
    cmgr.answer(StartContainer)
    assert (cmgr.hold("a").state, len(failed(cmgr))) == (HoldState.SETTLING, 1), "it has yet to stay up"
    cmgr.wait(60)
    assert (cmgr.held(), cmgr.booked("a").running, failed(cmgr)) == ([], True, [])
    assert "a stays up, after 100 starts that failed" in cmgr.notes(NoteKind.RESULT)


def test_one_that_has_failed_and_does_not_stay_up_is_told_all_the_time() -> None:
    cmgr = resuming(Cmgr(container("a", 0), settle=30))
    fail(cmgr, 5)
    before = len(cmgr.notes())
    for _ in range(50):
        try_again(cmgr)
        cmgr.answer(StartContainer)
        cmgr.wait(5)
        assert len(failed(cmgr)) == 1
        cmgr.dies("a", 3)
        assert (cmgr.hold("a").state, len(failed(cmgr))) == (HoldState.FAILED, 1)
    assert len(cmgr.notes()) - before < 10, "the timeline is not full of it"


def test_one_that_has_failed_is_tried_on_by_the_next_life_of_cmgr() -> None:
    cmgr = resuming(Cmgr(container("a", 0)))
    fail(cmgr, 5)
    cmgr.begin()
    assert len(failed(cmgr)) == 1
    cmgr.run()
    assert (cmgr.held(), cmgr.booked("a").running) == ([], True)


def test_one_that_has_failed_waits_for_its_chip_like_any_other() -> None:
    cmgr = resuming(Cmgr(container("a", 0)))
    fail(cmgr, 5)
    cmgr.cures = False
    cmgr.fault(0, REQUEST)
    starts = len(cmgr.sent(StartContainer))
    cmgr.wait(300)
    assert (len(cmgr.sent(StartContainer)), len(failed(cmgr))) == (starts, 1)
    cmgr.clears(0, REQUEST)
    cmgr.wait(300)
    assert (cmgr.held(), failed(cmgr)) == ([], [])


def test_one_that_has_failed_is_tried_at_once_when_a_person_says_so() -> None:
    cmgr = resuming(Cmgr(container("a", 0)))
    fail(cmgr, 5)
    assert names(cmgr.tell(facts.ResumeOrdered(key("a"), "uid 0")), StartContainer) == ["a"]
    assert "uid 0 ordered that a is started again" in cmgr.notes(NoteKind.ACTION)
    cmgr.run()
    assert (cmgr.held(), cmgr.booked("a").running) == ([], True)


def test_one_that_has_failed_is_tried_at_once_by_a_new_daemon() -> None:
    cmgr = resuming(Cmgr(container("a", 0)))
    fail(cmgr, 5)
    assert names(cmgr.tell(facts.RuntimeUp("docker")), StartContainer) == []
    assert names(cmgr.tell(facts.RuntimeUp("docker", restarted=True)), StartContainer) == ["a"]
    cmgr.run()
    assert (cmgr.held(), cmgr.booked("a").running) == ([], True)


def test_an_order_to_resume_what_is_not_held_is_ignored() -> None:
    cmgr = Cmgr(container("a", 0, running=False))
    assert cmgr.tell(facts.ResumeOrdered(key("a"), "uid 0")) == []


def test_an_order_to_resume_is_no_way_around_a_faulty_chip() -> None:
    cmgr = Cmgr(container("a", 0), container("mine", 1, enabled=False))
    cmgr.fault(0)
    cmgr.run()
    cmgr.tell(facts.ResumeOrdered(key("a"), "uid 0"))
    cmgr.wait(60)
    assert (cmgr.sent(StartContainer), cmgr.held()) == ([], ["a"])


def test_one_that_has_failed_is_tried_in_the_next_episode_which_ends_without_it() -> None:
    cmgr = resuming(Cmgr(container("a", 0), container("b", 1)))
    cmgr.answer(StartContainer, error="x")
    cmgr.answer(StartContainer)
    try_again(cmgr)
    fail(cmgr, 4)
    cmgr.fault(0)
    cmgr.run_until(Phase.RESUMING)
    cmgr.wait(61, run=False)
    while cmgr.pending:
        command = cmgr.pending[0]
        error = {"error": "x"} if isinstance(command, StartContainer) and command.name == "a" else {}
        cmgr.answer(type(command), **error)
    assert (cmgr.phase(), cmgr.held(), cmgr.hold("a").state) == (Phase.HEALTHY, ["a"], HoldState.FAILED)
    assert [text.partition(" after")[0] for text in cmgr.notes(NoteKind.CLOSED)] == [
        "episode 1 is over: failed",
        "episode 2 is over: failed",
    ]


def test_a_start_that_never_reached_the_runtime_does_not_count() -> None:
    cmgr = resuming(Cmgr(container("a", 0)))
    for _ in range(8):
        cmgr.answer(StartContainer, error="connection refused", unreachable=True)
        cmgr.wait(61, run=False)
    assert (cmgr.hold("a").state, cmgr.hold("a").attempt.tries, cmgr.phase()) == (HoldState.STARTING, 0, Phase.RESUMING)
    cmgr.run()
    assert (cmgr.held(), cmgr.phase()) == ([], Phase.HEALTHY)


def test_starts_that_never_reach_the_runtime_are_asked_for_less_often() -> None:
    cmgr = resuming(Cmgr(container("a", 0)))
    for _ in range(600):
        if cmgr.pending:
            cmgr.answer(StartContainer, error="connection refused", unreachable=True)
        cmgr.wait(1, run=False)
    assert len(cmgr.sent(StartContainer)) < 30
    assert len(cmgr.notes()) < 30


def test_a_start_that_worked_although_its_answer_said_no_ends_the_hold() -> None:
    cmgr = resuming(Cmgr(container("a", 0)))
    cmgr.answer(StartContainer, error="timed out")
    cmgr.starts("a", "by cmgr")
    assert (cmgr.held(), cmgr.phase(), cmgr.ring().theirs) == ([], Phase.HEALTHY, frozenset())
    assert "a runs again: an earlier start had worked" in cmgr.notes(NoteKind.RESULT)


def test_a_start_that_worked_before_its_answer_said_no_ends_the_hold() -> None:
    cmgr = resuming(Cmgr(container("a", 0)))
    cmgr.sees(container("a", 0, run="life 2"))
    cmgr.answer(StartContainer, error="timed out")
    cmgr.run(ListContainers)
    assert (cmgr.held(), cmgr.phase(), cmgr.booked("a").running) == ([], Phase.HEALTHY, True)


def test_the_event_of_a_start_may_come_before_its_answer() -> None:
    cmgr = resuming(Cmgr(container("a", 0)))
    cmgr.sees(container("a", 0, run="life 2"))
    assert cmgr.held() == ["a"]
    cmgr.answer(StartContainer, run="life 2")
    assert (cmgr.held(), cmgr.phase(), cmgr.booked("a").run) == ([], Phase.HEALTHY, "life 2")


def test_a_container_of_a_late_start_of_ours_is_stopped_by_a_new_fault() -> None:
    cmgr = resuming(Cmgr(container("a", 0)))
    cmgr.answer(StartContainer, error="timed out")
    cmgr.fault(0)
    assert names(cmgr.starts("a", "by cmgr")) == ["a"]
    cmgr.wait(30)
    assert (cmgr.phase(), cmgr.held(), cmgr.booked("a").running) == (Phase.HEALTHY, [], True)


def test_a_new_fault_while_containers_are_started_begins_again() -> None:
    cmgr = resuming(Cmgr(container("a", 0), container("b", 1)))
    cmgr.answer(StartContainer)
    assert names(cmgr.fault(0)) == ["a"]
    assert cmgr.phase() is Phase.LISTING
    cmgr.run(StopContainer, ListContainers)
    assert cmgr.ring().reason == "b is just being started, and is stopped after that"
    cmgr.wait(60)
    assert (cmgr.phase(), cmgr.held(), cmgr.ring().episode) == (Phase.HEALTHY, [], 0)
    assert len(cmgr.notes(NoteKind.OPENED)) == 1


def test_nothing_is_started_that_is_not_held() -> None:
    cmgr = Cmgr(container("a", 0), container("stopped-before", 0, running=False))
    cmgr.fault(0)
    cmgr.wait(10)
    assert names(cmgr.log, StartContainer) == ["a"]


def test_an_exit_that_is_told_before_the_answer_to_its_start_is_not_lost() -> None:
    cmgr = resuming(Cmgr(container("a", 0), container("b", 1)))
    starting = cmgr.pending[0]
    assert isinstance(starting, StartContainer)
    cmgr.sees(died("a", 0, at=cmgr.now, run="life 2"))
    cmgr.pending.remove(starting)
    cmgr.tell(facts.ContainerStarted(starting.id, starting.key, "life 2"))
    assert (cmgr.hold("a").attempt.tries, cmgr.booked("a").running) == (1, False)


@pytest.mark.parametrize("kind", [facts.ContainerStarted, facts.RestartPolicySet])
def test_answers_that_nobody_waits_for_change_nothing(
    kind: type[facts.ContainerStarted] | type[facts.RestartPolicySet],
) -> None:
    cmgr = resuming(Cmgr(container("a", 0)))
    before = cmgr.node
    command = cmgr.sent(StartContainer)[0]
    assert cmgr.tell(kind(type(command.id)("start-0"), key("a"))) == []
    assert cmgr.tell(kind(command.id, key("stranger"))) == []
    assert cmgr.node == before


def test_the_reason_names_what_the_ring_waits_for_before_it_starts() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.run_until(Phase.VERIFYING)
    cmgr.tell(facts.RuntimeDown("docker", "connection refused"))
    cmgr.run_until(Phase.RESUMING)
    assert cmgr.ring().reason == "starting a: cannot reach docker: connection refused"
    assert cmgr.hold("a").state is HoldState.DOWN
    assert RESET in cmgr.notes(NoteKind.OPENED)[0]
    cmgr.tell(facts.RuntimeUp("docker"))
    cmgr.run()
    assert (cmgr.phase(), replace(cmgr.booked("a"), kept=replace(cmgr.booked("a").kept, since=None)).running) == (
        Phase.HEALTHY,
        True,
    )


def test_a_start_at_which_the_runtime_fails_itself_counts_as_no_try_however_often() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.run_until(Phase.RESUMING)
    for _ in range(20):
        cmgr.answer(StartContainer, error="no answer", runtime_ails=True)
        hold = cmgr.hold("a")
        assert (hold.attempt.tries, hold.state) == (0, HoldState.STARTING)
        cmgr.now = max(cmgr.now, hold.attempt.retry_at or cmgr.now)
        cmgr.tell(facts.Tick())
    warnings = [text for text in cmgr.notes() if text.startswith("cannot start a")]
    assert warnings == ["cannot start a, and it is tried until the runtime is well: no answer"]
    cmgr.run()
    assert (cmgr.phase(), cmgr.held()) == (Phase.HEALTHY, [])


def test_one_that_runs_after_such_a_start_is_not_taken_for_a_persons() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.run_until(Phase.RESUMING)
    cmgr.answer(StartContainer, error="no answer", runtime_ails=True)
    cmgr.sees(replace(cmgr.truth[key("a")], running=True, run="ours after all", exit=None))
    cmgr.answer(ListContainers)
    assert "a runs again: an earlier start had worked" in cmgr.notes(NoteKind.RESULT)
    assert cmgr.held() == []
