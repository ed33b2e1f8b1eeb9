"""Containers that ail though their chips do not: when they are restarted, and when not."""

from dataclasses import replace

import pytest

from cmgr.model.values.handling.policy import Policy
from cmgr.model.values.holds import Cause, HoldState
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import ListContainers, NoteKind, StartContainer, StopContainer
from cmgr.model.values.services.containers import UNHEALTHY, Exit, Heal
from cmgr.model.values.troubles import TroubleKind
from cmgr.model.wanted import missing
from tests.model.builders import T0, Cmgr, container, key, seconds
from tests.model.healing.ailing import NEVER, WEB, ailing, becomes, runs


def test_one_that_dies_by_itself_is_started_after_the_wait() -> None:
    cmgr = ailing()
    cmgr.dies("web")
    hold = cmgr.hold("web")
    assert (hold.cause, hold.state, hold.episode, hold.attempt.retry_at) == (
        Cause.HEAL,
        HoldState.DOWN,
        0,
        cmgr.now + seconds(10),
    )
    cmgr.wait(9)
    assert not cmgr.sent(StartContainer)
    cmgr.wait(2)
    assert [c.reason for c in cmgr.sent(StartContainer)] == ["it exited by itself: restart 1 of 5"]
    assert cmgr.held() == []
    assert cmgr.booked("web").running
    assert cmgr.notes(NoteKind.HOLD) == ["web exited with code 1: it is restarted in 10 s, restart 1 of 5 within 1 h"]
    assert not cmgr.notes(NoteKind.WARNING)


def test_one_that_uses_no_chip_is_healed_like_any_other() -> None:
    cmgr = Cmgr(container("router", heal=Heal()), policy=NEVER)
    cmgr.dies("router", 3)
    assert missing(cmgr.node) == (key("router"),)
    cmgr.wait(11)
    assert len(cmgr.sent(StartContainer)) == 1
    assert cmgr.booked("router").running


def test_one_that_is_unhealthy_is_stopped_after_the_wait_and_started_at_once() -> None:
    cmgr = ailing()
    becomes(cmgr, "starting")
    becomes(cmgr, UNHEALTHY)
    assert cmgr.held() == [], "it runs on while cmgr waits"
    cmgr.wait(9)
    assert not cmgr.sent(StopContainer)
    cmgr.wait(2)
    assert [c.reason for c in cmgr.sent(StopContainer)] == ["it is unhealthy: restart 1 of 5"]
    assert len(cmgr.sent(StartContainer)) == 1
    assert cmgr.held() == []
    assert runs(cmgr)


def test_one_that_becomes_well_by_itself_is_left_alone() -> None:
    cmgr = ailing()
    becomes(cmgr, UNHEALTHY)
    cmgr.wait(5)
    becomes(cmgr, "healthy")
    cmgr.wait(3600)
    assert not cmgr.sent(StopContainer)
    assert not cmgr.node.healings


def test_one_whose_recovery_no_event_told_of_is_left_alone() -> None:
    cmgr = ailing()
    becomes(cmgr, UNHEALTHY)
    cmgr.truth[key("web")] = replace(cmgr.truth[key("web")], health="healthy")
    cmgr.wait(3600)
    assert cmgr.sent(ListContainers)[0].reason == "is web still unhealthy?"
    assert not cmgr.sent(StopContainer)


def test_it_need_not_be_stopped_when_it_is_well_before_the_stop_could_be_sent() -> None:
    first = replace(WEB, key=key("first"), name="first", order=1)
    cmgr = Cmgr(first, WEB, policy=NEVER)
    cmgr.sees(replace(first, health=UNHEALTHY))
    becomes(cmgr, UNHEALTHY)
    cmgr.wait(10.0, run=False)
    cmgr.answer(ListContainers)
    assert [c.name for c in cmgr.sent(StopContainer)] == ["first"]
    becomes(cmgr, "healthy")
    cmgr.run()
    assert [c.name for c in cmgr.sent(StopContainer)] == ["first"]
    assert cmgr.held() == []


@pytest.mark.parametrize(
    "changes",
    [{"heal": None}, {"enabled": False}, {"auto_remove": True}, {"claims": frozenset({"77"})}],
    ids=str,
)
def test_one_that_does_not_wish_it_or_cannot_be_started_again_is_left_alone(changes: dict[str, object]) -> None:
    cmgr = ailing(**changes)
    becomes(cmgr, UNHEALTHY)
    cmgr.wait(60)
    cmgr.dies("web")
    cmgr.wait(3600)
    assert not cmgr.sent(StopContainer)
    assert not cmgr.sent(StartContainer)
    assert cmgr.held() == []


def test_one_that_its_runtime_restarts_is_left_to_it_when_it_exits_and_healed_when_it_is_unhealthy() -> None:
    cmgr = ailing(restart_policy="on-failure:3")
    cmgr.dies("web")
    cmgr.wait(60)
    assert not cmgr.sent(StartContainer)
    cmgr.starts_by_hand("web", "life 2")
    becomes(cmgr, UNHEALTHY)
    cmgr.wait(60)
    assert [c.restart_policy for c in cmgr.sent(StartContainer)] == ["on-failure:3"]
    assert cmgr.held() == []


