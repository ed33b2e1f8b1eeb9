"""Resets: the last look before, what is in the way, refusals, failures, the budget."""

from dataclasses import replace

import pytest

from cmgr.model.values.handling.policy import Policy
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import (
    ListContainers,
    Note,
    NoteKind,
    PrepareReset,
    ReadRing,
    ResetRing,
    StartContainer,
)
from cmgr.model.values.messages.reset_facts import ResetDone
from cmgr.model.values.rings import Phase
from cmgr.model.values.troubles import Trouble, TroubleKind
from cmgr.view.troubles import troubles
from tests.model.builders import RESET, RING, SINGLE, Cmgr, container, key, reset_timed_out, seconds


def test_a_last_look_asks_every_runtime_and_the_driver_before_a_reset() -> None:
    cmgr = Cmgr(container("a", 0), runtimes=("docker", "containerd"))
    cmgr.fault(0)
    cmgr.run_until(Phase.WAITING)
    cmgr.log.clear()
    cmgr.run_until(Phase.RESETTING)
    order = [(type(c), c.reason) for c in cmgr.log if isinstance(c, ListContainers | ReadRing | ResetRing)]
    assert [kind for kind, _ in order] == [ResetRing]
    assert order[0][1] == f"{RESET} (RestartNPU) on chip 0; nobody is on chips 0-3"


def test_processes_that_were_seen_before_the_stop_are_not_in_the_way() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.tell(facts.Resync())
    cmgr.run()
    cmgr.fault(0)
    cmgr.run()
    assert cmgr.phase() is Phase.HEALTHY
    assert len([c for c in cmgr.sent(ReadRing) if c.reason.startswith("before the reset")]) == 1


def test_a_process_on_any_chip_of_the_ring_is_waited_for() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.processes[3] = "python3"
    cmgr.fault(0)
    cmgr.wait(60)
    assert (cmgr.phase(), cmgr.ring().reason) == (Phase.WAITING, "process 99 (python3) is on chip 3")
    del cmgr.processes[3]
    cmgr.wait(2)
    assert (cmgr.phase(), len(cmgr.sent(ResetRing))) == (Phase.HEALTHY, 1)


@pytest.mark.parametrize(
    ("came", "why"),
    [
        (facts.ContainerSeen(container("b", 1, run="by hand")), "b runs on ring 0"),
        (facts.MaintenanceOrdered(on=True, who="a"), "maintenance"),
    ],
    ids=["a start", "maintenance"],
)
def test_what_comes_while_a_reset_is_prepared_keeps_it_from_the_driver(came: facts.Fact, why: str) -> None:
    cmgr = Cmgr(container("a", 0), container("b", 1, running=False))
    cmgr.prepares = False
    cmgr.fault(0)
    cmgr.run_until(Phase.RESETTING)
    cmgr.tell(came)
    said = cmgr.answer(PrepareReset)
    assert not cmgr.sent(ResetRing)
    assert cmgr.ring().resets == ()
    assert any(why in c.text for c in said if isinstance(c, Note)), said


def test_a_process_that_the_driver_ends_itself_is_not_waited_for() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.processes, cmgr.yielding = {2: "agent", 3: "agent"}, {2}
    cmgr.fault(0)
    cmgr.wait(60)
    assert (cmgr.phase(), cmgr.ring().reason) == (Phase.WAITING, "process 99 (agent) is on chip 3")
    cmgr.yielding = {2, 3}
    cmgr.wait(2)
    assert (cmgr.phase(), len(cmgr.sent(ResetRing))) == (Phase.HEALTHY, 1)


def test_a_process_that_stays_for_hours_is_looked_for_less_often() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.processes[3] = "python3"
    cmgr.fault(0)
    cmgr.wait(10_000)
    assert 1000 < len(cmgr.sent(ReadRing)) < 1300
    assert len(cmgr.notes()) < 20


