"""Containers that died by themselves: held when the fault may have killed them, and never otherwise."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from cmgr.model.values.chips import ChipId
from cmgr.model.values.handling.policy import Policy
from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import NoteKind, StartContainer, StopContainer
from cmgr.model.values.rings import Phase
from cmgr.model.values.services.containers import Exit
from cmgr.model.wanted import missing
from cmgr.view.containers import containers
from tests.model.builders import RING, SEPARATE, SINGLE, T0, Cmgr, container, died, key, names


def test_one_that_died_shortly_before_the_fault_is_started_again() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 1))
    cmgr.dies("a", 139)
    cmgr.now += timedelta(seconds=58)
    cmgr.fault(0)
    assert (cmgr.hold("a").state, cmgr.hold("a").died) == (HoldState.DOWN, True)
    assert "a died by itself (exit code 139) and will be started again" in cmgr.notes(NoteKind.HOLD)
    cmgr.run()
    assert (cmgr.held(), cmgr.booked("a").running, cmgr.phase()) == ([], True, Phase.HEALTHY)


def test_one_of_which_it_turns_out_that_somebody_had_stopped_it_is_not_started() -> None:
    """A stop that was given minutes is known by its own word, which comes after the death."""
    cmgr = Cmgr(container("a", 0), container("b", 1))
    cmgr.dies("a", 139)
    cmgr.fault(0)
    assert cmgr.held() == ["a", "b"]
    cmgr.dies("a", 139, asked=True)
    assert cmgr.held() == ["b"]
    assert "a is no longer held: somebody had stopped it" in cmgr.notes(NoteKind.HOLD)
    cmgr.run()
    assert (names(cmgr.log, StartContainer), missing(cmgr.node)) == (["b"], ())


def test_one_that_is_being_started_by_then_is_not_taken_back() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.dies("a", 139)
    cmgr.fault(0)
    cmgr.run_until(Phase.RESUMING)
    assert cmgr.hold("a").state is HoldState.STARTING
    cmgr.sees(replace(cmgr.truth[key("a")], exit=Exit(139, cmgr.now, asked=True)))
    assert cmgr.hold("a").state is HoldState.STARTING


def test_a_service_that_ends_well_in_the_moment_of_the_fault_is_started_again() -> None:
    cmgr = Cmgr(container("a", 0), container("job", 1))
    for name, amiss in (("a", True), ("job", False)):
        end = Exit(0, cmgr.now, asked=False, amiss=amiss)
        cmgr.sees(replace(cmgr.truth[key(name)], running=False, exit=end))
    assert missing(cmgr.node) == (key("a"),)
    assert cmgr.notes(NoteKind.RESULT) == ["job has ended with code 0, which nobody had asked for"]
    cmgr.fault(0)
    cmgr.run()
    assert (names(cmgr.log, StartContainer), missing(cmgr.node)) == (["a"], ())


def test_a_service_that_ends_well_while_it_settles_has_not_stayed_up() -> None:
    cmgr = Cmgr(container("a", 0), settle=30)
    cmgr.fault(0)
    cmgr.run()
    end = Exit(0, cmgr.now, asked=False, amiss=True)
    cmgr.sees(replace(cmgr.truth[key("a")], running=False, exit=end))
    assert (cmgr.hold("a").state, cmgr.hold("a").attempt.tries) == (HoldState.DOWN, 1)


def goes(cmgr: Cmgr, name: str, code: int = 0) -> None:
    """Have its daemon end, and the container with it, unseen."""
    cmgr.tell(facts.RuntimeDown("docker", "gone"))
    end = Exit(code, cmgr.now, asked=None, missed=True)
    cmgr.truth[key(name)] = replace(cmgr.truth[key(name)], running=False, exit=end)


@pytest.mark.parametrize("code", [0, 137, 143])
@pytest.mark.parametrize("when", ["before", "meanwhile", "after"])
def test_one_that_ended_with_its_daemon_while_its_chip_faults_is_started_again(code: int, when: str) -> None:
    cmgr = Cmgr(container("a", 0))
    if when == "after":
        cmgr.fault(0)
        cmgr.answer(StopContainer, error="gone", unreachable=True)
    goes(cmgr, "a", code)
    cmgr.now += timedelta(seconds=3)
    if when == "meanwhile":
        cmgr.fault(0)
        cmgr.answer(StopContainer, error="gone", unreachable=True)
    cmgr.now += timedelta(seconds=3)
    cmgr.tell(facts.RuntimeUp("docker", restarted=True))
    if when == "before":
        cmgr.run()
        cmgr.fault(0)
    cmgr.wait(30)
    assert (cmgr.phase(), cmgr.held(), cmgr.booked("a").running) == (Phase.HEALTHY, [], True)


def test_one_that_a_person_stopped_long_before_its_daemon_came_back_is_not() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.dies("a", 0, asked=True)
    cmgr.tell(facts.RuntimeDown("docker", "gone"))
    end = Exit(0, cmgr.now, asked=None, missed=True)  # The new daemon remembers no order.
    cmgr.truth[key("a")] = replace(cmgr.truth[key("a")], exit=end)
    cmgr.tell(facts.RuntimeUp("docker", restarted=True))
    cmgr.run()
    cmgr.fault(0)
    cmgr.run()
    assert (cmgr.sent(StartContainer), missing(cmgr.node)) == ([], ())


def test_one_that_ended_with_its_daemon_and_whose_chips_are_well_is_told_and_not_started() -> None:
    cmgr = Cmgr(container("a", 0))
    goes(cmgr, "a")
    cmgr.tell(facts.RuntimeUp("docker", restarted=True))
    cmgr.wait(120)
    assert (cmgr.sent(StartContainer), missing(cmgr.node)) == ([], (key("a"),))


def test_one_whose_end_is_told_late_by_a_daemon_that_was_there_is_no_daemons_doing() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.tell(facts.RuntimeDown("docker", "gone"))
    cmgr.tell(facts.RuntimeUp("docker", restarted=True))
    cmgr.run()
    cmgr.wait(60)
    cmgr.fault(0)
    cmgr.answer(StopContainer, before=Exit(0, cmgr.now, asked=None, missed=True))
    assert cmgr.held() == []


def test_one_that_died_long_before_is_not_held() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.dies("a")
    cmgr.now += timedelta(seconds=62)
    cmgr.fault(0)
    cmgr.wait(10)
    assert (cmgr.held(), cmgr.sent(StartContainer), cmgr.phase()) == ([], [], Phase.HEALTHY)


@pytest.mark.parametrize(
    ("code", "asked", "held"),
    [
        (1, False, True), (139, None, True), (0, False, False), (0, None, False), (143, True, False), (1, True, False),
        (137, None, False), (143, None, False), (130, None, False), (137, False, True),
    ],
)  # fmt: skip
def test_only_an_error_that_nobody_asked_for_is_a_death(code: int, asked: bool | None, held: bool) -> None:
    cmgr = Cmgr(container("a", 0, running=False, exit=Exit(code, T0, asked)))
    cmgr.fault(0)
    assert cmgr.held() == (["a"] if held else [])


def test_one_that_dies_during_the_episode_is_held() -> None:
    cmgr = Cmgr(container("mate", 1), container("a", 0), policy=SINGLE)
    cmgr.fault(0)
    cmgr.wait(5)
    assert cmgr.phase() is Phase.WAITING
    cmgr.dies("mate")
    assert cmgr.held() == ["a", "mate"]
    cmgr.run()
    assert (cmgr.phase(), sorted(names(cmgr.log, StartContainer))) == (Phase.HEALTHY, ["a", "mate"])


@pytest.mark.parametrize("fields", [{"enabled": False}, {"strategy": Policy().strategy}])
def test_one_that_cmgr_must_not_touch_is_not_held(fields: dict[str, Any]) -> None:
    cmgr = Cmgr(died("a", 0, **fields))
    cmgr.fault(0)
    assert cmgr.held() == []


def test_one_that_dies_again_after_its_start_is_started_again_five_times_and_then_told_as_failed() -> None:
    cmgr = Cmgr(container("a", 0), container("slow", 1))
    cmgr.fault(0)
    cmgr.run_until(Phase.RESUMING)
    for number in range(1, 6):
        command = next(c for c in cmgr.pending if isinstance(c, StartContainer) and c.name == "a")
        cmgr.pending.remove(command)
        cmgr.tell(facts.ContainerStarted(command.id, command.key, f"try {number}"))
        cmgr.sees(died("a", 0, code=7, at=cmgr.now, run=f"try {number}"))
        assert (cmgr.hold("a").attempt.tries, cmgr.hold("a").attempt.error) == (number, "exited with code 7")
        if number < 5:
            cmgr.now = cmgr.hold("a").attempt.retry_at or cmgr.now
            cmgr.tell(facts.Tick())
    assert (cmgr.hold("a").state, len(cmgr.sent(StartContainer, "a"))) == (HoldState.FAILED, 5)
    cmgr.run()
    assert (cmgr.phase(), cmgr.held()) == (Phase.HEALTHY, ["a"])


def test_a_death_in_the_books_of_the_last_life_is_confirmed_before_it_counts() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.dies("a")
    cmgr.truth[cmgr.booked("a").key] = replace(died("a", 0), run="life 2", exit=Exit(143, T0, asked=True))
    cmgr.begin()
    cmgr.fault(0)
    assert cmgr.held() == []
    cmgr.run()
    assert (cmgr.phase(), cmgr.sent(StartContainer)) == (Phase.HEALTHY, [])


def test_a_death_that_only_a_list_tells_of_is_found() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.truth[cmgr.booked("a").key] = died("a", 0, at=cmgr.now)
    cmgr.fault(1)
    cmgr.run()
    assert (cmgr.held(), cmgr.booked("a").running, cmgr.phase()) == ([], True, Phase.HEALTHY)


def test_the_clock_of_a_runtime_that_is_ahead_does_not_make_old_deaths_new() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.sees(died("a", 0, at=cmgr.now + timedelta(days=300)))
    cmgr.now += timedelta(hours=1)
    cmgr.fault(0)
    assert cmgr.held() == []


def test_an_end_that_was_told_is_not_moved_by_a_clock_that_is_set() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.dies("a", 139)
    told = cmgr.booked("a")
    assert told.exit is not None
    ahead = replace(told.exit, at=told.exit.at + timedelta(days=1))
    cmgr.now += timedelta(hours=1)
    cmgr.sees(replace(told, exit=ahead))
    assert cmgr.booked("a").exit == told.exit
    other = replace(told, run="another life", exit=ahead)
    cmgr.sees(other)
    assert cmgr.booked("a").exit == ahead


def test_a_death_of_before_the_clock_was_set_back_does_not_stay_new_for_ever() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.dies("a")
    cmgr.now -= timedelta(days=1)
    cmgr.begin()
    cmgr.run()
    cmgr.now += timedelta(hours=1)
    cmgr.fault(0)
    assert cmgr.held() == []


def test_one_that_its_restart_policy_brings_back_to_a_faulty_chip_is_stopped_again() -> None:
    cmgr = Cmgr(container("a", 0, restart_policy="always"))
    cmgr.fault(0)
    cmgr.sees(replace(died("a", 0, at=cmgr.now), restart_policy="always"))
    cmgr.run_until(Phase.DRAINING)
    assert names(cmgr.sees(container("a", 0, run="life 2", restart_policy="always"))) == []
    cmgr.run()
    assert (cmgr.ring().theirs, cmgr.phase(), cmgr.booked("a").restart_policy) == (frozenset(), Phase.HEALTHY, "always")


def test_one_that_died_and_was_brought_back_before_its_policy_was_off_is_stopped_again() -> None:
    cmgr = Cmgr(container("a", 0, restart_policy="always"), policy=RING)
    cmgr.sees(replace(died("a", 0, at=cmgr.now), restart_policy="always"))
    cmgr.fault(0)
    cmgr.starts_by_hand("a", "by its policy")
    assert "a was started by its restart policy: it is stopped again" in cmgr.notes(NoteKind.HOLD)
    cmgr.run()
    assert (cmgr.ring().theirs, cmgr.phase(), cmgr.held()) == (frozenset(), Phase.HEALTHY, [])
    assert (cmgr.booked("a").running, cmgr.booked("a").restart_policy) == (True, "always")


def test_one_that_dies_of_a_fault_that_isolates_its_chip_at_once_is_held_and_comes_back() -> None:
    cmgr = Cmgr(container("a", 0), container("mate", 1))
    cmgr.fault(0, SEPARATE)
    cmgr.dies("a", 139)
    assert (cmgr.phase(), cmgr.held(), cmgr.hold("a").died) == (Phase.HEALTHY, ["a"], True)
    (row, _) = containers(cmgr.node)
    assert (row["status"], str(row["reason"]).startswith("chip 0 is isolated: ")) == ("paused", True)
    cmgr.clears(0, SEPARATE)
    cmgr.wait(400)
    assert (cmgr.node.isolations, cmgr.held(), cmgr.booked("a").running) == ({}, [], True)


def test_one_that_died_just_before_its_chip_was_isolated_is_held_too() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.dies("a", 139)
    cmgr.wait(5)
    cmgr.fault(0, SEPARATE)
    assert cmgr.held() == ["a"]


def test_one_on_an_isolated_chip_that_is_forgotten_is_not_held_again() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, SEPARATE)
    cmgr.dies("a", 139)
    cmgr.tell(facts.ForgetOrdered(key("a"), "uid 0"))
    cmgr.run()
    assert (cmgr.held(), missing(cmgr.node)) == ([], ())


def test_who_dies_on_a_chip_that_a_person_took_out_of_use_is_not_held() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.tell(facts.IsolateOrdered(ChipId(0), "its fan is loud", "uid 0"))
    cmgr.dies("a")
    assert (cmgr.held(), missing(cmgr.node)) == ([], (key("a"),))


def test_a_job_on_another_chip_that_failed_before_the_fault_is_not_run_again() -> None:
    cmgr = Cmgr(container("a", 0), container("job", 3), policy=SINGLE)
    cmgr.dies("job", 1)
    cmgr.wait(20)
    cmgr.fault(0)
    cmgr.run()
    assert (names(cmgr.log, StartContainer), missing(cmgr.node)) == (["a"], (key("job"),))
