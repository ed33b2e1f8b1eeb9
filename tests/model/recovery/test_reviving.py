"""Chips that do not come up after a reset, or do not answer: that has an end, too."""

from dataclasses import replace

import pytest

from cmgr.model.values.chips import ChipId
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import NoteKind, ReadRing, ResetRing, StartContainer, StopContainer
from cmgr.model.values.rings import Phase
from cmgr.view.status import containers
from tests.model.builders import REQUEST, RESET, RING, SINGLE, Cmgr, container, names, reset_timed_out, seconds


def not_up(*chips: int, ordered: bool = False) -> Cmgr:
    """Return a ring that reports no fault any more since it was reset, and whose chips have not booted."""
    cmgr = Cmgr(container("a", 0), container("b", 1))
    if ordered:
        cmgr.tell(facts.ResetOrdered(ChipId(0), "uid 0", stop=True))
    else:
        cmgr.fault(0)
    cmgr.run_until(Phase.VERIFYING)
    cmgr.clears(0)
    cmgr.unbooted = set(chips)
    cmgr.run()
    return cmgr


def reasons(cmgr: Cmgr) -> dict[int, str]:
    return {int(chip): f"{i.by}: {i.reason}" for chip, i in cmgr.node.isolations.items()}


@pytest.mark.parametrize("ordered", [False, True])
def test_who_is_on_chips_that_are_up_waits_150_s_for_one_that_boots_and_that_one_is_not_reset_again(
    ordered: bool,
) -> None:
    cmgr = not_up(0, ordered=ordered)
    cmgr.wait(145)
    assert (cmgr.phase(), cmgr.ring().reason) == (Phase.VERIFYING, "chip 0 not booted yet")
    assert cmgr.sent(StartContainer) == []
    cmgr.wait(16)
    assert reasons(cmgr) == {0: "boot: it has not come up since its reset"}
    assert (cmgr.phase(), cmgr.held(), cmgr.booked("b").running) == (Phase.HEALTHY, ["a"], True)
    assert cmgr.notes(NoteKind.CLOSED)[-1].startswith("episode 1 is over: isolated")
    cmgr.wait(3600)
    assert (len(cmgr.sent(ResetRing)), cmgr.ring().failures, cmgr.held()) == (1, 0, ["a"])
    cmgr.unbooted = set()
    cmgr.wait(11)
    assert (reasons(cmgr), cmgr.held(), cmgr.booked("a").running) == ({}, [], True)
    assert "chip 0 is released: it has booted" in cmgr.notes(NoteKind.ISOLATION)


def test_a_ring_of_which_no_chip_is_up_is_waited_for_for_10_min_and_not_reset_again() -> None:
    cmgr = not_up(0, 1, 2, 3)
    cmgr.wait(590)
    assert (cmgr.phase(), reasons(cmgr)) == (Phase.VERIFYING, {})
    cmgr.wait(20)
    assert (cmgr.phase(), list(reasons(cmgr)), cmgr.held()) == (Phase.HEALTHY, [0, 1, 2, 3], ["a", "b"])
    cmgr.wait(3600)
    assert (len(cmgr.sent(ResetRing)), cmgr.ring().failures) == (1, 0)
    cmgr.unbooted = set()
    cmgr.wait(11)
    assert (reasons(cmgr), cmgr.held()) == ({}, [])


def test_one_that_comes_up_late_and_is_still_faulty_is_reset_then() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 1))
    cmgr.fault(0)
    cmgr.run_until(Phase.VERIFYING)
    cmgr.unbooted = {0}
    cmgr.faults[0] = {RESET}
    cmgr.wait(400)
    assert (len(cmgr.sent(ResetRing)), cmgr.held()) == (1, ["a"])
    cmgr.unbooted = set()
    cmgr.wait(60)
    assert (len(cmgr.sent(ResetRing)), cmgr.held(), reasons(cmgr)) == (2, [], {})