def test_several_processes_are_counted() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.run_until(Phase.WAITING)
    cmgr.truth[key("x")] = container("x", 0, enabled=False)
    cmgr.processes[0] = ""
    cmgr.run(ReadRing)
    assert cmgr.ring().reason == "process 1 (x) and 1 more is on chip 0"


def test_a_chip_that_does_not_answer_is_not_reset() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.silent = {2}
    cmgr.fault(0)
    cmgr.wait(100)
    assert (cmgr.phase(), cmgr.ring().reason) == (Phase.WAITING, "chip 2 does not answer: timed out")
    assert not cmgr.sent(ResetRing)
    cmgr.silent = set()
    cmgr.wait(3)
    assert cmgr.phase() is Phase.HEALTHY


def test_a_chip_that_a_read_out_leaves_out_is_not_reset() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.run_until(Phase.WAITING)
    cmgr.node = replace(cmgr.node, reports={})
    for _ in range(5):
        cmgr.run(ListContainers)
        cmgr.answer(ReadRing, reports=())
        cmgr.wait(1, run=False)
    assert cmgr.ring().reason == "chip 0 does not answer: it has not been read"
    cmgr.wait(2)
    assert (cmgr.phase(), len(cmgr.sent(ResetRing))) == (Phase.HEALTHY, 1)


def test_a_slow_answer_of_the_driver_is_waited_for_and_not_asked_for_again() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.processes[0] = "python3"
    cmgr.fault(0)
    cmgr.wait(5)
    cmgr.log.clear()
    cmgr.wait(120, run=False)
    assert (len(cmgr.sent(ReadRing)), len(cmgr.sent(ListContainers))) == (1, 1)
    cmgr.processes.clear()
    cmgr.wait(2)
    assert cmgr.phase() is Phase.HEALTHY


def test_a_container_that_the_last_look_finds_is_stopped_first() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.run_until(Phase.WAITING)
    cmgr.truth[key("b")] = container("b", 1)
    cmgr.run()
    assert (cmgr.phase(), cmgr.booked("b").running, len(cmgr.sent(StartContainer))) == (Phase.HEALTHY, True, 2)


def test_a_runtime_that_cannot_be_asked_keeps_the_ring_from_being_reset() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.run_until(Phase.WAITING)
    cmgr.tell(facts.RuntimeDown("docker", "connection refused"))
    assert cmgr.ring().reason == "cannot ask docker who uses chips 0-3: connection refused"
    for _ in range(20):
        cmgr.run(ReadRing)
        if any(isinstance(c, ListContainers) for c in cmgr.pending):
            cmgr.answer(ListContainers, error="connection refused")
        cmgr.wait(10, run=False)
    assert not cmgr.sent(ResetRing)
    cmgr.wait(11)
    assert cmgr.phase() is Phase.HEALTHY


def test_a_fault_that_the_last_look_does_not_find_any_more_is_not_reset() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.faults[0].clear()
    cmgr.run()
    assert (cmgr.phase(), cmgr.sent(ResetRing)) == (Phase.HEALTHY, [])


def test_a_refused_reset_does_not_count_and_is_tried_again_later_each_time() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    waits = []
    for _ in range(12):
        cmgr.run_until(Phase.RESETTING)
        cmgr.answer(ResetRing, error="chip 0 reports none of these faults", refused=True)
        assert (cmgr.phase(), cmgr.ring().resets) == (Phase.WAITING, ())
        assert cmgr.ring().reason == "nothing was reset: chip 0 reports none of these faults"
        assert cmgr.ring().deadline is not None
        waits.append((cmgr.ring().deadline - cmgr.now).total_seconds())  # type: ignore[operator]
        cmgr.wait(waits[-1], run=False)
    assert waits == [1, 2, 4, 8, 16, 32, 60, 60, 60, 60, 60, 60]
    cmgr.run()
    assert (cmgr.phase(), len(cmgr.ring().resets)) == (Phase.HEALTHY, 1)


