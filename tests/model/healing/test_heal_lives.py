"""Healing across faults of the chips, deaths of cmgr, clocks that were set back, and old news."""

from dataclasses import replace
from datetime import timedelta

import pytest

from cmgr.model.values.handling.policy import Policy, Strategy
from cmgr.model.values.holds import Cause, HoldState
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import ListContainers, ReadRing, StartContainer, StopContainer
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import UNHEALTHY, Exit
from cmgr.model.wanted import missing
from tests.model.builders import RING, SINGLE, Cmgr, key
from tests.model.healing.ailing import NEVER, WEB, ailing, becomes, runs


def test_one_that_ended_while_nobody_looked_may_have_been_stopped_by_a_person_and_is_told() -> None:
    cmgr = ailing()
    cmgr.truth[key("web")] = replace(cmgr.truth[key("web")], running=False, exit=Exit(1, cmgr.now, None))
    cmgr.begin()
    cmgr.wait(11)
    assert (cmgr.sent(StartContainer), missing(cmgr.node)) == ([], (key("web"),))


def test_a_life_that_began_and_ended_unseen_is_nobody_s_business() -> None:
    cmgr = ailing()
    cmgr.dies("web", 0)
    cmgr.truth[key("web")] = replace(cmgr.truth[key("web")], run="life 2", exit=Exit(1, cmgr.now, None))
    cmgr.tell(facts.Resync())
    cmgr.wait(3600)
    assert not cmgr.sent(StartContainer)


def test_nothing_is_started_on_a_chip_that_is_isolated_until_it_is_released() -> None:
    cmgr = ailing()
    cmgr.tell(facts.IsolateOrdered(cmgr.chips[0].id, "loud", "uid 0"))
    cmgr.dies("web")
    cmgr.wait(600)
    assert cmgr.held() == ["web"]
    assert not cmgr.sent(StartContainer)
    cmgr.tell(facts.ReleaseOrdered(cmgr.chips[0].id, "uid 0"))
    cmgr.run()
    assert runs(cmgr)


def test_one_that_is_unhealthy_on_an_isolated_chip_is_not_stopped() -> None:
    cmgr = ailing()
    cmgr.tell(facts.IsolateOrdered(cmgr.chips[0].id, "loud", "uid 0"))
    becomes(cmgr, UNHEALTHY)
    cmgr.wait(600)
    assert not cmgr.sent(StopContainer)
    cmgr.tell(facts.ReleaseOrdered(cmgr.chips[0].id, "uid 0"))
    cmgr.run()
    assert len(cmgr.sent(StopContainer)) == 1


@pytest.mark.parametrize("policy", [RING, SINGLE, NEVER], ids=lambda p: str(p.strategy))
def test_a_fault_that_comes_after_the_death_makes_it_part_of_the_episode(policy: Policy) -> None:
    cmgr = Cmgr(WEB, policy=policy)
    cmgr.dies("web")
    cmgr.wait(5)
    cmgr.fault(0)
    assert (cmgr.hold("web").cause, cmgr.hold("web").episode) == (Cause.EPISODE, 1)
    cmgr.run()
    assert cmgr.phase() is Phase.HEALTHY
    assert runs(cmgr)
    assert not cmgr.node.healings, "it was the chip"
    assert [c.reason for c in cmgr.sent(StartContainer)] == ["episode 1 is over"]


def test_one_that_dies_in_an_episode_that_does_not_touch_it_is_healed_afterwards() -> None:
    cmgr = Cmgr(WEB, policy=replace(NEVER, strategy=Strategy.NEVER))
    cmgr.fault(1)
    cmgr.dies("web")
    assert cmgr.held() == []
    cmgr.run()
    assert cmgr.phase() is Phase.HEALTHY
    cmgr.wait(11)
    assert len(cmgr.sent(StartContainer)) == 1


