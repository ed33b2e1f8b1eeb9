"""How often a container is healed, when it is given up, and what a person can do then."""

from datetime import timedelta

import pytest

from cmgr.model.values.handling.policy import HealPolicy, Policy
from cmgr.model.values.holds import Cause, HoldState
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import NoteKind, StartContainer, StopContainer
from cmgr.model.values.services.containers import UNHEALTHY, Heal
from tests.model.builders import RING, Cmgr, key, seconds
from tests.model.healing.ailing import WEB, ailing, becomes, crash_often, runs


def test_the_wait_doubles_up_to_the_most_and_the_limit_ends_it() -> None:
    cmgr = ailing()
    assert crash_often(cmgr, 5) == [10, 20, 40, 80, 160]
    cmgr.log.clear()
    cmgr.dies("web")
    assert cmgr.notes(NoteKind.WARNING) == [
        "web exited with code 1 and is given up after 5 restarts within 1 h: cmgr resume web"
    ]
    assert (cmgr.hold("web").state, cmgr.hold("web").cause) == (HoldState.FAILED, Cause.HEAL)
    cmgr.wait(24 * 3600)
    assert not cmgr.sent(StartContainer), "a person is waited for"


def test_labels_come_before_the_policy() -> None:
    cmgr = ailing(heal=Heal(limit=2, backoff=seconds(200)))
    assert crash_often(cmgr, 2) == [200, 300]
    cmgr.dies("web")
    assert cmgr.hold("web").state is HoldState.FAILED


def test_restarts_out_of_the_window_do_not_count() -> None:
    cmgr = Cmgr(WEB, policy=Policy(heal=HealPolicy(limit=2, window=timedelta(minutes=10))))
    assert crash_often(cmgr, 1) == [10]
    cmgr.wait(600)
    assert crash_often(cmgr, 2) == [10, 20]
    cmgr.wait(700)
    assert not cmgr.node.healings, "nothing is left to remember"


def unhealthy_for_ever(cmgr: Cmgr) -> None:
    for _ in range(5):
        becomes(cmgr, UNHEALTHY)
        cmgr.wait(400)
    becomes(cmgr, UNHEALTHY)


def test_one_that_is_unhealthy_again_and_again_is_left_running_when_the_limit_is_reached() -> None:
    cmgr = ailing()
    unhealthy_for_ever(cmgr)
    assert len(cmgr.sent(StopContainer)) == 5
    assert cmgr.notes(NoteKind.WARNING) == [
        "web is unhealthy and is given up after 5 restarts within 1 h: cmgr resume web"
    ]
    cmgr.wait(24 * 3600)
    assert len(cmgr.sent(StopContainer)) == 5
    assert runs(cmgr)


def test_who_is_given_up_and_comes_and_goes_is_told_of_once() -> None:
    cmgr = ailing()
    unhealthy_for_ever(cmgr)
    for _ in range(3):
        becomes(cmgr, "healthy")
        becomes(cmgr, UNHEALTHY)
    assert len(cmgr.notes(NoteKind.WARNING)) == 1
    becomes(cmgr, "healthy")
    cmgr.wait(3700)
    assert not cmgr.node.healings
    becomes(cmgr, UNHEALTHY)
    cmgr.wait(11)
    assert len(cmgr.sent(StopContainer)) == 6


@pytest.mark.parametrize("order", [facts.ResumeOrdered(key("web"), "uid 0"), facts.ResumeAllOrdered("uid 0")])
def test_who_is_given_up_is_restarted_by_order_and_counted_anew(order: facts.Fact) -> None:
    cmgr = ailing()
    unhealthy_for_ever(cmgr)
    cmgr.tell(order)
    cmgr.run()
    assert len(cmgr.sent(StopContainer)) == 6
    assert runs(cmgr)
    assert len(cmgr.node.healings[key("web")].times) == 1
    crash_often(cmgr, 4)
    cmgr.dies("web")
    assert cmgr.hold("web").state is HoldState.FAILED
    cmgr.tell(order)
    cmgr.run()
    assert runs(cmgr)
    assert cmgr.held() == []


def test_one_given_up_while_unhealthy_that_dies_is_failed() -> None:
    cmgr = ailing()
    unhealthy_for_ever(cmgr)
    cmgr.dies("web")
    assert cmgr.hold("web").state is HoldState.FAILED
    cmgr.wait(600)
    assert not runs(cmgr)


def test_one_that_a_person_starts_after_it_was_given_up_is_counted_anew() -> None:
    cmgr = ailing()
    crash_often(cmgr, 5)
    cmgr.dies("web")
    cmgr.starts_by_hand("web")
    assert cmgr.held() == []
    cmgr.wait(1)
    assert crash_often(cmgr, 1) == [10]


def test_one_that_was_given_up_does_not_make_an_episode_fail() -> None:
    cmgr = Cmgr(WEB, policy=RING)
    crash_often(cmgr, 5)
    cmgr.dies("web")
    cmgr.wait(600)
    cmgr.fault(0)
    cmgr.run()
    assert cmgr.notes(NoteKind.CLOSED)[0].startswith("episode 1 is over: recovered")
    assert cmgr.hold("web").state is HoldState.FAILED


def test_a_new_daemon_is_no_reason_to_go_beyond_the_limit() -> None:
    cmgr = ailing()
    crash_often(cmgr, 5)
    cmgr.dies("web")
    cmgr.tell(facts.RuntimeUp("docker", restarted=True))
    cmgr.wait(60)
    assert cmgr.hold("web").state is HoldState.FAILED