def refuse(cmgr: Cmgr, error: str, until: float) -> None:
    """Have the driver refuse every reset for so many seconds."""
    end = cmgr.now + seconds(until)
    while cmgr.now < end:
        cmgr.run_until(Phase.RESETTING)
        cmgr.answer(ResetRing, error=error, refused=True)
        cmgr.wait(((cmgr.ring().refused_until or cmgr.now) - cmgr.now).total_seconds(), run=False)


def refused(cmgr: Cmgr) -> list[Trouble]:
    return [trouble for trouble in troubles(cmgr.node) if trouble.kind is TroubleKind.REFUSED]


def test_a_driver_that_refuses_for_long_is_told_of_and_nothing_is_isolated() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    refuse(cmgr, "somebody computes on it", 590)
    assert refused(cmgr) == []
    refuse(cmgr, "somebody computes on it", 900)
    (told,) = refused(cmgr)
    assert told.text == "the driver does not begin the reset of ring 0"
    assert told.why.endswith("nothing was reset: somebody computes on it")
    assert f"it was asked {cmgr.ring().refusals} times" in told.why
    (episode,) = [trouble for trouble in troubles(cmgr.node) if trouble.kind is TroubleKind.EPISODE]
    assert episode.why == "nothing was reset: somebody computes on it"
    assert (cmgr.node.isolations, cmgr.ring().resets, cmgr.ring().failures) == ({}, (), 0)
    cmgr.run()
    assert (cmgr.phase(), refused(cmgr), len(cmgr.ring().resets)) == (Phase.HEALTHY, [], 1)


def test_refusals_are_forgotten_when_the_fault_is_gone() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    refuse(cmgr, "somebody computes on it", 700)
    assert len(refused(cmgr)) == 1
    cmgr.clears(0)
    cmgr.run()
    assert (cmgr.ring().refusals, cmgr.ring().refused, refused(cmgr)) == (0, None, [])


def test_a_refusal_between_failures_costs_nothing_and_begins_its_time_anew() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    refuse(cmgr, "it is being reset", 500)
    cmgr.run_until(Phase.RESETTING)
    cmgr.answer(ResetRing, error="the driver said no")
    assert (len(cmgr.ring().resets), cmgr.ring().refused) == (1, None)
    cmgr.wait(11, run=False)
    refuse(cmgr, "it is being reset", 100)
    assert (len(cmgr.ring().resets), cmgr.ring().failures, refused(cmgr)) == (1, 1, [])


def test_a_resync_does_not_hasten_the_try_after_a_refusal() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    for _ in range(5):
        cmgr.run_until(Phase.RESETTING)
        cmgr.answer(ResetRing, error="somebody has it open", refused=True)
        again = cmgr.ring().refused_until
        assert again is not None
        cmgr.wait((again - cmgr.now).total_seconds() / 2, run=False)
        cmgr.tell(facts.Resync())
        cmgr.run()
        assert (cmgr.phase(), cmgr.ring().refused_until) == (Phase.WAITING, again)
        cmgr.wait((again - cmgr.now).total_seconds(), run=False)


def test_a_failed_reset_counts_and_is_tried_again_later_each_time() -> None:
    policy = replace(RING, reset=replace(RING.reset, attempts=9))
    cmgr = Cmgr(container("a", 0), policy=policy)
    cmgr.fault(0)
    for number, wait in enumerate((10, 20, 40, 80, 160, 300, 300), start=1):
        cmgr.run_until(Phase.RESETTING)
        cmgr.answer(ResetRing, error="the driver said no")
        assert (cmgr.phase(), len(cmgr.ring().resets), cmgr.ring().failures) == (Phase.WAITING, number, number)
        assert cmgr.ring().not_before == cmgr.now + seconds(wait)
        expected = f"the last reset did not cure it ({number} of this episode); it is tried again"
        assert cmgr.ring().reason == expected
        cmgr.wait(wait, run=False)


