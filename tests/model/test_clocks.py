"""Clocks that were set between two lives: within one life time runs on the monotonic clock."""

from datetime import timedelta

import pytest

from cmgr.model.values.chips import ChipId
from cmgr.model.values.messages.commands import ResetRing
from cmgr.model.values.rings import Phase
from tests.model.builders import REQUEST, SEPARATE, Cmgr, container, seconds
from tests.model.test_lives import in_phase


@pytest.mark.parametrize("phase", Phase)
def test_a_clock_that_was_set_back_between_two_lives_delays_nothing(phase: Phase) -> None:
    cmgr = in_phase(phase)
    cmgr.now -= timedelta(days=400)
    cmgr.begin()
    assert all(r.deadline is None or r.deadline - cmgr.now <= seconds(600) for r in cmgr.node.rings.values())
    cmgr.wait(300)
    assert (cmgr.phase(), cmgr.held(), cmgr.booked("a").running) == (Phase.HEALTHY, [], True)


def test_a_clock_that_was_set_back_leaves_the_time_that_a_fault_has_yet_to_last() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, REQUEST)
    cmgr.wait(30)
    cmgr.now -= timedelta(days=1)
    cmgr.begin()
    cmgr.wait(59)
    assert (cmgr.phase(), cmgr.ring().resets) == (Phase.WAITING, ())
    cmgr.wait(2)
    assert (cmgr.phase(), len(cmgr.ring().resets)) == (Phase.HEALTHY, 1)


def test_a_clock_that_was_set_back_makes_no_room_for_more_resets() -> None:
    cmgr = Cmgr()
    for _ in range(3):
        cmgr.fault(0)
        cmgr.wait(1)
    cmgr.now -= timedelta(days=1)
    cmgr.begin()
    cmgr.fault(0)
    cmgr.wait(1)
    assert (len(cmgr.sent(ResetRing)), list(cmgr.node.isolations)) == (3, [0])
    cmgr.now += timedelta(hours=7)
    cmgr.clears(0)
    cmgr.wait(301)
    cmgr.fault(0)
    cmgr.wait(1)
    assert (len(cmgr.sent(ResetRing)), cmgr.phase()) == (4, Phase.HEALTHY)


def test_a_clock_that_was_set_back_does_not_prolong_an_isolation() -> None:
    cmgr = Cmgr()
    cmgr.fault(0, SEPARATE)
    cmgr.clears(0, SEPARATE)
    cmgr.wait(100)
    cmgr.now -= timedelta(days=1)
    cmgr.begin()
    cmgr.wait(302)
    assert ChipId(0) not in cmgr.node.isolations


def test_a_clock_that_was_set_forward_makes_only_what_is_due_by_it_happen_at_once() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, REQUEST)
    cmgr.run()
    cmgr.now += timedelta(days=400)
    cmgr.begin()
    cmgr.run()
    assert (cmgr.phase(), len(cmgr.sent(ResetRing)), cmgr.booked("a").running) == (Phase.HEALTHY, 1, True)
