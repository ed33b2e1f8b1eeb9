"""A container that a person had paused (docker pause) is paused again after cmgr has started it."""

from dataclasses import replace

import pytest

from cmgr.model.values.chips import ChipId
from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import (
    ListContainers,
    NoteKind,
    SetRestartPolicy,
    StartContainer,
    StopContainer,
)
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import NO_RESTART, UNHEALTHY, Heal
from cmgr.model.wanted import missing
from tests.model.builders import RING, Cmgr, container, key, names


def paused(**fields: str) -> Cmgr:
    """Return a cmgr on a machine with a container that a person has paused."""
    return Cmgr(container("a", 0, frozen=True, **fields), settle=30)


def test_what_was_paused_is_started_and_paused_again() -> None:
    cmgr = paused()
    cmgr.fault(0)
    assert cmgr.hold("a").frozen, "before anything is stopped"
    cmgr.run()
    assert [c.frozen for c in cmgr.sent(StartContainer)] == [True]
    assert (cmgr.truth[key("a")].frozen, cmgr.booked("a").frozen, missing(cmgr.node)) == (True, True, ())
    assert cmgr.hold("a").state is HoldState.SETTLING
    cmgr.wait(31)
    assert (cmgr.held(), cmgr.phase()) == ([], Phase.HEALTHY)


def test_the_timeline_says_so() -> None:
    cmgr = paused()
    cmgr.fault(0)
    cmgr.run()
    (held,) = cmgr.notes(NoteKind.HOLD)
    assert held == "a will be stopped, and started and paused again when the fault is over"
    assert "a is there again, paused as it was" in cmgr.notes(NoteKind.RESULT)


def test_what_ran_is_not_paused() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.run()
    assert [c.frozen for c in cmgr.sent(StartContainer)] == [False]


@pytest.mark.parametrize("phase", [Phase.DRAINING, Phase.WAITING, Phase.RESETTING, Phase.VERIFYING, Phase.RESUMING])
def test_the_next_life_of_cmgr_does_it(phase: Phase) -> None:
    cmgr = paused()
    cmgr.fault(0)
    cmgr.run_until(phase)
    cmgr.begin()
    cmgr.wait(60)
    assert (cmgr.truth[key("a")].frozen, cmgr.held(), cmgr.phase()) == (True, [], Phase.HEALTHY)


def test_a_pause_that_was_still_due_when_cmgr_died_is_made_by_the_next_life() -> None:
    cmgr = paused(restart_policy="always:0")
    cmgr.fault(0)
    cmgr.run_until(Phase.RESUMING)
    assert cmgr.hold("a").state is HoldState.STARTING
    begun = replace(cmgr.truth[key("a")], running=True, run="started", exit=None, restart_policy="always:0")
    cmgr.truth[key("a")] = begun
    cmgr.begin()
    cmgr.wait(60)
    assert (cmgr.truth[key("a")].frozen, cmgr.truth[key("a")].run) == (True, "started")
    assert (cmgr.truth[key("a")].restart_policy, cmgr.held(), cmgr.phase()) == ("always:0", [], Phase.HEALTHY)


def test_a_pause_that_fails_is_tried_again_as_long_as_it_takes() -> None:
    cmgr = paused()
    cmgr.fault(0)
    cmgr.run_until(Phase.RESUMING)
    start = cmgr.sent(StartContainer)[-1]
    cmgr.truth[key("a")] = replace(cmgr.truth[key("a")], running=True, run="started", exit=None)
    for _ in range(6):
        cmgr.answer(StartContainer, error="cannot pause a: no freezer", runtime_ails=True)
        cmgr.run(ListContainers)
        assert (cmgr.hold("a").state, cmgr.phase()) == (HoldState.STARTING, Phase.RESUMING)
        cmgr.wait(60, run=False)
    assert start.frozen
    cmgr.wait(90)
    assert (cmgr.truth[key("a")].frozen, cmgr.truth[key("a")].run, cmgr.held()) == (True, "started", [])


def test_a_new_fault_stops_one_whose_pause_is_still_due() -> None:
    cmgr = paused()
    cmgr.fault(0)
    cmgr.run_until(Phase.RESUMING)
    cmgr.truth[key("a")] = replace(cmgr.truth[key("a")], running=True, run="started", exit=None)
    cmgr.answer(StartContainer, error="cannot pause a: no freezer", runtime_ails=True)
    cmgr.fault(0)
    cmgr.log.clear()
    cmgr.wait(90)
    assert names(cmgr.log, StopContainer) == ["a"]
    assert (cmgr.truth[key("a")].frozen, cmgr.held(), cmgr.phase()) == (True, [], Phase.HEALTHY)