@pytest.mark.parametrize("boots", [True, False])
def test_a_fault_of_its_mate_does_not_reset_a_chip_in_mid_boot_though_nobody_waits_for_it(boots: bool) -> None:
    cmgr = not_up(0)
    cmgr.wait(170)
    cmgr.fault(1)
    cmgr.wait(400)
    assert (len(cmgr.sent(ResetRing)), cmgr.phase(), cmgr.ring().reason[:22]) == (
        1,
        Phase.WAITING,
        "chip 0 not booted yet",
    )
    cmgr.unbooted = set() if boots else {0}
    cmgr.wait(20 if boots else 60)
    assert len(cmgr.sent(ResetRing)) == 2


@pytest.mark.parametrize("after", [170, 1000])
def test_a_chip_that_boots_late_is_reset_again_by_order_however_late_it_is(after: int) -> None:
    cmgr = not_up(0)
    cmgr.wait(after)
    cmgr.tell(facts.ResetOrdered(ChipId(0), "uid 0", stop=True))
    cmgr.run_until(Phase.VERIFYING)
    assert len(cmgr.sent(ResetRing)) == 2


def test_a_chip_that_boots_late_is_reset_again_by_order() -> None:
    cmgr = not_up(0)
    cmgr.wait(1000)
    cmgr.tell(facts.ResetOrdered(ChipId(0), "uid 0", stop=True))
    cmgr.run_until(Phase.VERIFYING)
    cmgr.unbooted = set()
    cmgr.wait(60)
    assert (len(cmgr.sent(ResetRing)), cmgr.held(), reasons(cmgr)) == (2, [], {})


def test_one_that_boots_late_is_waited_for_by_the_next_life_of_cmgr() -> None:
    cmgr = not_up(0)
    cmgr.wait(200)
    cmgr.begin()
    cmgr.wait(60)
    assert (list(reasons(cmgr)), cmgr.held()) == ([0], ["a"])
    cmgr.unbooted = set()
    cmgr.wait(11)
    assert (reasons(cmgr), cmgr.held()) == ({}, [])


def test_chips_that_boot_at_last_are_not_reset_again() -> None:
    cmgr = not_up(0)
    cmgr.wait(155)
    cmgr.unbooted = set()
    cmgr.wait(4)
    assert (cmgr.phase(), len(cmgr.sent(ResetRing)), cmgr.held()) == (Phase.HEALTHY, 1, [])


def test_chips_that_boot_during_the_last_look_are_not_reset_again() -> None:
    cmgr = reset_timed_out()
    cmgr.wait(595)
    cmgr.wait(11, run=False)
    assert cmgr.ring().look is not None
    cmgr.unbooted = set()
    cmgr.run()
    assert (cmgr.phase(), len(cmgr.sent(ResetRing)), cmgr.held()) == (Phase.HEALTHY, 1, [])


def test_a_reset_that_the_driver_said_no_to_may_have_begun_and_is_given_its_time() -> None:
    cmgr = reset_timed_out()
    cmgr.wait(595)
    assert (cmgr.phase(), len(cmgr.sent(ResetRing))) == (Phase.WAITING, 1)
    cmgr.wait(10)
    assert len(cmgr.sent(ResetRing)) == 2


def test_while_its_chips_boot_a_ring_is_not_reset_again_though_faults_are_still_known() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.run_until(Phase.RESETTING)
    cmgr.unbooted = {0, 1, 2, 3}
    cmgr.answer(ResetRing, error="the driver cannot tell")
    cmgr.wait(140)
    assert (cmgr.ring().reason, len(cmgr.sent(ResetRing))) == ("chips 0-3 not booted yet", 1)
    cmgr.unbooted = set()
    cmgr.clears(0)
    cmgr.wait(5)
    assert (cmgr.phase(), len(cmgr.sent(ResetRing)), cmgr.held()) == (Phase.HEALTHY, 1, [])


