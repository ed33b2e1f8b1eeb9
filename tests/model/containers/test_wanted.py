"""Containers that ought to run are known, also to the next life; each that is down is told, and nothing else."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from cmgr.model.values.chips import ChipId
from cmgr.model.values.handling.policy import Policy
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import StartContainer
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import Container, Exit
from cmgr.model.wanted import missing
from tests.model.builders import RING, SEPARATE, T0, Cmgr, container, key

IDLE = Policy()


def down(cmgr: Cmgr) -> list[str]:
    return [each.id for each in missing(cmgr.node)]


@pytest.mark.parametrize(
    ("code", "asked", "told"),
    [
        (1, False, True), (1, None, True), (137, False, True), (137, None, True), (143, None, True),
        (0, False, False), (0, None, False), (143, True, False), (1, True, False),
    ],
)  # fmt: skip
def test_an_end_that_nobody_meant_is_told(code: int, asked: bool | None, told: bool) -> None:
    cmgr = Cmgr(container("a", 0), policy=IDLE)
    cmgr.sees(replace(cmgr.truth[key("a")], running=False, exit=Exit(code, cmgr.now, asked)))
    assert down(cmgr) == ["a"] * told
    cmgr.begin()
    cmgr.run()
    assert down(cmgr) == ["a"] * told, "the next life knows it, too"


def is_down_in_both_lives(cmgr: Cmgr) -> None:
    assert down(cmgr) == ["a"]
    cmgr.begin()
    cmgr.run()
    assert down(cmgr) == ["a"], "the next life knows it, too"


@pytest.mark.parametrize("code", [0, 143])
def test_an_end_that_its_daemon_may_have_made_is_told(code: int) -> None:
    cmgr = Cmgr(container("a", 0), policy=IDLE)
    cmgr.tell(facts.RuntimeDown("docker", "gone"))
    cmgr.truth[key("a")] = replace(
        cmgr.truth[key("a")], running=False, exit=Exit(code, cmgr.now, asked=None, missed=True)
    )
    cmgr.tell(facts.RuntimeUp("docker", restarted=True))
    cmgr.run()
    is_down_in_both_lives(cmgr)


def down_unseen(at: datetime, *chips: int, asked: bool | None = None) -> Container:
    exit_ = Exit(0, at, asked, missed=True)
    return container("a", *chips, running=False, run="unseen", exit=exit_)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("listed", ["", "before", "after"])
def test_a_life_that_began_and_ended_while_its_daemon_could_not_be_heard_is_told(known: bool, listed: str) -> None:
    cmgr = Cmgr(*[container("a", 0, running=False, exit=Exit(0, T0, asked=True))] * known, policy=IDLE)
    cmgr.tell(facts.RuntimeDown("docker", "gone"))
    cmgr.now += timedelta(seconds=1)
    if listed == "before":
        cmgr.tell(facts.Resync())
        cmgr.run()
    cmgr.truth[key("a")] = down_unseen(cmgr.now + timedelta(seconds=1), 0)
    cmgr.now += timedelta(seconds=2)
    if listed == "after":
        cmgr.tell(facts.Resync())
        cmgr.run()
        assert down(cmgr) == ["a"]
    cmgr.tell(facts.RuntimeUp("docker", restarted=True))
    cmgr.run()
    is_down_in_both_lives(cmgr)


@pytest.mark.parametrize(
    ("later", "asked", "chips"),
    [(-1, None, [0]), (1, True, [0]), (1, None, [])],
    ids=["it ended before", "somebody ended it", "it uses no chip"],
)
def test_no_other_that_is_found_down_is(later: int, asked: bool | None, chips: list[int]) -> None:
    cmgr = Cmgr(policy=IDLE)
    cmgr.tell(facts.RuntimeDown("docker", "gone"))
    cmgr.truth[key("a")] = down_unseen(cmgr.now + timedelta(seconds=later), *chips, asked=asked)
    cmgr.now += timedelta(seconds=2)
    cmgr.tell(facts.RuntimeUp("docker"))
    cmgr.run()
    assert down(cmgr) == []


def test_what_is_met_down_while_events_flow_is_told_by_them() -> None:
    cmgr = Cmgr(policy=IDLE)
    cmgr.tell(facts.RuntimeDown("docker", "gone"))
    cmgr.tell(facts.RuntimeUp("docker"))
    cmgr.run()
    cmgr.truth[key("a")] = down_unseen(cmgr.now + timedelta(seconds=1), 0)
    cmgr.now += timedelta(seconds=2)
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert down(cmgr) == []


def test_late_news_that_somebody_had_stopped_it_ends_it() -> None:
    cmgr = Cmgr(container("a", 0), policy=IDLE)
    cmgr.sees(replace(cmgr.truth[key("a")], running=False, exit=Exit(143, cmgr.now, None, missed=True)))
    assert down(cmgr) == ["a"]
    cmgr.sees(replace(cmgr.truth[key("a")], exit=Exit(143, cmgr.now, asked=True)))
    assert down(cmgr) == []


def test_what_the_last_life_saw_of_an_end_counts_for_more_than_what_docker_remembers() -> None:
    cmgr = Cmgr(container("a", 0), policy=IDLE)
    cmgr.sees(replace(cmgr.truth[key("a")], running=False, exit=Exit(0, cmgr.now, None, missed=True)))
    cmgr.truth[key("a")] = replace(cmgr.truth[key("a")], exit=Exit(0, cmgr.now, asked=True))
    cmgr.begin()
    cmgr.run()
    assert down(cmgr) == ["a"], "its daemon's own order looks like a person's"
    for news in (facts.Resync(), facts.ContainerSeen(cmgr.truth[key("a")])):
        cmgr.tell(news)
        cmgr.run()
        assert down(cmgr) == ["a"], "and as often as it is told"
    cmgr.starts_by_hand("a")
    cmgr.dies("a", asked=True)
    assert down(cmgr) == [], "the next one is what it looks like"


def test_what_was_down_before_cmgr_looked_first_is_not_told() -> None:
    assert down(Cmgr(container("a", 0, running=False, exit=Exit(1, T0, False)), policy=IDLE)) == []


def test_what_uses_no_chip_or_is_none_of_cmgrs_business_is_not_told() -> None:
    cmgr = Cmgr(container("a"), container("b", 0, enabled=False), policy=IDLE)
    cmgr.dies("a")
    cmgr.dies("b")
    assert down(cmgr) == []


def test_it_ends_when_it_runs_again() -> None:
    cmgr = Cmgr(container("a", 0), policy=IDLE)
    cmgr.dies("a")
    cmgr.starts_by_hand("a")
    assert down(cmgr) == []


def test_it_ends_when_somebody_removes_it() -> None:
    cmgr = Cmgr(container("a", 0), policy=IDLE)
    cmgr.dies("a")
    cmgr.removes("a")
    assert down(cmgr) == []


def test_one_that_is_forgotten_is_wanted_again_in_its_next_life() -> None:
    cmgr = Cmgr(container("a", 0), policy=IDLE)
    cmgr.dies("a")
    cmgr.tell(facts.ForgetOrdered(key("a"), "uid 0"))
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert down(cmgr) == []
    cmgr.starts_by_hand("a")
    cmgr.dies("a")
    assert down(cmgr) == ["a"]


def test_one_that_was_forgotten_while_it_was_held_is_not_told() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.run_until(Phase.VERIFYING)
    assert down(cmgr) == ["a"]
    cmgr.tell(facts.ForgetOrdered(key("a"), "uid 0"))
    cmgr.run()
    assert (down(cmgr), cmgr.sent(StartContainer)) == ([], [])


def test_a_held_one_is_told_until_it_runs_again() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    assert down(cmgr) == [], "it is being stopped, and runs"
    cmgr.run_until(Phase.RESUMING)
    assert down(cmgr) == ["a"]
    cmgr.run()
    assert (down(cmgr), cmgr.booked("a").kept.wanted) == ([], True)


def test_one_whose_end_was_told_is_told_also_when_nobody_was_there_to_see_it() -> None:
    cmgr = Cmgr(container("a", 0), policy=IDLE)
    cmgr.truth[key("a")] = replace(cmgr.truth[key("a")], running=False, exit=Exit(255, cmgr.now, None))
    cmgr.begin()
    cmgr.run()
    assert down(cmgr) == ["a"]


@pytest.mark.parametrize("mode", [facts.MaintenanceOrdered(on=True, who="a"), None])
def test_nothing_that_is_done_or_set_in_mid_episode_hides_a_held_one(mode: facts.MaintenanceOrdered | None) -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.run_until(Phase.WAITING)
    cmgr.tell(mode or facts.Reconfigured(replace(RING, observe=True), cmgr.catalog))
    cmgr.clears(0)
    cmgr.wait(600)
    assert (cmgr.phase(), cmgr.held(), down(cmgr)) == (Phase.HEALTHY, ["a"], ["a"])


def test_one_whose_chip_is_gone_after_a_reboot_is_told() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 4), policy=replace(RING))
    cmgr.fault(0)
    cmgr.run_until(Phase.WAITING)
    cmgr.fault(0, SEPARATE)
    cmgr.run()
    cmgr.chips = cmgr.chips[1:]
    cmgr.begin()
    cmgr.run()
    assert ChipId(0) not in cmgr.node.chips
    assert (cmgr.held(), down(cmgr)) == (["a"], ["a"])


def test_a_member_of_a_group_without_chips_ought_to_run_too() -> None:
    cmgr = Cmgr(container("router"), container("kv", group="tp4"), policy=IDLE)
    cmgr.dies("router")
    cmgr.dies("kv")
    assert down(cmgr) == ["kv"]
    cmgr.begin()
    cmgr.run()
    assert down(cmgr) == ["kv"], "the next life knows it, too"
