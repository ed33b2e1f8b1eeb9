"""Resets that are not urgent: who runs on the ring runs on, and the reset comes when nobody uses it."""

from dataclasses import replace

import pytest

from cmgr.config.week import window
from cmgr.model.reduce import next_deadline
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Level
from cmgr.model.values.handling.calendar import Opening
from cmgr.model.values.handling.policy import DEFAULT_LEVELS, Policy, Strategy
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import ListContainers, ResetRing, StartContainer, StopContainer
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import UNHEALTHY, Exit, Heal
from cmgr.view.advice import ring_hint
from tests.model.builders import FREE, RESET, Cmgr, container, key, seconds

HOUR = 3600.0


def idle(**changes: object) -> Policy:
    free = replace(DEFAULT_LEVELS[Level.FreeRestartNPU], **changes)  # type: ignore[arg-type]
    return Policy(strategy=Strategy.RING, levels={**DEFAULT_LEVELS, Level.FreeRestartNPU: free})


def spared(policy: Policy | None = None) -> Cmgr:
    """Return a machine on which a and b run, and chip 0 has had such a fault for an hour."""
    cmgr = Cmgr(container("a", 0), container("b", 2), policy=policy or idle())
    cmgr.fault(0, FREE)
    cmgr.wait(HOUR)
    assert (cmgr.held(), cmgr.sent(StopContainer), cmgr.sent(ResetRing)) == ([], [], [])
    return cmgr


def test_who_runs_runs_on_and_the_ring_says_who_that_is_and_how_it_is_reset_now() -> None:
    cmgr = spared()
    words = "the reset of chips 0-3 waits until nobody uses chips 0-3: a runs on"
    assert (cmgr.phase(), cmgr.ring().reason, cmgr.notes().count(words)) == (Phase.HEALTHY, words, 1)
    assert "cmgr reset 0 --stop" in str(ring_hint(cmgr.node, cmgr.ring()))


def test_when_the_last_has_ended_the_ring_is_reset_and_nobody_is_started() -> None:
    cmgr = spared()
    cmgr.dies("a", 0, asked=True)
    cmgr.wait(60)
    assert "b runs on" in cmgr.ring().reason
    cmgr.dies("b", 0, asked=True)
    cmgr.wait(60)
    assert (len(cmgr.sent(ResetRing)), cmgr.phase(), cmgr.ring().reason) == (1, Phase.HEALTHY, "")
    assert not any(c.running for c in cmgr.node.containers.values())


def test_a_process_of_nobody_is_a_user_too_and_its_end_is_seen_soon() -> None:
    cmgr = Cmgr(policy=idle())
    cmgr.processes = {1: "train"}
    cmgr.tell(facts.Resync())
    cmgr.run()
    cmgr.fault(0, FREE)
    cmgr.wait(HOUR)
    assert "process " in cmgr.ring().reason
    assert cmgr.phase() is Phase.HEALTHY
    cmgr.processes = {}
    cmgr.wait(60)
    assert len(cmgr.sent(ResetRing)) == 1


def test_who_comes_between_is_waited_for() -> None:
    cmgr = Cmgr(policy=idle(idle=seconds(60)))
    cmgr.fault(0, FREE)
    cmgr.wait(30)
    cmgr.sees(container("late", 2))
    cmgr.wait(HOUR)
    assert (cmgr.sent(ResetRing), cmgr.sent(StopContainer)) == ([], [])
    assert "late runs on" in cmgr.ring().reason
    cmgr.dies("late", 0, asked=True)
    cmgr.wait(120)
    assert len(cmgr.sent(ResetRing)) == 1


def test_one_that_died_of_it_makes_it_urgent() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 2), policy=idle())
    cmgr.fault(0, FREE)
    cmgr.run()
    cmgr.dies("a", 139)
    cmgr.wait(60)
    assert len(cmgr.sent(ResetRing)) == 1
    assert {c.name for c in cmgr.node.containers.values() if c.running} == {"a", "b"}


def test_after_the_longest_wait_it_is_urgent() -> None:
    cmgr = spared(idle(idle_at_most=seconds(2 * HOUR)))
    assert cmgr.ring().deadline is not None
    assert next_deadline(cmgr.node, cmgr.now) == cmgr.ring().deadline
    cmgr.wait(HOUR - 1)
    assert not cmgr.sent(StopContainer)
    cmgr.wait(60)
    assert (len(cmgr.sent(StopContainer)), len(cmgr.sent(ResetRing)), cmgr.held()) == (2, 1, [])


def test_in_its_window_it_is_urgent() -> None:
    cmgr = spared(idle(window=(window("Sat 02:00-04:00"),)))
    until = cmgr.now + seconds(HOUR)
    cmgr.tell(facts.CalendarRead((Opening("levels.FreeRestartNPU.window", open=True, until=until, wall=until),)))
    cmgr.wait(60)
    assert (len(cmgr.sent(ResetRing)), cmgr.held()) == (1, [])