def test_a_call_that_has_not_come_back_is_no_failure_and_the_boot_has_its_time_after_it() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.run_until(Phase.VERIFYING)
    cmgr.in_reset = {0, 1, 2, 3}
    cmgr.wait(3600)
    assert (cmgr.phase(), cmgr.ring().failures) == (Phase.VERIFYING, 0)
    assert cmgr.ring().reason == "the call that resets chips 0-3 has not come back"
    cmgr.in_reset, cmgr.unbooted, back = set(), {2}, cmgr.now
    while cmgr.phase() is Phase.VERIFYING:
        cmgr.wait(1)
    assert 150 <= (cmgr.now - back).total_seconds() <= 161
    assert (list(reasons(cmgr)), cmgr.ring().failures, len(cmgr.ring().resets)) == ([2], 0, 1)


def test_nothing_is_reset_again_under_a_container_that_somebody_started_meanwhile() -> None:
    cmgr = reset_timed_out()
    cmgr.wait(595)
    cmgr.sees(container("new", 2, strategy=SINGLE.strategy))
    cmgr.wait(1000)
    assert (cmgr.phase(), len(cmgr.sent(ResetRing))) == (Phase.WAITING, 1)
    assert cmgr.ring().reason.startswith("the reset of chips 0-3 waits for new ")
    cmgr.dies("new", 0)
    cmgr.wait(15)
    assert len(cmgr.sent(ResetRing)) == 2


def test_chips_that_do_not_boot_and_that_the_driver_refuses_to_reset_are_isolated() -> None:
    cmgr = reset_timed_out()
    for _ in range(400):
        cmgr.wait(5, run=False)
        while cmgr.pending:
            if any(isinstance(c, ResetRing) for c in cmgr.pending):
                cmgr.answer(ResetRing, error="chip 0 does not answer the question who uses it", refused=True)
            else:
                cmgr.answer(type(cmgr.pending[0]))
    assert len(cmgr.sent(ResetRing)) > 3
    assert list(reasons(cmgr)) == [0, 1, 2, 3]
    assert "does not answer the question who uses it" in reasons(cmgr)[0]
    assert (cmgr.phase(), cmgr.held()) == (Phase.HEALTHY, ["a"])


def refused_after_one(error: str) -> Cmgr:
    """Return a ring whose reset has cured nothing, and which the driver refuses to reset again from then on."""
    cmgr = Cmgr(container("a", 0), container("b", 1))
    cmgr.fault(0)
    cmgr.run_until(Phase.RESETTING)
    cmgr.answer(ResetRing, error="the driver said no")
    refuse_for(cmgr, error, 100)
    assert cmgr.node.isolations == {}
    return cmgr


def refuse_for(cmgr: Cmgr, error: str, time: float) -> None:
    end = cmgr.now + seconds(time)
    while cmgr.now < end:
        cmgr.wait(1, run=False)
        while cmgr.pending:
            refuses = any(isinstance(c, ResetRing) for c in cmgr.pending)
            cmgr.answer(ResetRing, error=error, refused=True) if refuses else cmgr.answer(type(cmgr.pending[0]))


def test_a_fault_that_a_reset_left_and_that_the_driver_refuses_another_for_has_an_end() -> None:
    cmgr = refused_after_one("somebody computes on it")
    refuse_for(cmgr, "somebody computes on it", 600)
    assert reasons(cmgr) == {
        0: f"budget: {RESET} is still there, and it cannot be reset again: nothing was reset: somebody computes on it"
    }
    assert (len(cmgr.ring().resets), cmgr.held(), cmgr.booked("b").running) == (1, ["a"], True)


def test_one_that_waits_for_a_reset_which_has_not_come_back_does_not_end_so() -> None:
    cmgr = refused_after_one("an earlier reset is under way")
    cmgr.in_reset = {0, 1, 2, 3}
    refuse_for(cmgr, "an earlier reset is under way", 3600)
    assert cmgr.node.isolations == {}
    cmgr.in_reset = set()
    cmgr.clears(0)
    cmgr.wait(600)
    assert (cmgr.phase(), cmgr.held(), cmgr.node.isolations) == (Phase.HEALTHY, [], {})


