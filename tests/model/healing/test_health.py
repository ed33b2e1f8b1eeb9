"""A container with a check of its own counts as recovered when that says so, within the time that it may take."""

from dataclasses import replace
from datetime import timedelta

from cmgr.model.values.handling.policy import RetryPolicy
from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import ListContainers, Note, NoteKind, StartContainer, StopContainer
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import HEALTHY, UNHEALTHY, Exit
from cmgr.model.wanted import missing
from cmgr.view.status import containers
from tests.model.builders import RING, Cmgr, container, key, names

CHECK = timedelta(seconds=90)


def checked(starts: int = 3) -> Cmgr:
    """Return a cmgr that has just started a container with a check, which says nothing yet."""
    policy = replace(RING, retry=RetryPolicy(starts=starts))
    cmgr = Cmgr(container("a", 0, says_within=CHECK), policy=policy, settle=30)
    cmgr.fault(0)
    cmgr.run()
    says(cmgr, "starting")
    assert (cmgr.hold("a").state, cmgr.phase()) == (HoldState.SETTLING, Phase.RESUMING)
    return cmgr


def says(cmgr: Cmgr, health: str) -> None:
    cmgr.sees(replace(cmgr.truth[key("a")], health=health))


def outcome(cmgr: Cmgr) -> str:
    return next(n.outcome for n in reversed(cmgr.log) if isinstance(n, Note) and n.kind is NoteKind.CLOSED)


def test_it_is_recovered_when_it_is_healthy() -> None:
    cmgr = checked()
    cmgr.wait(60)
    assert (cmgr.held(), cmgr.phase()) == (["a"], Phase.RESUMING), "its model is still being loaded"
    assert "its own check says starting" in containers(cmgr.node)[0]["reason"]
    says(cmgr, HEALTHY)
    cmgr.run(ListContainers)
    assert (cmgr.held(), cmgr.phase(), outcome(cmgr)) == ([], Phase.HEALTHY, "recovered")


def test_one_that_is_healthy_at_once_must_stay_up_all_the_same() -> None:
    cmgr = checked()
    says(cmgr, HEALTHY)
    cmgr.wait(20)
    assert cmgr.held() == ["a"]
    cmgr.wait(11)
    assert cmgr.held() == []


def test_a_check_that_says_nothing_is_waited_for_no_longer_than_it_may_take() -> None:
    cmgr = checked()
    cmgr.wait(119)
    assert cmgr.held() == ["a"]
    cmgr.wait(2)
    assert (cmgr.held(), outcome(cmgr)) == ([], "recovered")
    assert "a runs, but its own check has not said in 90 s that it is healthy" in cmgr.notes(NoteKind.WARNING)


def test_one_that_becomes_unhealthy_is_stopped_and_started_once_more() -> None:
    cmgr = checked()
    cmgr.wait(40)
    says(cmgr, UNHEALTHY)
    cmgr.run(ListContainers)
    assert names(cmgr.pending, StopContainer) == ["a"]
    cmgr.run()
    assert cmgr.hold("a").state is HoldState.DOWN
    cmgr.wait(2)
    says(cmgr, HEALTHY)
    cmgr.wait(31)
    assert (cmgr.held(), outcome(cmgr), len(cmgr.sent(StartContainer))) == ([], "recovered", 2)
    why = "its own check says that it is unhealthy after its start"
    assert f"cannot start a, try 1: {why}" in cmgr.notes(NoteKind.WARNING)
    assert [c.reason for c in cmgr.sent(StopContainer)][-1] == f"episode 1: {why}"


def test_that_it_is_unhealthy_is_believed_on_the_word_of_a_list_only() -> None:
    cmgr = checked()
    old_news = replace(cmgr.truth[key("a")], health=UNHEALTHY)
    says(cmgr, HEALTHY)
    truth = cmgr.truth[key("a")]
    cmgr.sees(old_news)
    cmgr.truth[key("a")] = truth
    cmgr.run()
    assert len(cmgr.sent(StopContainer)) == 1, "the one for the fault"


def test_one_that_gets_well_before_its_stop_is_not_stopped() -> None:
    cmgr = checked()
    cmgr.tell(facts.MaintenanceOrdered(on=True, who="a"))
    says(cmgr, UNHEALTHY)
    cmgr.run()
    assert cmgr.hold("a").state is HoldState.TO_STOP
    says(cmgr, HEALTHY)
    assert cmgr.held() == []
    assert len(cmgr.sent(StopContainer)) == 1


def test_one_that_is_unhealthy_each_time_is_left_running_and_the_episode_has_failed() -> None:
    cmgr = checked(starts=2)
    for _ in range(2):
        says(cmgr, UNHEALTHY)
        cmgr.run()
        cmgr.wait(5)
    assert (cmgr.held(), cmgr.booked("a").running, cmgr.phase(), outcome(cmgr)) == ([], True, Phase.HEALTHY, "failed")
    assert "a is lost: it was unhealthy after 2 starts; it is left as it is" in cmgr.notes(NoteKind.WARNING)


def test_the_count_of_such_starts_outlives_cmgr() -> None:
    cmgr = checked()
    says(cmgr, UNHEALTHY)
    cmgr.run(ListContainers)
    cmgr.begin()
    cmgr.run()
    assert (cmgr.hold("a").sick, names(cmgr.pending, StopContainer)) == (1, [])


def test_a_next_life_waits_for_the_check_as_well() -> None:
    cmgr = checked()
    cmgr.wait(40)
    cmgr.begin()
    cmgr.wait(31)
    assert cmgr.held() == ["a"], "only 72 of the 120 seconds have passed"
    cmgr.wait(50)
    assert cmgr.held() == []


def test_a_new_fault_begins_the_count_anew() -> None:
    cmgr = checked()
    says(cmgr, UNHEALTHY)
    cmgr.run()
    cmgr.wait(2)
    assert cmgr.hold("a").sick == 1
    cmgr.fault(0)
    cmgr.run()
    assert cmgr.hold("a").sick == 0


def test_one_that_dies_meanwhile_is_a_failed_start_as_ever() -> None:
    cmgr = checked()
    cmgr.sees(replace(cmgr.truth[key("a")], running=False, health="", exit=Exit(3, cmgr.now, asked=False)))
    cmgr.run()
    assert (cmgr.hold("a").attempt.tries, cmgr.hold("a").sick, missing(cmgr.node)) == (1, 0, (key("a"),))


def test_a_paused_one_is_not_waited_for_because_nobody_checks_it() -> None:
    policy = replace(RING, retry=RetryPolicy())
    cmgr = Cmgr(container("a", 0, says_within=CHECK, frozen=True), policy=policy, settle=30)
    cmgr.fault(0)
    cmgr.run()
    cmgr.wait(31)
    assert cmgr.held() == []
    assert cmgr.notes(NoteKind.WARNING) == []
