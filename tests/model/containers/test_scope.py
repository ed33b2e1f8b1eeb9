"""Whose containers are stopped: strategies, labels, and nothing outside the fault's ring."""

from dataclasses import replace
from datetime import timedelta

import pytest

from cmgr.model.values.chips import UNCLEAR
from cmgr.model.values.handling.policy import Policy, Strategy
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import NoteKind, StopContainer
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import Container
from cmgr.model.values.troubles import TroubleKind
from cmgr.view.troubles import troubles
from tests.model.builders import MINOR, RING, SINGLE, Cmgr, container, key, names, seconds

NEVER = Policy()


@pytest.mark.parametrize(
    ("strategy", "stopped"),
    [(Strategy.NEVER, []), (Strategy.SINGLE, ["on-fault"]), (Strategy.RING, ["mate", "on-fault"])],
)
def test_the_strategy_says_whose_containers_are_stopped(strategy: Strategy, stopped: list[str]) -> None:
    cmgr = Cmgr(
        container("on-fault", 0), container("mate", 1), container("other-ring", 4), policy=Policy(strategy=strategy)
    )
    assert sorted(names(cmgr.fault(0))) == stopped
    assert cmgr.held() == stopped


@pytest.mark.parametrize(
    ("policy", "label", "stopped"),
    [
        (RING, Strategy.NEVER, False),
        (RING, Strategy.SINGLE, False),
        (SINGLE, Strategy.RING, True),
        (NEVER, Strategy.RING, True),
        (NEVER, Strategy.SINGLE, False),
    ],
)
def test_a_container_of_its_own_strategy_follows_that(policy: Policy, label: Strategy, stopped: bool) -> None:
    cmgr = Cmgr(container("mate", 1, strategy=label), policy=policy)
    assert names(cmgr.fault(0)) == (["mate"] if stopped else [])


def test_a_container_that_is_not_enabled_is_left_alone() -> None:
    cmgr = Cmgr(container("mine", 0, enabled=False))
    assert names(cmgr.fault(0)) == []
    cmgr.wait(10)
    assert cmgr.ring().reason == "the reset of chips 0-3 waits for mine (label cmgr.enable=false)"
    cmgr.dies("mine")
    cmgr.run()
    assert (cmgr.phase(), cmgr.held()) == (Phase.HEALTHY, [])


def test_a_container_that_does_not_run_is_not_stopped() -> None:
    cmgr = Cmgr(container("created", 0, running=False, run=""))
    cmgr.fault(0)
    cmgr.run()
    assert (cmgr.sent(StopContainer), cmgr.held(), cmgr.phase()) == ([], [], Phase.HEALTHY)


def test_a_fault_that_is_not_handled_opens_no_episode() -> None:
    cmgr = Cmgr(container("a", 0))
    assert names(cmgr.fault(0, MINOR)) == []
    assert cmgr.phase() is Phase.HEALTHY
    assert cmgr.fault_of(0, MINOR).active


def test_a_ring_without_users_is_reset_at_once() -> None:
    cmgr = Cmgr(container("other-ring", 4))
    cmgr.fault(0)
    cmgr.run()
    assert (len(cmgr.ring(0).resets), cmgr.phase(0)) == (1, Phase.HEALTHY)


def test_each_strategy_that_keeps_a_container_running_is_named_in_the_reason() -> None:
    cmgr = Cmgr(container("a", 0), container("mate", 1), container("never", 2, strategy=Strategy.NEVER), policy=SINGLE)
    cmgr.fault(0)
    cmgr.wait(5)
    assert cmgr.phase() is Phase.WAITING
    assert cmgr.ring().reason == (
        "the reset of chips 0-3 waits for mate (not on a faulty chip; strategy ringRecover would stop it), "
        "never (strategy never)"
    )


def test_by_default_a_wait_for_ring_mates_ends_after_ten_minutes_and_says_so_before() -> None:
    cmgr = Cmgr(container("a", 0), container("mate", 1), policy=SINGLE)
    cmgr.fault(0)
    cmgr.wait(1)
    ring = cmgr.ring()
    assert ring.reason.endswith("; after 10 min of that the whole ring is stopped (reset.widen_after)")
    assert ring.blocked is not None
    assert ring.deadline == ring.blocked + timedelta(minutes=10)
    assert [t.kind for t in troubles(cmgr.node) if t.kind is TroubleKind.WIDENED] == []
    cmgr.now = ring.deadline
    assert names(cmgr.tell(facts.Tick())) == ["mate"]
    told = "the reset of chips 0-3 has waited 10 min for mate: the whole ring is stopped (reset.widen_after)"
    assert told in cmgr.notes(NoteKind.WARNING)
    assert [t.text for t in troubles(cmgr.node) if t.kind is TroubleKind.WIDENED] == ["the whole ring 0 is stopped"]
    cmgr.run()
    assert (cmgr.phase(), cmgr.held(), cmgr.booked("mate").running) == (Phase.HEALTHY, [], True)
    assert troubles(cmgr.node) == []


