"""Something that keeps a container running (a systemd unit, docker compose) starts again what cmgr has stopped."""

from dataclasses import replace
from typing import Any

import pytest

from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import (
    ListContainers,
    ResetRing,
    SetRestartPolicy,
    StartContainer,
    StopContainer,
)
from cmgr.model.values.rings import Phase
from cmgr.model.values.troubles import TroubleKind
from cmgr.view import status as view
from cmgr.view.troubles import troubles
from tests.model.builders import REQUEST, RESET, Cmgr, container, died, key, names, seconds

FOUGHT = "the reset of chips 0-3 waits for a (something starts it again: a systemd unit, docker compose or a script)"


def waiting(**fields: Any) -> Cmgr:
    """Return a ring that waits for its fault to have lasted, its container "a" stopped a moment ago."""
    cmgr = Cmgr(container("a", 0, **fields))
    cmgr.fault(0, REQUEST)
    cmgr.run()
    return cmgr


def test_what_is_started_again_soon_after_the_stop_is_stopped_again_and_recovered() -> None:
    cmgr = waiting()
    cmgr.wait(5)
    cmgr.starts("a", "by its unit")
    assert (cmgr.held(), cmgr.hold("a").run) == (["a"], "by its unit")
    cmgr.wait(70)
    assert (len(cmgr.sent(StopContainer)), len(cmgr.sent(ResetRing)), cmgr.phase()) == (2, 1, Phase.HEALTHY)
    assert (cmgr.held(), len(cmgr.sent(StartContainer))) == ([], 1)


def test_it_is_stopped_three_times_with_growing_waits_and_then_the_ring_waits() -> None:
    cmgr = waiting()
    waits = []
    for life in range(4):
        cmgr.starts("a", f"by its unit {life}")
        if cmgr.held():
            retry_at = cmgr.hold("a").attempt.retry_at
            assert retry_at is not None
            waits.append((retry_at - cmgr.now).total_seconds())
            cmgr.wait(waits[-1] + 1)
    assert (waits, len(cmgr.sent(StopContainer))) == ([1, 2, 4], 4)
    cmgr.wait(600)
    assert (cmgr.ring().reason, cmgr.sent(ResetRing), len(cmgr.sent(StopContainer))) == (FOUGHT, [], 4)
    row = view.containers(cmgr.node)[0]
    assert "something starts it again" in str(row["reason"])
    assert "stop what starts it" in str(row["hint"])
    assert [t.id for t in troubles(cmgr.node) if t.kind is TroubleKind.OWNER] == ["owner-docker-a"]


def test_one_that_was_renamed_while_it_was_held_is_stopped_again_as_often_as_others() -> None:
    cmgr = waiting()
    cmgr.truth[key("a")] = replace(cmgr.truth[key("a")], name="b")
    for life in range(3):
        cmgr.starts("a", f"by its unit {life}")
        assert cmgr.held() == ["a"]
        cmgr.wait(10)
    cmgr.starts("a", "by its unit again")
    assert (cmgr.held(), len(cmgr.sent(StopContainer))) == ([], 4)


def test_one_that_is_up_again_before_its_stop_is_answered_is_counted_like_the_others() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, REQUEST)
    for life in range(4):
        cmgr.truth[key("a")] = container("a", 0, run=f"by its unit {life}")
        cmgr.answer(StopContainer, error="cannot stop container a: it runs again", again=f"by its unit {life}")
        cmgr.wait(10, run=False)
    assert len(cmgr.sent(StopContainer)) == 4
    assert [t.id for t in troubles(cmgr.node) if t.kind is TroubleKind.OWNER] == ["owner-docker-a"]
    cmgr.run()
    cmgr.wait(600)
    assert (cmgr.ring().reason, cmgr.sent(ResetRing), len(cmgr.sent(StopContainer))) == (FOUGHT, [], 4)


def test_one_that_is_quicker_than_its_policy_is_switched_off_is_counted_like_the_others() -> None:
    kept = container("a", 0, restart_policy="always")
    cmgr = Cmgr(kept)
    cmgr.fault(0, REQUEST)
    for life in range(4):
        cmgr.run(StopContainer, ListContainers)
        cmgr.truth[key("a")] = replace(kept, run=f"by its client {life}")
        cmgr.sees(cmgr.truth[key("a")])
        cmgr.run(ListContainers)
        cmgr.answer(SetRestartPolicy, error="it runs")
        cmgr.wait(10, run=False)
    assert len(cmgr.sent(StopContainer)) == 4
    assert [t.id for t in troubles(cmgr.node) if t.kind is TroubleKind.OWNER] == ["owner-docker-a"]