def test_a_first_refusal_long_after_the_last_reset_has_its_time() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.run_until(Phase.RESETTING)
    cmgr.answer(ResetRing, error="the driver said no")
    cmgr.processes[2] = "python3"
    cmgr.wait(3600)
    del cmgr.processes[2]
    refuse_for(cmgr, "somebody computes on it", 100)
    assert (cmgr.ring().refusals > 0, cmgr.node.isolations) == (True, {})


def test_a_chip_that_does_not_answer_after_its_reset_is_isolated_and_its_mates_are_used() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 1))
    cmgr.fault(0)
    cmgr.run_until(Phase.VERIFYING)
    cmgr.silent = {0}
    cmgr.wait(700)
    assert len(cmgr.sent(ResetRing)) == 1
    assert list(reasons(cmgr)) == [0]
    assert (cmgr.phase(), cmgr.held(), cmgr.booked("b").running) == (Phase.HEALTHY, ["a"], True)


def test_a_faulty_chip_that_does_not_answer_is_isolated_when_that_lasts() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 1))
    cmgr.fault(0)
    cmgr.silent = {0}
    cmgr.wait(590)
    assert cmgr.phase() is Phase.WAITING
    assert cmgr.ring().reason.endswith("chip 0 does not answer: timed out")
    cmgr.wait(21)
    assert list(reasons(cmgr)) == [0]
    assert (cmgr.sent(ResetRing), cmgr.held(), cmgr.booked("b").running) == ([], ["a"], True)


def test_a_fault_is_given_up_whose_ring_a_dead_mate_keeps_from_every_reset() -> None:
    cmgr = Cmgr(container("a", 0), container("b", 1))
    cmgr.tell(facts.IsolateOrdered(ChipId(3), "it is broken", "uid 0"))
    cmgr.silent = {3}
    cmgr.fault(0)
    cmgr.wait(611)
    assert list(reasons(cmgr)) == [3, 0]
    assert "chip 3 did not answer for" in reasons(cmgr)[0]
    assert (cmgr.sent(ResetRing), cmgr.held(), cmgr.booked("b").running) == ([], ["a"], True)


def test_nothing_is_isolated_because_the_driver_answers_nobody() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.silent = set(range(8))
    for _ in range(20):
        cmgr.wait(60)
        cmgr.tell(facts.Resync())
    assert (reasons(cmgr), cmgr.phase()) == ({}, Phase.WAITING)
    cmgr.silent = set()
    cmgr.wait(11)
    assert (cmgr.phase(), len(cmgr.sent(ResetRing)), cmgr.held()) == (Phase.HEALTHY, 1, [])


def test_an_isolated_chip_that_never_boots_is_not_waited_for_longer_than_a_boot_may_take() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.tell(facts.IsolateOrdered(ChipId(3), "it is broken", "uid 0"))
    cmgr.unbooted = {3}
    cmgr.fault(0)
    cmgr.wait(590)
    assert (cmgr.phase(), cmgr.ring().reason) == (Phase.VERIFYING, "chip 3 not booted yet")
    cmgr.wait(11)
    assert (cmgr.phase(), cmgr.ring().failures) == (Phase.HEALTHY, 0)
    assert (len(cmgr.sent(ResetRing)), cmgr.held()) == (1, [])


def test_a_reset_of_isolated_chips_is_over_when_they_have_booted() -> None:
    cmgr = Cmgr()
    for chip in range(4):
        cmgr.tell(facts.IsolateOrdered(ChipId(chip), "it is broken", "uid 0"))
    cmgr.unbooted = set(range(4))
    cmgr.tell(facts.ResetOrdered(ChipId(0), "uid 0"))
    cmgr.wait(20)
    assert cmgr.phase() is Phase.VERIFYING
    cmgr.unbooted = set()
    cmgr.wait(3)
    assert cmgr.phase() is Phase.HEALTHY