@pytest.mark.parametrize(
    "left",
    [
        container("never", 2, strategy=Strategy.NEVER),
        container("not-mine", 2, enabled=False),
        container("once", 2, auto_remove=True),
        replace(container("somewhere"), claims=frozenset({UNCLEAR})),  # The driver cannot list who is on chip 3.
    ],
    ids=lambda c: c.name,
)
def test_no_ring_mate_is_stopped_where_that_would_not_end_the_wait(left: Container) -> None:
    cmgr = Cmgr(container("a", 0), container("mate", 1), left, policy=SINGLE)
    cmgr.blind = {3}
    cmgr.tell(facts.Resync())
    cmgr.run()
    cmgr.fault(0)
    cmgr.wait(1300)
    assert (cmgr.phase(), cmgr.ring().deadline, names(cmgr.log)) == (Phase.WAITING, None, ["a"])
    assert "widen_after" not in cmgr.ring().reason


def test_without_widen_after_the_wait_has_no_end() -> None:
    cmgr = Cmgr(
        container("a", 0), container("mate", 1), policy=replace(SINGLE, reset=replace(SINGLE.reset, widen_after=None))
    )
    cmgr.fault(0)
    cmgr.wait(90_000)
    assert (cmgr.phase(), names(cmgr.log)) == (Phase.WAITING, ["a"])
    assert cmgr.ring().reason.endswith("(not on a faulty chip; strategy ringRecover would stop it)")


def test_a_wait_for_ring_mates_longer_than_widen_after_stops_them_too() -> None:
    policy = replace(SINGLE, reset=replace(SINGLE.reset, widen_after=seconds(30)))
    cmgr = Cmgr(container("a", 0), container("mate", 1), policy=policy)
    cmgr.fault(0)
    cmgr.wait(29)
    assert names(cmgr.log) == ["a"]
    cmgr.wait(2)
    assert names(cmgr.log) == ["a", "mate"]
    assert (cmgr.phase(), cmgr.held(), cmgr.booked("mate").running) == (Phase.HEALTHY, [], True)
    assert not cmgr.ring().widened


def test_the_ring_mates_are_stopped_in_the_very_turn_in_which_the_wait_was_too_long() -> None:
    policy = replace(SINGLE, reset=replace(SINGLE.reset, widen_after=seconds(30)))
    cmgr = Cmgr(container("a", 0), container("mate", 1), policy=policy)
    cmgr.fault(0)
    cmgr.run()
    cmgr.now += seconds(31)
    assert names(cmgr.tell(facts.Tick())) == ["mate"]


def test_a_wait_that_was_interrupted_begins_anew_before_the_ring_is_widened() -> None:
    policy = replace(SINGLE, reset=replace(SINGLE.reset, widen_after=seconds(30)))
    cmgr = Cmgr(container("a", 0), container("mate", 1), policy=policy)
    cmgr.processes[0] = "left over"
    cmgr.fault(0)
    cmgr.wait(20)
    cmgr.dies("mate", 0, asked=True)
    cmgr.wait(5)
    cmgr.starts_by_hand("mate")
    cmgr.processes.clear()
    cmgr.tell(facts.Resync())
    cmgr.wait(20)
    assert names(cmgr.log) == ["a"]
    cmgr.wait(11)
    assert names(cmgr.log) == ["a", "mate"]


def test_containers_of_every_runtime_are_stopped() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 0, runtime="containerd"), runtimes=("docker", "containerd"))
    stopped = [c.key for c in cmgr.fault(0) if isinstance(c, StopContainer)]
    assert sorted(stopped) == [key("b", "containerd"), key("a")]


def test_a_container_that_asks_for_all_chips_is_on_every_ring() -> None:
    cmgr = Cmgr(replace(container("everywhere"), claims=frozenset({"all"})))
    assert names(cmgr.fault(5)) == ["everywhere"]
