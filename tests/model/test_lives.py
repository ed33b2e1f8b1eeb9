"""A new life of cmgr, and all that the last one left, phase by phase."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from cmgr.model.values.chips import RingId
from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import (
    ListContainers,
    NoteKind,
    PrepareReset,
    ReadRing,
    ResetRing,
    StartContainer,
    StopContainer,
)
from cmgr.model.values.rings import AFTER_RESTART, Phase
from cmgr.model.values.services.containers import NO_RESTART, Exit
from tests.model.builders import REQUEST, T0, Cmgr, answered, container, key, names, seconds


def in_phase(phase: Phase, **fields: Any) -> Cmgr:
    """Return a machine whose ring 0 has come as far as this."""
    cmgr = Cmgr(container("a", 0, **fields), container("b", 1))
    if phase is not Phase.HEALTHY:
        cmgr.fault(0)
        cmgr.run_until(phase)
    cmgr.log.clear()
    return cmgr


@pytest.mark.parametrize("phase", Phase)
def test_after_a_restart_the_truth_is_asked_for_and_everything_ends_well(phase: Phase) -> None:
    cmgr = in_phase(phase)
    cmgr.begin()
    assert cmgr.phase() is AFTER_RESTART[phase]
    assert {type(c) for c in cmgr.log} >= {ListContainers, ReadRing}
    assert len(cmgr.notes(NoteKind.WARNING)) == (0 if phase is Phase.HEALTHY else 1)
    cmgr.wait(300)
    assert (cmgr.phase(), cmgr.held(), cmgr.booked("a").running) == (Phase.HEALTHY, [], True)


def test_after_a_restart_while_listing_the_runtimes_are_asked_again() -> None:
    cmgr = in_phase(Phase.LISTING)
    cmgr.begin()
    assert cmgr.ring().reason == "docker is asked who uses it"
    assert cmgr.phase() is Phase.LISTING


def test_after_a_restart_while_draining_the_containers_are_stopped_again() -> None:
    cmgr = in_phase(Phase.DRAINING)
    cmgr.begin()
    assert names(cmgr.log) == ["a", "b"]


def test_what_an_earlier_life_had_stopped_is_held_although_it_was_down_before_this_stop() -> None:
    cmgr = in_phase(Phase.DRAINING)
    cmgr.truth[key("a")] = replace(container("a", 0), running=False, exit=Exit(143, T0, asked=True))
    cmgr.begin()
    cmgr.run()
    assert (cmgr.phase(), cmgr.booked("a").running) == (Phase.HEALTHY, True)


def test_after_a_restart_while_waiting_the_deadline_is_still_the_same() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, REQUEST)
    cmgr.wait(30)
    deadline = cmgr.ring().deadline
    cmgr.begin()
    cmgr.run()
    assert (cmgr.phase(), cmgr.ring().deadline) == (Phase.WAITING, deadline)
    cmgr.wait(31)
    assert (cmgr.phase(), len(cmgr.ring().resets)) == (Phase.HEALTHY, 1)


def test_a_reset_that_was_under_way_is_not_repeated_but_looked_at() -> None:
    cmgr = in_phase(Phase.RESETTING)
    cmgr.begin()
    assert cmgr.phase() is Phase.VERIFYING
    assert "cmgr died during the reset, which is not repeated: what did it do?" in "".join(cmgr.notes(NoteKind.PHASE))
    assert not cmgr.sent(ResetRing)
    assert len(cmgr.ring().resets) == 1


def test_a_reset_that_was_under_way_and_did_nothing_is_a_failed_one() -> None:
    cmgr = in_phase(Phase.RESETTING)
    cmgr.begin()
    cmgr.run()
    assert (cmgr.phase(), cmgr.ring().failures) == (Phase.WAITING, 1)
    cmgr.wait(11)
    assert (cmgr.phase(), len(cmgr.ring().resets)) == (Phase.HEALTHY, 2)


def preparing() -> Cmgr:
    """Return a machine whose ring 0 has a reset that waits for what comes before it."""
    cmgr = Cmgr(container("a", 0))
    cmgr.prepares = False
    cmgr.fault(0)
    cmgr.run_until(Phase.RESETTING)
    return cmgr


def test_a_reset_that_never_reached_the_driver_costs_nothing_however_often_cmgr_dies() -> None:
    cmgr = preparing()
    for _ in range(5):
        cmgr.begin()
        assert (cmgr.phase(), cmgr.ring().resets, cmgr.ring().failures) == (Phase.WAITING, (), 0)
        assert cmgr.ring().reason == "nothing was reset: cmgr ended before the driver was called"
        cmgr.run()
        cmgr.now += seconds(2)
        cmgr.tell(facts.Tick())
        cmgr.run_until(Phase.RESETTING)
    assert not cmgr.sent(ResetRing)
    cmgr.run()
    assert (cmgr.phase(), len(cmgr.sent(ResetRing)), len(cmgr.ring().resets)) == (Phase.HEALTHY, 1, 1)


def test_a_reset_whose_order_may_have_gone_out_counts() -> None:
    cmgr = preparing()
    cmgr.answer(PrepareReset)
    cmgr.begin()
    assert (cmgr.phase(), len(cmgr.ring().resets)) == (Phase.VERIFYING, 1)


def test_an_order_goes_out_once_however_often_it_is_said_to_be_prepared() -> None:
    cmgr = preparing()
    (told,) = [answered(command) for command in cmgr.pending if isinstance(command, PrepareReset)]
    assert [type(command) for command in cmgr.tell(told)] == [ResetRing]
    assert not cmgr.tell(told)


def test_an_answer_of_an_ended_life_lets_no_reset_go_out() -> None:
    cmgr = preparing()
    (late,) = [command for command in cmgr.pending if isinstance(command, PrepareReset)]
    cmgr.begin()
    assert not cmgr.tell(answered(late))


def test_a_boot_is_waited_for_anew_however_long_cmgr_was_away() -> None:
    cmgr = in_phase(Phase.VERIFYING)
    cmgr.unbooted = {0, 1, 2, 3}
    cmgr.now += timedelta(hours=1)
    cmgr.begin()
    cmgr.wait(100)
    assert (cmgr.phase(), cmgr.ring().failures) == (Phase.VERIFYING, 0)
    cmgr.unbooted = set()
    cmgr.wait(2)
    assert (cmgr.phase(), cmgr.held()) == (Phase.HEALTHY, [])


@pytest.mark.parametrize("phase", [Phase.RESETTING, Phase.VERIFYING])
def test_chips_that_the_driver_leaves_out_while_they_are_reset_keep_their_ring_and_its_episode(phase: Phase) -> None:
    cmgr = in_phase(phase)
    cmgr.faults[0].clear()
    cmgr.silent = {0, 1, 2, 3}
    everything = cmgr.chips
    cmgr.chips = everything[4:]
    cmgr.begin()
    cmgr.wait(60)
    assert (cmgr.phase(), cmgr.ring().episode, len(cmgr.ring().resets)) == (Phase.VERIFYING, 1, 1)
    cmgr.tell(facts.ChipsListed(everything))
    cmgr.silent = set()
    cmgr.wait(2)
    assert (cmgr.phase(), cmgr.held(), cmgr.booked("a").running) == (Phase.HEALTHY, [], True)


def test_a_chip_that_is_not_there_any_more_keeps_its_container_held_with_a_reason() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, REQUEST)
    cmgr.run()
    cmgr.chips = cmgr.chips[1:]
    cmgr.begin()
    cmgr.wait(100)
    assert (cmgr.phase(), cmgr.held(), cmgr.sent(StartContainer)) == (Phase.HEALTHY, ["a"], [])
    assert 0 not in cmgr.node.faults
    assert cmgr.booked("a").warnings == ("asks for chip 0, which this machine does not have",)


def test_chips_that_come_back_bring_their_containers_back() -> None:
    cmgr = Cmgr(container("a", 0))
    everything = cmgr.chips
    cmgr.fault(0, REQUEST)
    cmgr.run()
    cmgr.chips = everything[4:]
    cmgr.faults[0].clear()
    cmgr.begin()
    cmgr.run()
    assert cmgr.held() == ["a"]
    cmgr.tell(facts.ChipsListed(everything))
    cmgr.run()
    assert (cmgr.held(), cmgr.booked("a").running, cmgr.ring().chips) == ([], True, (0, 1, 2, 3))
    assert cmgr.tell(facts.ChipsListed(everything)) == []


def test_after_a_restart_while_starting_the_episode_goes_on_until_all_run() -> None:
    cmgr = in_phase(Phase.RESUMING)
    cmgr.begin()
    assert cmgr.phase() is Phase.RESUMING
    cmgr.run()
    assert (cmgr.phase(), names(cmgr.log, StartContainer)) == (Phase.HEALTHY, ["a", "b"])
    closed = next(i for i, c in enumerate(cmgr.log) if getattr(c, "kind", None) is NoteKind.CLOSED)
    assert closed == len(cmgr.log) - 1


def test_nothing_is_started_before_the_driver_and_the_runtime_have_answered() -> None:
    cmgr = in_phase(Phase.RESUMING)
    cmgr.begin()
    assert cmgr.ring().reason == "starting a, b: chip 0: not read yet"
    cmgr.run(ReadRing)
    assert cmgr.ring().reason == "starting a, b: docker has not answered yet"
    assert not cmgr.sent(StartContainer)


def test_one_that_dies_after_its_start_is_held_again_also_after_a_restart() -> None:
    cmgr = in_phase(Phase.RESUMING)
    cmgr.begin()
    cmgr.run(ListContainers, ReadRing)
    cmgr.answer(StartContainer)
    cmgr.dies("a")
    assert (cmgr.held(), cmgr.hold("a").attempt.tries) == (["a", "b"], 2)
    cmgr.wait(10)
    assert (cmgr.phase(), cmgr.booked("a").running) == (Phase.HEALTHY, True)


def test_a_start_that_had_worked_before_the_restart_is_not_a_persons() -> None:
    cmgr = in_phase(Phase.RESUMING, restart_policy="always")
    cmgr.truth[key("a")] = replace(cmgr.truth[key("a")], running=True, run="life 2", exit=None)
    cmgr.truth[key("a")] = replace(cmgr.truth[key("a")], restart_policy="always")
    cmgr.begin()
    cmgr.run()
    assert (cmgr.phase(), cmgr.held(), len(cmgr.sent(StartContainer, "a"))) == (Phase.HEALTHY, [], 0)
    assert "a runs again: an earlier start had worked" in cmgr.notes(NoteKind.RESULT)
    assert cmgr.truth[key("a")].restart_policy == "always"


@pytest.mark.parametrize("policy", [NO_RESTART, "always"])
def test_one_whose_start_had_worked_before_the_restart_has_to_stay_up_as_any_other(policy: str) -> None:
    cmgr = Cmgr(container("a", 0, restart_policy=policy), settle=30)
    cmgr.fault(0)
    cmgr.run_until(Phase.RESUMING)
    cmgr.truth[key("a")] = replace(cmgr.truth[key("a")], running=True, run="life 2", exit=None, restart_policy=policy)
    cmgr.begin()
    cmgr.wait(29)
    assert (cmgr.hold("a").state, cmgr.phase()) == (HoldState.SETTLING, Phase.RESUMING)
    cmgr.dies("a", 3)
    assert cmgr.hold("a").attempt.error == "it exited with code 3 soon after"
    cmgr.wait(60)
    assert (cmgr.held(), cmgr.phase(), cmgr.booked("a").running) == ([], Phase.HEALTHY, True)


def test_one_of_a_runtime_that_is_not_managed_any_more_stays_held() -> None:
    cmgr = Cmgr(container("a", 0), runtimes=("docker", "containerd"))
    cmgr.fault(0, REQUEST)
    cmgr.run()
    cmgr.runtimes = ("containerd",)
    cmgr.begin()
    cmgr.clears(0, REQUEST)
    cmgr.run()
    assert (cmgr.phase(), kept(cmgr), cmgr.sent(StartContainer)) == (Phase.HEALTHY, ["a"], [])


def kept(cmgr: Cmgr) -> list[str]:
    """Return what is held of runtimes that nobody looks after."""
    return sorted(hold.name for hold in cmgr.node.kept_holds.values())


def test_one_that_was_being_stopped_when_its_runtime_was_left_out_is_stopped_when_it_is_back() -> None:
    cmgr = Cmgr(container("a", 0), runtimes=("docker", "containerd"))
    cmgr.fault(0, REQUEST)
    cmgr.runtimes = ("containerd",)
    cmgr.begin()
    cmgr.run()
    assert cmgr.node.kept_holds[key("a")].state is HoldState.STOPPING
    cmgr.runtimes = ("containerd", "docker")
    cmgr.begin()
    cmgr.answer(StopContainer)
    assert (cmgr.hold("a").state, cmgr.truth[key("a")].running) == (HoldState.DOWN, False)


def test_a_runtime_that_is_not_managed_any_more_blocks_nothing() -> None:
    cmgr = Cmgr(
        container("a", 0), container("b", 0, runtime="containerd"), container("c", 0, runtime="containerd", order=5),
        runtimes=("docker", "containerd"),
    )  # fmt: skip
    cmgr.fault(0)
    for name in ("b", "c"):
        cmgr.truth[key(name, "containerd")] = replace(cmgr.booked(name, "containerd"), running=False)
    cmgr.runtimes = ("docker",)
    cmgr.begin()
    cmgr.wait(5)
    assert (cmgr.phase(), kept(cmgr)) == (Phase.HEALTHY, ["b", "c"])
    assert {k.runtime for k in cmgr.node.containers} == {"docker"}
    cmgr.fault(0)
    cmgr.wait(5)
    assert (cmgr.phase(), kept(cmgr), len(cmgr.ring().resets)) == (Phase.HEALTHY, ["b", "c"], 2)
    cmgr.runtimes = ("docker", "containerd")
    cmgr.begin()
    cmgr.wait(5)
    assert (cmgr.phase(), cmgr.held()) == (Phase.HEALTHY, [])
    assert cmgr.booked("b", "containerd").running


def test_holds_and_their_numbers_go_on_where_the_last_life_ended() -> None:
    cmgr = in_phase(Phase.WAITING)
    serial = cmgr.node.serial
    cmgr.begin()
    cmgr.run()
    assert all(int(c.id.rpartition("-")[2]) > serial for c in cmgr.sent(ReadRing))
    cmgr.fault(4)
    assert cmgr.node.rings[RingId(4)].episode == 2


def test_a_restart_drops_what_was_asked_for_and_the_time_of_the_next_try() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    for _ in range(6):
        cmgr.answer(StopContainer, error="timed out")
        cmgr.wait(61, run=False)
    cmgr.answer(StopContainer, error="timed out")
    cmgr.begin()
    assert (cmgr.hold("a").state, names(cmgr.log[-3:])) == (HoldState.STOPPING, ["a"])


def test_a_stop_that_is_ordered_once_more_in_the_next_life_has_been_told_since_the_first() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    first = cmgr.hold("a").attempt.told
    cmgr.begin()
    cmgr.run(ListContainers)
    assert names(cmgr.log, StopContainer) == ["a", "a"]
    assert cmgr.hold("a").attempt.told == first