def test_an_urgent_fault_on_a_mate_waits_for_nobody() -> None:
    cmgr = spared()
    cmgr.fault(1, RESET)
    cmgr.wait(60)
    assert (len(cmgr.sent(ResetRing)), cmgr.held()) == (1, [])


def test_an_order_does_it_now() -> None:
    cmgr = spared()
    cmgr.tell(facts.ResetOrdered(ChipId(0), "uid 0", stop=True))
    cmgr.wait(60)
    assert (len(cmgr.sent(ResetRing)), cmgr.held()) == (1, [])


@pytest.mark.parametrize("later", [0.0, 30.0])
def test_it_lasts_over_a_restart_of_cmgr(later: float) -> None:
    cmgr = spared(idle(idle_at_most=seconds(2 * HOUR)))
    cmgr.begin()
    cmgr.wait(later)
    assert not cmgr.sent(StopContainer)
    cmgr.wait(HOUR + 60)
    assert (len(cmgr.sent(ResetRing)), cmgr.held()) == (1, [])
    assert key("a") in cmgr.node.containers


WINDOWED = idle(reset=True, window=(window("Sat 02:00-04:00"),))


@pytest.mark.parametrize("policy", [idle(), WINDOWED])
def test_what_happened_once_keeps_nobody_down_while_a_mate_runs(policy: Policy) -> None:
    cmgr = Cmgr(container("a", 0, heal=Heal()), container("mate", 2), policy=policy)
    cmgr.sees(replace(cmgr.truth[key("a")], health=UNHEALTHY))
    cmgr.wait(11, run=False)
    cmgr.run(ListContainers)
    cmgr.once(0, FREE)
    cmgr.wait(50)
    assert (cmgr.held(), cmgr.hold("a").reason) == (["a"], f"chip 0 has fault {FREE} (FreeRestartNPU)")
    cmgr.wait(20)
    assert ([c.name for c in cmgr.sent(StartContainer)], cmgr.held()) == (["a"], [])
    assert not cmgr.fault_of(0, FREE).active


def test_nor_does_it_keep_one_from_being_healed() -> None:
    cmgr = Cmgr(container("a", 0, heal=Heal()), policy=idle())
    cmgr.once(0, FREE)
    cmgr.sees(replace(cmgr.truth[key("a")], health=UNHEALTHY))
    cmgr.wait(90)
    assert ([c.name for c in cmgr.sent(StartContainer)], cmgr.held()) == (["a"], [])


@pytest.mark.parametrize("policy", [idle(), WINDOWED])
def test_for_what_happened_once_no_reset_is_announced_and_none_comes(policy: Policy) -> None:
    cmgr = Cmgr(container("a", 0), policy=policy)
    cmgr.once(0, FREE)
    words = f"{FREE} happened once on chip 0: it is over when nobody has died of it within 60 s"
    assert (cmgr.ring().reason, str(ring_hint(cmgr.node, cmgr.ring()))) == (words, "")
    cmgr.wait(61)
    assert (cmgr.phase(), cmgr.ring().reason, cmgr.fault_of(0, FREE).active) == (Phase.HEALTHY, "", False)
    cmgr.dies("a", 139)
    cmgr.wait(HOUR)
    assert (cmgr.sent(ResetRing), cmgr.sent(StopContainer), cmgr.held()) == ([], [], [])


def test_each_time_that_it_happens_counts_anew() -> None:
    cmgr = Cmgr(container("a", 0), policy=idle())
    cmgr.once(0, FREE)
    cmgr.wait(50)
    cmgr.once(0, FREE)
    cmgr.wait(50)
    cmgr.dies("a", 139)
    cmgr.wait(5)
    assert [c.name for c in cmgr.sent(StartContainer)] == ["a"]


def test_one_that_has_died_of_it_unheard_is_started_again() -> None:
    cmgr = Cmgr(container("a", 0), policy=idle())
    cmgr.once(0, FREE)
    cmgr.truth[key("a")] = replace(cmgr.truth[key("a")], running=False, exit=Exit(139, cmgr.now, asked=False))
    cmgr.wait(61)
    assert ([c.name for c in cmgr.sent(StartContainer)], cmgr.sent(ResetRing)) == (["a"], [])


def test_so_is_one_that_died_while_cmgr_was_dead() -> None:
    cmgr = Cmgr(container("a", 0), policy=idle())
    cmgr.once(0, FREE)
    cmgr.truth[key("a")] = replace(cmgr.truth[key("a")], running=False, exit=Exit(139, cmgr.now, asked=False))
    cmgr.now += seconds(HOUR)
    cmgr.begin()
    cmgr.wait(5)
    assert [c.name for c in cmgr.sent(StartContainer)] == ["a"]
