"""A container that cmgr has started counts as recovered when it has stayed up for a while, and not before."""

from dataclasses import replace
from typing import Any

import pytest

from cmgr.model.values.handling.policy import LimitsPolicy, Policy, RetryPolicy, Strategy
from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import (
    ListContainers,
    Note,
    NoteKind,
    ReadOutput,
    StartContainer,
    StopContainer,
)
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import Exit, Heal
from cmgr.model.values.troubles import TroubleKind
from cmgr.model.wanted import missing
from cmgr.view.status import containers
from tests.model.builders import RING, SINGLE, Cmgr, container, key, names, seconds


def settling(policy: Policy = RING, **fields: Any) -> Cmgr:
    """Return a cmgr that has just started a container again."""
    cmgr = Cmgr(container("a", 0, **fields), policy=policy, settle=30)
    cmgr.fault(0)
    cmgr.run()
    assert (cmgr.hold("a").state, cmgr.phase()) == (HoldState.SETTLING, Phase.RESUMING)
    return cmgr


def outcome(cmgr: Cmgr) -> str:
    """Return the outcome of the last episode that was closed."""
    return next(n.outcome for n in reversed(cmgr.log) if isinstance(n, Note) and n.kind is NoteKind.CLOSED)


def test_it_is_held_until_it_has_run_for_long_enough() -> None:
    cmgr = settling()
    assert (containers(cmgr.node)[0]["status"], missing(cmgr.node)) == ("settling", ())
    cmgr.wait(29)
    assert cmgr.held() == ["a"]
    cmgr.wait(2)
    assert (cmgr.held(), cmgr.phase(), outcome(cmgr)) == ([], Phase.HEALTHY, "recovered")


def test_the_time_to_recovery_is_that_of_the_start() -> None:
    cmgr = settling()
    began = cmgr.now
    cmgr.wait(31)
    (closed,) = [n for n in cmgr.log if isinstance(n, Note) and n.kind is NoteKind.CLOSED]
    assert closed.ended is not None
    assert closed.ended <= began < closed.at
    assert closed.text.startswith("episode 1 is over: recovered after 0.0")


def test_late_news_of_the_life_before_do_not_end_its_hold_and_its_death_is_told() -> None:
    cmgr = settling()
    before = replace(cmgr.booked("a"), run="life 1")
    after = cmgr.truth[key("a")]
    cmgr.truth[key("a")] = replace(after, running=False, exit=Exit(1, cmgr.now, asked=False))
    cmgr.tell(facts.ContainerSeen(before))
    ended = Exit(143, cmgr.now - seconds(1), asked=True)
    cmgr.tell(facts.ContainerSeen(replace(before, running=False, exit=ended)))
    assert (cmgr.held(), cmgr.booked("a").run) == (["a"], after.run)
    cmgr.run(ListContainers)
    assert missing(cmgr.node) == (key("a"),)


def test_that_it_stayed_up_is_believed_on_the_word_of_a_list_only() -> None:
    cmgr = settling()
    # The event of its end is lost.
    cmgr.truth[key("a")] = replace(cmgr.truth[key("a")], running=False, exit=Exit(3, cmgr.now, asked=None))
    cmgr.wait(31, run=False)
    assert cmgr.held() == ["a"]
    cmgr.run(ListContainers)
    assert (cmgr.hold("a").state, cmgr.hold("a").attempt.tries) == (HoldState.DOWN, 1)


def test_dying_meanwhile_is_a_failed_start_with_code_and_last_lines() -> None:
    cmgr = settling()
    cmgr.wait(2)
    cmgr.dies("a", 3)
    assert "cannot start a, try 1: it exited with code 3 soon after" in cmgr.notes(NoteKind.WARNING)
    assert missing(cmgr.node) == (key("a"),)
    cmgr.run(ReadOutput)
    assert "a wrote last: loading the model | out of memory" in cmgr.notes(NoteKind.RESULT)
    assert (
        cmgr.hold("a").attempt.error == "it exited with code 3 soon after; it wrote: loading the model | out of memory"
    )
    cmgr.wait(40)
    assert (cmgr.held(), outcome(cmgr)) == ([], "recovered"), "its second start has lasted"