def test_an_unhealthy_one_that_is_just_being_stopped_is_started_by_the_episode() -> None:
    cmgr = Cmgr(WEB, policy=RING)
    becomes(cmgr, UNHEALTHY)
    cmgr.wait(10, run=False)
    cmgr.answer(ListContainers)
    assert cmgr.hold("web").state is HoldState.STOPPING
    cmgr.fault(2)
    assert cmgr.hold("web").cause is Cause.EPISODE
    cmgr.run()
    assert cmgr.phase() is Phase.HEALTHY
    assert len(cmgr.sent(StopContainer)) == 1
    assert runs(cmgr)


def test_a_start_that_fails_is_tried_again_and_counts_once() -> None:
    cmgr = ailing()
    cmgr.dies("web")
    cmgr.wait(10, run=False)
    cmgr.answer(ListContainers)
    cmgr.answer(StartContainer, error="no such image")
    cmgr.wait(10)
    assert runs(cmgr)
    assert len(cmgr.node.healings[key("web")].times) == 1


@pytest.mark.parametrize("ails", ["dies", "unhealthy"])
@pytest.mark.parametrize("crash", range(12))
def test_a_cmgr_that_dies_at_any_point_heals_once_and_counts_once(ails: str, crash: int) -> None:
    cmgr = ailing()
    if ails == "dies":
        cmgr.dies("web")
    else:
        becomes(cmgr, UNHEALTHY)
    for step in range(12):
        if step == crash:
            cmgr.begin()
        if cmgr.pending:
            cmgr.answer(type(cmgr.pending[0]))
        else:
            cmgr.wait(5, run=False)
    cmgr.wait(60)
    assert runs(cmgr)
    assert len(cmgr.node.healings[key("web")].times) == 1
    assert cmgr.held() == []


@pytest.mark.parametrize("ails", ["dies", "unhealthy"])
def test_a_clock_that_was_set_back_makes_the_wait_no_longer(ails: str) -> None:
    cmgr = ailing()
    if ails == "dies":
        cmgr.dies("web")
    else:
        becomes(cmgr, UNHEALTHY)
    cmgr.wait(4)
    cmgr.now -= timedelta(days=1)
    cmgr.begin()
    cmgr.wait(9)
    assert not cmgr.sent(StartContainer), "nor shorter"
    cmgr.wait(3)
    assert len(cmgr.sent(StartContainer)) == 1


def test_a_clock_that_was_set_back_makes_the_wait_no_longer_also_of_one_that_has_ailed_for_long() -> None:
    cmgr = Cmgr(WEB, policy=replace(NEVER, strategy=Strategy.NEVER))
    cmgr.fault(0)
    becomes(cmgr, UNHEALTHY)
    cmgr.wait(4 * 3600)
    assert not cmgr.sent(StopContainer), "not while its chip has an episode"
    cmgr.clears(0)
    cmgr.run(ReadRing)
    cmgr.now -= timedelta(days=1)
    cmgr.begin()
    cmgr.wait(301)
    assert len(cmgr.sent(StartContainer)) == 1


def test_a_restart_of_cmgr_makes_the_wait_no_shorter() -> None:
    cmgr = ailing()
    cmgr.dies("web")
    cmgr.wait(4)
    cmgr.begin()
    cmgr.wait(5)
    assert not cmgr.sent(StartContainer)
    cmgr.wait(2)
    assert len(cmgr.sent(StartContainer)) == 1


def test_old_news_of_an_ended_life_heals_nobody() -> None:
    cmgr = ailing()
    cmgr.starts_by_hand("web", "life 2")
    cmgr.dies("web", 143, asked=True)
    late = replace(WEB, running=False, exit=Exit(1, cmgr.now, asked=False))
    cmgr.tell(facts.ContainerSeen(late))
    cmgr.wait(60)
    assert not cmgr.sent(StartContainer), "a list says that somebody has stopped it since"
    assert cmgr.held() == []