def test_that_a_stop_thaws_it_is_no_reason_to_leave_it_running() -> None:
    cmgr = paused()
    cmgr.fault(0)
    cmgr.tell(facts.ContainerSeen(replace(cmgr.truth[key("a")], frozen=False)))
    assert cmgr.hold("a").frozen
    cmgr.begin()
    cmgr.truth[key("a")] = replace(cmgr.truth[key("a")], frozen=False)
    cmgr.run(ListContainers)
    cmgr.wait(60)
    assert cmgr.truth[key("a")].frozen


def pauses(cmgr: Cmgr, name: str = "a") -> None:
    cmgr.sees(replace(cmgr.truth[key(name)], frozen=True))


def test_a_pause_that_comes_after_the_fault_is_not_made_again() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    pauses(cmgr)
    cmgr.run()
    assert not cmgr.truth[key("a")].frozen


@pytest.mark.parametrize(("seconds", "again"), [(1, False), (59, False), (61, True), (86400, True)])
def test_a_pause_is_made_again_only_where_it_had_lasted(seconds: int, again: bool) -> None:
    """A backup and `docker commit` pause for a moment, and their end of it is refused while the container is down."""
    cmgr = Cmgr(container("a", 0), settle=30)
    pauses(cmgr)
    cmgr.wait(seconds)
    cmgr.fault(0)
    (note,) = cmgr.notes(NoteKind.HOLD)
    assert note.endswith("; its pause, which had only begun, is not made again") is not again
    cmgr.run()
    assert cmgr.truth[key("a")].frozen is again
    assert cmgr.booked("a").running


def test_how_long_it_had_lasted_is_known_to_the_next_life() -> None:
    cmgr = Cmgr(container("a", 0), settle=30)
    pauses(cmgr)
    cmgr.begin()
    cmgr.run()
    cmgr.fault(0)
    cmgr.run()
    assert not cmgr.truth[key("a")].frozen


def test_one_that_is_paused_again_is_so_after_the_next_fault_as_well() -> None:
    cmgr = paused()
    for _ in range(2):
        cmgr.fault(0)
        cmgr.run()
        cmgr.wait(31)
        assert cmgr.truth[key("a")].frozen


def test_one_that_goes_on_and_is_paused_anew_has_only_begun_that() -> None:
    cmgr = paused()
    cmgr.sees(replace(cmgr.truth[key("a")], frozen=False))
    pauses(cmgr)
    cmgr.fault(0)
    cmgr.run()
    assert not cmgr.truth[key("a")].frozen


@pytest.mark.parametrize("lasts", [False, True])
def test_a_pause_of_a_member_of_a_group_counts_alike(lasts: bool) -> None:
    cmgr = Cmgr(container("a", 0, group="tp"), container("b", 4, group="tp"), settle=30)
    pauses(cmgr, "b")
    cmgr.wait(61 if lasts else 1)
    cmgr.fault(0)
    cmgr.wait(60)
    assert (cmgr.truth[key("b")].running, cmgr.truth[key("b")].frozen) == (True, lasts)


def test_what_a_person_has_started_meanwhile_is_not_paused() -> None:
    cmgr = paused()
    cmgr.fault(0)
    cmgr.run_until(Phase.VERIFYING)
    cmgr.starts_by_hand("a")
    cmgr.wait(60)
    assert (cmgr.truth[key("a")].frozen, cmgr.held()) == (False, [])


def test_what_is_paused_is_not_healed() -> None:
    """Its runtime makes no health checks then (`docker_inspect`), and cmgr knows of no other ailment that runs."""
    cmgr = Cmgr(container("a", 0, heal=Heal(), health=UNHEALTHY), policy=RING)
    cmgr.sees(replace(cmgr.truth[key("a")], frozen=True, health=""))
    cmgr.wait(600)
    assert cmgr.sent(StopContainer) == []


def test_one_that_runs_unpaused_while_its_restart_policy_goes_off_has_that_back_when_it_is_forgotten() -> None:
    cmgr = paused(restart_policy="always:0")
    cmgr.fault(0)
    cmgr.run_until(Phase.RESUMING)
    cmgr.answer(StartContainer, error="cannot pause a: no freezer")
    cmgr.tell(facts.IsolateOrdered(ChipId(0), "it smells", "a person"))
    cmgr.sees(replace(cmgr.truth[key("a")], restart_policy="on-failure:3"))
    cmgr.wait(5, run=False)
    assert [c.restart_policy for c in cmgr.pending if isinstance(c, SetRestartPolicy)] == [NO_RESTART]
    cmgr.truth[key("a")] = replace(cmgr.truth[key("a")], running=True, run="started", exit=None)
    cmgr.tell(facts.Resync())
    cmgr.run(ListContainers)
    cmgr.tell(facts.ForgetOrdered(key("a"), "a person"))
    cmgr.wait(60)
    assert (cmgr.truth[key("a")].restart_policy, cmgr.held()) == ("on-failure:3", [])