@pytest.mark.parametrize("policy", ["always:0", "on-failure:3"])
def test_one_whose_runtime_leaves_it_down_in_spite_of_its_policy_is_healed(policy: str) -> None:
    """`docker kill -s HUP` ends the policy of that life (Docker up to 20.10); and the tries of a policy may be over."""
    cmgr = ailing(restart_policy=policy)
    cmgr.sees(replace(cmgr.truth[key("web")], running=False, exit=Exit(1, cmgr.now, asked=False, left=True)))
    cmgr.wait(11)
    assert [c.restart_policy for c in cmgr.sent(StartContainer)] == [policy]
    assert (runs(cmgr), cmgr.held()) == (True, [])


@pytest.mark.parametrize(("code", "asked"), [(0, False), (1, True), (137, True), (143, None), (137, None)])
def test_one_that_ended_well_or_that_somebody_stopped_is_left_down(code: int, asked: bool | None) -> None:
    cmgr = ailing()
    cmgr.sees(replace(cmgr.truth[key("web")], running=False, exit=Exit(code, cmgr.now, asked)))
    cmgr.wait(3600)
    assert not cmgr.sent(StartContainer)


def test_a_service_that_ends_well_though_nobody_asked_for_that_is_restarted() -> None:
    cmgr = ailing()
    cmgr.sees(replace(cmgr.truth[key("web")], running=False, exit=Exit(0, cmgr.now, asked=False, amiss=True)))
    cmgr.wait(11)
    assert len(cmgr.sent(StartContainer)) == 1


def test_an_end_that_turns_out_to_have_been_asked_for_ends_the_hold() -> None:
    cmgr = ailing()
    cmgr.dies("web", 1)
    assert cmgr.held() == ["web"]
    cmgr.dies("web", 1, asked=True)
    assert cmgr.held() == []
    cmgr.wait(3600)
    assert not cmgr.sent(StartContainer)


def test_one_that_was_down_before_cmgr_knew_it_stays_down() -> None:
    cmgr = Cmgr(replace(WEB, running=False, exit=Exit(1, T0, None)), policy=NEVER)
    cmgr.wait(3600)
    assert not cmgr.sent(StartContainer)


def test_one_that_a_person_starts_meanwhile_is_theirs() -> None:
    cmgr = ailing()
    cmgr.dies("web")
    cmgr.starts_by_hand("web")
    assert cmgr.held() == []
    cmgr.wait(60)
    assert not cmgr.sent(StartContainer)
    cmgr.dies("web", 143, asked=True)
    cmgr.wait(3600)
    assert not cmgr.sent(StartContainer)


@pytest.mark.parametrize("ails", ["dies", "unhealthy"])
def test_one_that_a_person_forgets_is_left_as_it_is_in_this_life(ails: str) -> None:
    cmgr = ailing()
    if ails == "dies":
        cmgr.dies("web")
    else:
        becomes(cmgr, UNHEALTHY)
    cmgr.tell(facts.ForgetOrdered(key("web"), "uid 0"))
    cmgr.begin()
    cmgr.wait(3600)
    assert not cmgr.sent(StopContainer)
    assert not cmgr.sent(StartContainer)
    assert cmgr.held() == []
    cmgr.starts_by_hand("web")
    cmgr.log.clear()
    cmgr.dies("web")
    cmgr.wait(11)
    assert len(cmgr.sent(StartContainer)) == 1, "another life is another matter"


def test_a_dead_one_that_is_removed_is_forgotten_for_that_is_a_persons_word() -> None:
    cmgr = ailing()
    cmgr.dies("web")
    cmgr.removes("web")
    assert cmgr.held() == []
    assert not cmgr.node.healings
    assert not cmgr.node.troubles, "there is nothing to acknowledge"
    assert cmgr.notes(NoteKind.HOLD)[-1] == "web is forgotten: somebody removed it"


def test_one_that_is_removed_in_a_stop_of_ours_is_lost() -> None:
    cmgr = ailing()
    becomes(cmgr, UNHEALTHY)
    cmgr.wait(9)
    cmgr.wait(2, run=False)
    cmgr.run(ListContainers)
    cmgr.answer(StopContainer)
    cmgr.removes("web")
    assert (TroubleKind.LOST, "docker//web") in cmgr.node.troubles


@pytest.mark.parametrize("how", ["observe", "maintenance"])
def test_nothing_is_done_while_cmgr_does_nothing_and_the_present_truth_afterwards(how: str) -> None:
    cmgr = ailing()
    if how == "observe":
        cmgr.tell(facts.Reconfigured(Policy(observe=True), cmgr.catalog))
    else:
        cmgr.tell(facts.MaintenanceOrdered(on=True, who="uid 0"))
    cmgr.dies("web")
    cmgr.wait(600)
    assert cmgr.held() == []
    assert "it would be restarted in 10 s" in cmgr.notes(NoteKind.HOLD)[-1]
    if how == "observe":
        cmgr.tell(facts.Reconfigured(NEVER, cmgr.catalog))
    else:
        cmgr.tell(facts.MaintenanceOrdered(on=False, who="uid 0"))
    cmgr.run()
    assert runs(cmgr)
