"""Faults that clear by themselves, that come and go, and that were there for a moment only."""

from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import NoteKind, ResetRing, StartContainer
from cmgr.model.values.rings import Phase
from tests.model.builders import REQUEST, RESET, SEPARATE, Cmgr, container, names, seconds


def flap(cmgr: Cmgr, times: int, pause: float = 0) -> None:
    for _ in range(times):
        cmgr.fault(0, REQUEST)
        cmgr.run()
        cmgr.clears(0, REQUEST)
        cmgr.wait(pause)


def test_a_fault_that_clears_while_waiting_is_not_reset() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, REQUEST)
    cmgr.wait(30)
    cmgr.clears(0, REQUEST)
    cmgr.run()
    assert (cmgr.phase(), cmgr.ring().resets, cmgr.booked("a").running) == (Phase.HEALTHY, (), True)
    assert cmgr.notes(NoteKind.CLOSED)[-1].startswith("episode 1 is over: cleared after 30")


def test_a_fault_that_clears_while_containers_are_being_stopped_starts_them_again() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.clears(0)
    cmgr.run()
    assert (cmgr.phase(), cmgr.booked("a").running, cmgr.sent(ResetRing)) == (Phase.HEALTHY, True, [])


def test_the_first_time_it_is_believed_at_once_and_later_the_longer_the_more_often_it_came_back() -> None:
    cmgr = Cmgr(container("a", 0))
    flap(cmgr, 1)
    assert cmgr.phase() is Phase.HEALTHY
    for number, wait in enumerate((1, 2, 4, 8, 16), start=1):
        cmgr.fault(0, REQUEST)
        cmgr.run()
        cmgr.clears(0, REQUEST)
        cmgr.run()
        assert cmgr.phase() is Phase.WAITING
        assert cmgr.ring().deadline == cmgr.now + seconds(wait)
        assert cmgr.ring().reason == f"the fault came back {number} times in 10 min: is it gone this time?"
        cmgr.wait(wait + 0.1)
        assert (cmgr.phase(), cmgr.booked("a").running) == (Phase.HEALTHY, True)


def test_the_latest_end_counts_though_an_earlier_one_is_told_of_once_more() -> None:
    cmgr = Cmgr(container("a", 0))
    flap(cmgr, 1)
    cmgr.fault(0, REQUEST, "1")
    cmgr.fault(0, REQUEST, "2")
    cmgr.run()
    cmgr.clears(0, REQUEST, "1")
    cmgr.wait(0.5)
    cmgr.clears(0, REQUEST, "2")
    over = cmgr.now
    cmgr.wait(0.1)
    cmgr.clears(0, REQUEST, "1")
    cmgr.run()
    assert cmgr.ring().deadline == over + seconds(1)


def test_a_fault_that_comes_back_while_it_is_doubted_is_waited_for_again() -> None:
    cmgr = Cmgr(container("a", 0))
    flap(cmgr, 4, pause=5)
    assert len(cmgr.sent(StartContainer)) == 4
    for _ in range(100):
        flap(cmgr, 1, pause=1)
    assert (cmgr.phase(), len(cmgr.sent(StartContainer))) == (Phase.WAITING, 4)
    cmgr.wait(300)
    assert (cmgr.phase(), len(cmgr.sent(StartContainer))) == (Phase.HEALTHY, 5)


def test_what_flapped_long_ago_is_believed_at_once_again() -> None:
    cmgr = Cmgr(container("a", 0))
    flap(cmgr, 4, pause=10)
    cmgr.wait(601)
    flap(cmgr, 1)
    assert cmgr.phase() is Phase.HEALTHY


def test_a_flapping_fault_does_not_fill_the_timeline() -> None:
    cmgr = Cmgr(container("a", 0, enabled=False))
    flap(cmgr, 3, pause=1)
    cmgr.log.clear()
    for _ in range(500):
        flap(cmgr, 1, pause=0.1)
    assert len(cmgr.notes()) < 50
    assert cmgr.fault_of(0, REQUEST).count == 503


def test_a_momentary_fault_restarts_the_containers_without_a_reset() -> None:
    cmgr = Cmgr(container("a", 0))
    assert names(cmgr.once(0)) == ["a"]
    cmgr.run()
    assert (cmgr.phase(), cmgr.ring().resets, cmgr.booked("a").running) == (Phase.HEALTHY, (), True)
    assert not cmgr.fault_of(0).active


def test_a_momentary_fault_that_asks_for_isolation_isolates_for_a_clean_period() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.once(0, SEPARATE)
    assert cmgr.node.isolations[ChipId(0)].clean_since == cmgr.now
    cmgr.wait(301)
    assert not cmgr.node.isolations


def test_momentary_news_of_a_lasting_fault_does_not_end_it() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, REQUEST)
    cmgr.run()
    cmgr.once(0, REQUEST)
    assert (cmgr.fault_of(0, REQUEST).active, cmgr.phase()) == (True, Phase.WAITING)


def test_a_momentary_fault_while_the_ring_boots_is_no_failed_reset() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.run_until(Phase.VERIFYING)
    cmgr.once(1)
    cmgr.run()
    assert (cmgr.phase(), len(cmgr.sent(ResetRing)), cmgr.ring().failures) == (Phase.HEALTHY, 1, 0)


def test_a_momentary_fault_of_a_chip_that_is_isolated_while_it_boots_does_not_stay_for_ever() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0)
    cmgr.unbooted = {1}
    cmgr.run_until(Phase.VERIFYING)
    cmgr.once(1)
    cmgr.once(1, SEPARATE)
    cmgr.unbooted = set()
    cmgr.wait(400)
    assert (cmgr.phase(), cmgr.node.isolations) == (Phase.HEALTHY, {})
    assert not cmgr.fault_of(1).active


def test_a_fault_that_was_cleared_again_before_it_was_taken_in_was_there_once() -> None:
    cmgr = Cmgr(container("a", 0))
    merged = facts.FaultReported(ChipId(0), RESET, Assertion.CLEARED, earlier=1)
    assert names(cmgr.tell(merged)) == ["a"]
    assert (cmgr.fault_of(0).momentary, cmgr.fault_of(0).count) == (True, 1)
    cmgr.run()
    assert cmgr.phase() is Phase.HEALTHY


def test_a_lasting_fault_whose_news_were_merged_with_its_end_is_over() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, REQUEST)
    cmgr.run()
    cmgr.faults[0].clear()
    cmgr.tell(facts.FaultReported(ChipId(0), REQUEST, Assertion.CLEARED, earlier=3))
    assert (cmgr.fault_of(0, REQUEST).active, cmgr.fault_of(0, REQUEST).count) == (False, 4)
    cmgr.run()
    assert cmgr.phase() is Phase.HEALTHY


def test_the_end_of_a_fault_that_nobody_knew_of_says_nothing() -> None:
    cmgr = Cmgr(container("a", 0))
    assert cmgr.clears(0) == []