def test_an_isolated_chip_that_does_not_answer_keeps_no_start_waiting_after_a_restart() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.tell(facts.IsolateOrdered(ChipId(3), "it is broken", "uid 0"))
    cmgr.fault(0, REQUEST)
    cmgr.run()
    cmgr.silent = {3}
    cmgr.begin()
    cmgr.clears(0, REQUEST)
    cmgr.wait(5)
    assert (cmgr.phase(), cmgr.held(), cmgr.booked("a").running) == (Phase.HEALTHY, [], True)


def test_while_cmgr_only_observes_chips_that_are_not_up_are_only_looked_at() -> None:
    cmgr = reset_timed_out()
    cmgr.wait(595)
    cmgr.tell(facts.MaintenanceOrdered(on=True, who="uid 0"))
    stops, looks = len(cmgr.sent(StopContainer)), len(cmgr.sent(ReadRing))
    cmgr.wait(10_000)
    assert (len(cmgr.sent(ResetRing)), reasons(cmgr), len(cmgr.sent(StopContainer))) == (1, {}, stops)
    assert len(cmgr.sent(ReadRing)) - looks < 1700
    cmgr.tell(facts.MaintenanceOrdered(on=False, who="uid 0"))
    cmgr.wait(15)
    assert len(cmgr.sent(ResetRing)) == 2


def test_a_restart_of_cmgr_costs_no_further_reset_and_forgets_none() -> None:
    cmgr = Cmgr(container("a", 0), policy=replace(RING, reset=replace(RING.reset, attempts=2)))
    cmgr.fault(0)
    cmgr.run_until(Phase.RESETTING)
    cmgr.clears(0)
    cmgr.unbooted = {0, 1, 2, 3}
    cmgr.answer(ResetRing, error="timed out")
    for _ in range(12):
        cmgr.wait(100)
        cmgr.begin()
    cmgr.wait(2000)
    assert len(cmgr.sent(ResetRing)) == 2
    assert (list(reasons(cmgr)), cmgr.phase(), cmgr.held()) == ([0, 1, 2, 3], Phase.HEALTHY, ["a"])


@pytest.mark.parametrize("silent", [True, False])
def test_nothing_is_started_on_a_chip_that_is_released_before_it_is_up(silent: bool) -> None:
    cmgr = not_up(0)
    cmgr.wait(1000)
    cmgr.silent, cmgr.unbooted = ({0}, set()) if silent else (set(), {0})
    cmgr.tell(facts.Resync())
    cmgr.run()
    cmgr.tell(facts.ReleaseOrdered(ChipId(0), "uid 0"))
    cmgr.wait(100)
    assert (cmgr.held(), names(cmgr.log, StartContainer)) == (["a"], ["b"])
    found = next(row for row in containers(cmgr.node) if row["name"] == "a")
    assert found["reason"] == "chip 0 has not come up since its last reset"
    cmgr.silent, cmgr.unbooted = set(), set()
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert (cmgr.held(), cmgr.booked("a").running) == ([], True)


def test_that_a_chip_is_down_since_its_reset_is_known_beyond_that_episode() -> None:
    cmgr = not_up(0)
    cmgr.wait(1000)
    cmgr.fault(1, REQUEST)
    cmgr.run()
    cmgr.clears(1, REQUEST)
    cmgr.wait(30)
    assert (cmgr.phase(), cmgr.ring().failures, cmgr.held()) == (Phase.HEALTHY, 0, ["a"])
    cmgr.tell(facts.ReleaseOrdered(ChipId(0), "uid 0"))
    cmgr.wait(100)
    assert (cmgr.held(), cmgr.sent(StartContainer, "a")) == (["a"], [])
    cmgr.unbooted = set()
    cmgr.tell(facts.Resync())
    cmgr.run()
    assert (cmgr.held(), cmgr.booked("a").running) == ([], True)