def test_one_that_never_stays_up_is_given_up_and_the_episode_has_failed() -> None:
    cmgr = settling(replace(RING, retry=RetryPolicy(starts=3)))
    for _ in range(3):
        cmgr.dies("a", 3)
        cmgr.wait(10)
    assert (cmgr.hold("a").state, len(cmgr.sent(StartContainer)), cmgr.phase()) == (HoldState.FAILED, 3, Phase.HEALTHY)
    assert outcome(cmgr) == "failed"


@pytest.mark.parametrize(("code", "asked"), [(0, False), (143, True), (3, True)])
def test_an_end_that_was_meant_ends_the_hold_in_peace(code: int, asked: bool) -> None:
    cmgr = settling()
    cmgr.dies("a", code, asked=asked)
    cmgr.run()
    assert (cmgr.held(), missing(cmgr.node), outcome(cmgr)) == ([], (), "recovered")
    assert len(cmgr.sent(StartContainer)) == 1


def test_an_end_of_which_nobody_knows_who_meant_it_is_not_undone_and_told() -> None:
    cmgr = settling()
    cmgr.sees(replace(cmgr.truth[key("a")], running=False, exit=Exit(137, cmgr.now, None)))
    cmgr.run()
    assert (cmgr.held(), missing(cmgr.node), outcome(cmgr)) == ([], (key("a"),), "failed")


def test_a_restart_policy_that_starts_it_again_and_again_makes_no_recovery() -> None:
    cmgr = settling(replace(RING, retry=RetryPolicy(starts=3)), restart_policy="always:0")
    for life in range(3):
        cmgr.sees(replace(cmgr.truth[key("a")], run=f"by policy {life}"))
    cmgr.run()
    assert (cmgr.held(), outcome(cmgr)) == ([], "failed")
    assert any("a is lost: it did not stay up, 3 times" in text for text in cmgr.notes(NoteKind.WARNING))


def test_a_new_fault_stops_it_again() -> None:
    cmgr = settling()
    assert names(cmgr.fault(0), StopContainer) == ["a"]
    cmgr.wait(40)
    assert (cmgr.held(), cmgr.booked("a").running, outcome(cmgr)) == ([], True, "recovered")


def test_one_that_settles_keeps_no_other_from_its_start() -> None:
    cmgr = Cmgr(container("first", 0), container("second", 1, order=1), settle=30)
    cmgr.fault(0)
    cmgr.run()
    assert names(cmgr.log, StartContainer) == ["first", "second"]


def test_a_ring_whose_containers_settle_is_no_reason_to_keep_others_back() -> None:
    policy = Policy(strategy=Strategy.SINGLE, limits=LimitsPolicy(rings_at_once=1))
    cmgr = Cmgr(container("a", 0), container("b", 4), policy=policy, settle=30)
    cmgr.fault(0)
    cmgr.run()
    cmgr.fault(4)
    cmgr.run()
    assert (cmgr.phase(4), cmgr.node.restraint.kept) == (Phase.RESUMING, {})


def test_the_next_life_goes_on_watching() -> None:
    cmgr = settling()
    cmgr.wait(20)
    cmgr.begin()
    cmgr.run()
    assert cmgr.hold("a").state is HoldState.SETTLING
    cmgr.truth[key("a")] = replace(cmgr.truth[key("a")], running=False, exit=Exit(3, cmgr.now, asked=None))
    cmgr.begin()
    cmgr.run(ListContainers)
    assert (cmgr.hold("a").state, cmgr.hold("a").attempt.tries) == (HoldState.DOWN, 1)


def test_a_clock_that_was_set_back_between_two_lives_makes_nobody_wait_longer() -> None:
    cmgr = settling()
    cmgr.now -= (cmgr.now - cmgr.now.replace(year=2025)) / 2
    cmgr.begin()
    cmgr.wait(31)
    assert cmgr.held() == []