def test_a_fault_that_is_still_there_after_the_reset_makes_it_a_failure() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.run_until(Phase.VERIFYING)
    cmgr.faults[0].add(RESET)
    cmgr.run(ReadRing)
    assert (cmgr.phase(), cmgr.ring().failures) == (Phase.WAITING, 1)
    assert f"reset 1 of this episode did not cure: {RESET} (RestartNPU) on chip 0 is still there" in "".join(
        cmgr.notes(NoteKind.PHASE)
    )
    cmgr.wait(11)
    assert (cmgr.phase(), len(cmgr.ring().resets)) == (Phase.HEALTHY, 2)


def test_the_boot_of_every_chip_is_waited_for() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.unbooted = {3}
    cmgr.wait(100)
    assert (cmgr.phase(), cmgr.ring().reason) == (Phase.VERIFYING, "chip 3 not booted yet")
    cmgr.unbooted = set()
    cmgr.wait(2)
    assert (cmgr.phase(), cmgr.booked("a").running) == (Phase.HEALTHY, True)


def test_after_a_failed_reset_nothing_is_started_before_a_new_read_out() -> None:
    cmgr = reset_timed_out()
    cmgr.wait(30)
    assert (cmgr.phase(), cmgr.sent(StartContainer)) == (Phase.WAITING, [])
    assert cmgr.ring().reason == "chips 0-3 not booted yet"
    cmgr.unbooted = set()
    cmgr.wait(3)
    assert cmgr.phase() is Phase.HEALTHY


def test_resets_of_before_the_window_do_not_count() -> None:
    cmgr = Cmgr()
    for _ in range(3):
        cmgr.fault(0)
        cmgr.wait(1)
    cmgr.wait(6 * 3600)
    cmgr.fault(0)
    cmgr.wait(1)
    assert (len(cmgr.sent(ResetRing)), len(cmgr.ring().resets), cmgr.node.isolations) == (4, 1, {})


def test_a_crash_does_not_add_a_reset_to_the_budget() -> None:
    cmgr = Cmgr(container("a", 0))
    for _ in range(10):
        cmgr.fault(0)
        for _ in range(50):
            if cmgr.phase() is not Phase.HEALTHY and not cmgr.node.isolations and cmgr.phase() is not Phase.RESETTING:
                if cmgr.pending:
                    cmgr.answer(type(cmgr.pending[0]))
                else:
                    cmgr.wait(1, run=False)
        cmgr.begin()
        cmgr.wait(200)
    assert len(cmgr.sent(ResetRing)) == 3
    assert list(cmgr.node.isolations) == [0]


def test_an_answer_to_a_reset_that_nobody_waits_for_changes_nothing() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.run()
    reset = cmgr.sent(ResetRing)[0]
    assert cmgr.tell(ResetDone(reset.id, reset.ring)) == []
    assert cmgr.tell(ResetDone(reset.id, type(reset.ring)(77))) == []


def test_single_recover_resets_when_its_mates_are_not_used() -> None:
    cmgr = Cmgr(container("a", 0), container("mate", 1, running=False), policy=SINGLE)
    cmgr.fault(0)
    cmgr.run()
    assert (cmgr.phase(), len(cmgr.sent(ResetRing))) == (Phase.HEALTHY, 1)


def test_with_strategy_never_the_reset_waits_for_whoever_runs() -> None:
    cmgr = Cmgr(container("a", 0), policy=Policy())
    cmgr.fault(0)
    cmgr.wait(600)
    assert cmgr.ring().reason == "the reset of chips 0-3 waits for a (strategy never)"
    cmgr.dies("a", 0, asked=True)
    cmgr.run()
    assert (cmgr.phase(), len(cmgr.sent(ResetRing)), cmgr.sent(StartContainer)) == (Phase.HEALTHY, 1, [])
