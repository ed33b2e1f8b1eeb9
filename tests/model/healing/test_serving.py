"""Running is not serving: what runs and does not work is told for as long as that is so, whoever is to blame."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from cmgr.model.values.handling.policy import Policy, RetryPolicy
from cmgr.model.values.messages import facts
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import Exit
from cmgr.model.values.troubles import TroubleKind
from cmgr.model.wanted import serves
from cmgr.view.troubles import troubles
from tests.model.builders import RING, Cmgr, container, key

IDLE = Policy()
ALWAYS = "always:0"


def told(cmgr: Cmgr) -> list[str]:
    """Return why containers that run do not serve, as people are told."""
    return [trouble.why for trouble in troubles(cmgr.node) if trouble.kind is TroubleKind.IDLE]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"frozen": True}, ["it is paused"]),
        ({"health": "unhealthy"}, ["its own check says that it is unhealthy"]),
        ({"restarting": True}, ["it dies soon after each start, and its runtime starts it again"]),
        ({"health": "starting"}, []),
        ({"health": "healthy"}, []),
        ({"frozen": True, "enabled": False}, []),
    ],
)
def test_what_runs_and_does_not_work_is_told(fields: dict[str, Any], why: list[str]) -> None:
    cmgr = Cmgr(container("a", 0, **fields), policy=IDLE)
    assert told(cmgr) == why
    cmgr.sees(container("a", 0))
    assert told(cmgr) == []
    cmgr.begin()
    cmgr.truth[key("a")] = container("a", 0, **fields)
    cmgr.run()
    assert told(cmgr) == why, "the next life knows it, too"


def loops(cmgr: Cmgr, run: str) -> None:
    """Have the container die, wait, and be started again by its runtime."""
    known = cmgr.truth[key("a")]
    cmgr.sees(replace(known, restarting=True))
    cmgr.now += timedelta(seconds=20)
    cmgr.sees(replace(known, run=run, restarting=False))


def test_a_crash_loop_is_told_without_a_break_until_the_container_stays_up() -> None:
    cmgr = Cmgr(container("a", 0, restart_policy=ALWAYS), policy=IDLE, settle=30)
    since = []
    for number in range(5):
        loops(cmgr, f"life {number + 2}")
        (trouble,) = [t for t in troubles(cmgr.node) if t.kind is TroubleKind.IDLE]
        since.append(trouble.since)
    assert len({*since}) == 1, "it is one trouble, which began with the first death"
    cmgr.wait(29)
    assert told(cmgr)
    cmgr.wait(2)
    assert (told(cmgr), serves(cmgr.booked("a"))) == ([], True)


def test_a_crash_loop_of_a_runtime_that_does_not_say_so_is_told_too() -> None:
    """containerd's restart monitor begins a task every ten seconds; between two the container is down."""
    cmgr = Cmgr(container("a", 0, restart_policy=ALWAYS), policy=IDLE, settle=30)
    for number in range(3):
        cmgr.dies("a", 1)
        cmgr.now += timedelta(seconds=10)
        cmgr.sees(replace(container("a", 0, restart_policy=ALWAYS), run=f"life {number + 2}"))
        assert told(cmgr)
        cmgr.now += timedelta(seconds=5)
    cmgr.dies("a", 1)
    assert told(cmgr), "also while it is down"
    cmgr.sees(replace(cmgr.truth[key("a")], exit=Exit(1, cmgr.now, asked=True)))
    assert told(cmgr) == [], "until somebody means it to be"


def test_one_that_a_person_starts_again_is_no_crash_loop() -> None:
    cmgr = Cmgr(container("a", 0), policy=IDLE, settle=30)
    cmgr.dies("a", 1)
    cmgr.starts_by_hand("a")
    assert told(cmgr) == []
    other = Cmgr(container("a", 0, restart_policy=ALWAYS), policy=IDLE, settle=30)
    other.dies("a", 0, asked=True)
    other.starts_by_hand("a")
    assert told(other) == []


def test_a_crash_loop_outlives_cmgr_and_a_clock_that_is_set() -> None:
    cmgr = Cmgr(container("a", 0, restart_policy=ALWAYS), policy=IDLE, settle=30)
    loops(cmgr, "life 2")
    cmgr.now -= timedelta(days=1)
    cmgr.begin()
    cmgr.run()
    assert told(cmgr)
    cmgr.wait(31)
    assert told(cmgr) == []


def test_what_is_held_is_told_as_that() -> None:
    cmgr = Cmgr(container("a", 0, frozen=True))
    assert told(cmgr)
    cmgr.fault(0)
    assert told(cmgr) == []
    cmgr.run_until(Phase.RESUMING)
    assert told(cmgr) == []
    cmgr.run()
    assert told(cmgr), "it is paused again, as it was"


def test_one_that_its_own_owner_has_stopped_is_not_told() -> None:
    cmgr = Cmgr(container("a", 0, frozen=True), policy=IDLE)
    cmgr.dies("a", 137, asked=True)
    assert told(cmgr) == []
    assert not serves(cmgr.booked("a"))


def given_up(**fields: Any) -> Cmgr:
    """Return a cmgr that has given up, after two starts, on a container that does not get well."""
    policy = replace(RING, retry=RetryPolicy(starts=2))
    return Cmgr(container("a", 0, **fields), policy=policy, settle=30)


def lost(cmgr: Cmgr) -> bool:
    return (TroubleKind.LOST, "docker//a") in cmgr.node.troubles


def says(cmgr: Cmgr, health: str) -> None:
    cmgr.sees(replace(cmgr.truth[key("a")], health=health))


def test_one_that_was_left_unhealthy_is_told_until_its_own_check_says_that_it_is_well() -> None:
    cmgr = given_up(says_within=timedelta(seconds=90))
    cmgr.fault(0)
    cmgr.run()
    for _ in range(2):
        says(cmgr, "unhealthy")
        cmgr.run()
        cmgr.wait(5)
    says(cmgr, "unhealthy")
    cmgr.tell(facts.Resync())
    cmgr.wait(600)
    assert lost(cmgr), "nothing has changed"
    assert told(cmgr) == [], "once is enough"
    cmgr.starts_by_hand("a")
    says(cmgr, "starting")
    assert lost(cmgr), "nobody knows yet"
    says(cmgr, "healthy")
    assert not lost(cmgr)


def not_up() -> Cmgr:
    """Return one whose container did not stay up after its recovery, and is left to its restart policy."""
    cmgr = given_up(restart_policy=ALWAYS)
    cmgr.fault(0)
    cmgr.run()
    for number in range(2):
        cmgr.sees(replace(cmgr.truth[key("a")], run=f"crash {number}"))
        cmgr.run()
    return cmgr


def test_one_that_did_not_stay_up_is_told_until_it_does() -> None:
    cmgr = not_up()
    assert cmgr.held() == []
    cmgr.sees(cmgr.truth[key("a")])
    assert lost(cmgr), "it runs, as it did each time"
    cmgr.wait(31)
    assert not lost(cmgr)


def test_one_that_was_left_as_it_is_and_that_somebody_stops_is_told_no_longer() -> None:
    cmgr = not_up()
    assert lost(cmgr)
    cmgr.dies("a", 137, asked=True)
    assert (lost(cmgr), told(cmgr)) == (False, [])


def test_one_that_nobody_wants_is_not_told() -> None:
    cmgr = Cmgr(container("a", frozen=True), policy=IDLE)
    assert told(cmgr) == []