def test_a_person_can_forget_it() -> None:
    cmgr = settling(restart_policy="always:0")
    cmgr.tell(facts.ForgetOrdered(key("a"), "uid 0"))
    cmgr.run()
    assert (cmgr.held(), cmgr.booked("a").running, cmgr.phase()) == ([], True, Phase.HEALTHY)


@pytest.mark.parametrize("what", ["told", "healed", "recovered"])
def test_what_becomes_later_of_one_that_runs_when_it_is_forgotten_is_another_matter(what: str) -> None:
    cmgr = settling(heal=Heal() if what == "healed" else None)
    cmgr.tell(facts.ForgetOrdered(key("a"), "uid 0"))
    cmgr.run()
    assert cmgr.held() == []
    cmgr.wait(1800)
    cmgr.dies("a", 139)
    assert missing(cmgr.node) == (key("a"),)
    if what == "recovered":
        cmgr.fault(0)
    cmgr.wait(60)
    assert cmgr.booked("a").running is (what != "told")


def test_one_that_is_forgotten_while_it_ails_is_not_restarted_for_that_and_is_for_its_death() -> None:
    cmgr = Cmgr(container("a", 0, heal=Heal()), settle=30)
    cmgr.sees(replace(cmgr.truth[key("a")], health="unhealthy"))
    cmgr.tell(facts.ForgetOrdered(key("a"), "uid 0"))
    cmgr.wait(600)
    assert cmgr.sent(StopContainer) == []
    cmgr.dies("a", 1)
    cmgr.wait(60)
    assert len(cmgr.sent(StartContainer)) == 1


def test_one_whose_stop_is_under_way_when_it_is_forgotten_is_down_and_nobody_is_told() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.tell(facts.ForgetOrdered(key("a"), "uid 0"))
    cmgr.run()
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert (cmgr.booked("a").running, missing(cmgr.node), cmgr.sent(StartContainer)) == (False, (), [])


def test_one_that_a_person_removes_while_it_settles_is_no_loss() -> None:
    cmgr = settling()
    cmgr.removes("a")
    cmgr.run()
    assert (cmgr.held(), outcome(cmgr)) == ([], "recovered")


@pytest.mark.parametrize("policy", [RING, SINGLE])
def test_a_held_one_that_a_person_removes_is_told_loudly(policy: Policy) -> None:
    cmgr = Cmgr(container("a", 0), policy=policy)
    cmgr.fault(0)
    cmgr.run_until(Phase.VERIFYING)
    cmgr.removes("a")
    cmgr.run()
    assert "a is lost: somebody removed it; cmgr cannot start it again" in cmgr.notes(NoteKind.WARNING)
    assert (TroubleKind.LOST, "docker//a") in cmgr.node.troubles, "until a person acknowledges it"
    assert (cmgr.held(), missing(cmgr.node), outcome(cmgr)) == ([], (), "failed")


ANEW = ("docker create --name a --restart always llm", "docker start a")


def test_what_makes_a_held_one_again_is_kept_with_the_policy_that_it_had_and_told_when_it_is_removed() -> None:
    cmgr = Cmgr(container("a", 0, restart_policy="always:0"))
    cmgr.fault(0)
    cmgr.run_until(Phase.VERIFYING)
    down = cmgr.node.containers[key("a")]
    cmgr.tell(facts.ContainerSeen(replace(down, anew=ANEW, restart_policy="always:0")))
    cmgr.tell(facts.ContainerSeen(replace(down, anew=("docker create --name a llm",), restart_policy="")))
    assert cmgr.hold("a").anew == ANEW
    cmgr.begin()
    cmgr.removes("a")
    trouble = cmgr.node.troubles[TroubleKind.LOST, "docker//a"]
    assert trouble.why == "somebody removed it, says an event of docker; cmgr cannot start it again"
    assert (trouble.lines, trouble.hint) == (ANEW, "to make it again, type these 2 lines")


def test_a_loss_is_over_when_one_of_the_same_name_runs() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.run_until(Phase.VERIFYING)
    cmgr.removes("a")
    cmgr.run()
    cmgr.sees(container("a", 0, key=key("another")))
    assert cmgr.node.troubles == {}