def test_the_ring_goes_on_when_the_owner_was_stopped() -> None:
    cmgr = waiting()
    for life in range(4):
        cmgr.starts("a", f"by its unit {life}")
        cmgr.wait(10)
    cmgr.dies("a", 143, asked=True)
    cmgr.wait(70)
    assert (cmgr.phase(), cmgr.held(), len(cmgr.sent(ResetRing)), cmgr.sent(StartContainer)) == (
        Phase.HEALTHY,
        [],
        1,
        [],
    )


def test_a_start_long_after_the_stop_is_a_persons_and_the_second_is_not() -> None:
    cmgr = waiting()
    assert names(cmgr.starts_by_hand("a")) == []
    assert cmgr.held() == []
    cmgr.dies("a")
    cmgr.sees(container("a", 0, run="by its unit"))
    assert cmgr.held() == ["a"]
    cmgr.wait(70)
    assert (cmgr.phase(), len(cmgr.sent(StartContainer)), cmgr.booked("a").running) == (Phase.HEALTHY, 1, True)


def test_what_a_person_has_forgotten_may_be_started_as_often_as_it_likes() -> None:
    cmgr = waiting()
    cmgr.tell(facts.ForgetOrdered(key("a"), "a person"))
    for life in range(3):
        cmgr.sees(container("a", 0, run=f"by its unit {life}"))
        cmgr.wait(2)
        cmgr.dies("a")
    assert (cmgr.held(), len(cmgr.sent(StopContainer))) == ([], 1)


def test_one_that_died_of_the_fault_and_is_started_by_its_unit_is_held_all_the_same() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.sees(died("a", 0, run="life 1", at=cmgr.now))
    cmgr.fault(0)
    cmgr.starts("a", "by its unit")
    assert cmgr.held() == ["a"]
    cmgr.wait(5)
    assert (cmgr.phase(), cmgr.booked("a").running, len(cmgr.sent(ResetRing))) == (Phase.HEALTHY, True, 1)


@pytest.mark.parametrize("labelled", [False, True])
def test_one_that_is_made_anew_under_its_name_each_time_is_stopped_three_times(labelled: bool) -> None:
    """As a unit does whose ExecStart is `docker run`, after a `docker rm`, or with --rm and a label that agrees."""
    fields: dict[str, Any] = {"auto_remove": True, "strategy": Strategy.RING} if labelled else {}
    made = container("a", 0, **fields)
    cmgr = Cmgr(made)
    cmgr.fault(0, REQUEST)
    for life in range(6):
        cmgr.wait(9)
        if cmgr.truth[made.key].running:
            break
        del cmgr.truth[made.key]
        cmgr.tell(facts.ContainerRemoved(made.key))
        made = container("a", 0, key=key(f"a{life}"), **fields)
        cmgr.sees(made)
    assert len(cmgr.sent(StopContainer)) == 4
    cmgr.wait(600)
    assert (cmgr.ring().reason, cmgr.sent(ResetRing), len(cmgr.sent(StopContainer))) == (FOUGHT, [], 4)


def test_when_nothing_speaks_against_its_chips_any_more_it_is_left_running() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 1))
    cmgr.fault(0, RESET)
    cmgr.run_until(Phase.RESUMING)
    cmgr.starts("b", "by its unit")
    cmgr.run()
    assert (cmgr.phase(), cmgr.held(), len(cmgr.sent(StopContainer))) == (Phase.HEALTHY, [], 2)


def test_nobody_is_fought_when_every_start_is_to_count_as_a_persons() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.tell(
        facts.Reconfigured(
            replace(cmgr.policy, retry=replace(cmgr.policy.retry, owner_window=seconds(0))), cmgr.catalog
        )
    )
    cmgr.fault(0, REQUEST)
    cmgr.run()
    assert names(cmgr.starts("a", "by hand")) == []
    assert cmgr.held() == []
