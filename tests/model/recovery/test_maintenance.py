"""Maintenance: recoveries are recorded and not acted on; when it ends, what is true then is acted on."""

from dataclasses import replace
from datetime import timedelta

import pytest

from cmgr.model.reduce import next_deadline
from cmgr.model.values.chips import ChipId
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import ListContainers, NoteKind, ReadRing, ResetRing, StartContainer
from cmgr.model.values.rings import Phase
from cmgr.model.values.standing import Maintenance
from cmgr.words import stamp
from tests.model.builders import REQUEST, RESET, Cmgr, container, names, seconds

WHO = "uid 0 (root)"
MS = timedelta(milliseconds=1)


def begins(cmgr: Cmgr, time: float | None = None) -> None:
    until = None if time is None else cmgr.now + seconds(time)
    cmgr.tell(facts.MaintenanceOrdered(on=True, who=WHO, until=until))


def ends(cmgr: Cmgr) -> None:
    cmgr.tell(facts.MaintenanceOrdered(on=False, who=WHO))


def test_a_fault_is_recorded_and_nothing_is_done() -> None:
    cmgr = Cmgr(container("a", 0))
    begins(cmgr)
    cmgr.fault(0)
    cmgr.wait(600)
    assert (cmgr.notes(NoteKind.ACTION)[-1], names(cmgr.log), cmgr.sent(ResetRing)) == ("would stop a", [], [])
    assert cmgr.node.maintenance is not None
    until = stamp(cmgr.node.maintenance.until or cmgr.now)
    assert cmgr.ring().reason == f"maintenance until {until}: it would recover chips 0-3 of {RESET}"


def test_until_when_stands_in_the_reason() -> None:
    cmgr = Cmgr()
    begins(cmgr, 7200)
    cmgr.fault(0)
    cmgr.run()
    assert cmgr.node.maintenance is not None
    assert cmgr.ring().reason.startswith("maintenance until 2026-01-01T02:00:00.0")
    assert cmgr.ring().deadline == cmgr.node.maintenance.until


@pytest.mark.parametrize("by_hand", [True, False])
def test_at_its_end_what_is_true_then_is_acted_on(by_hand: bool) -> None:
    cmgr = Cmgr(container("a", 0), container("b", 4))
    begins(cmgr, None if by_hand else 3600)
    cmgr.fault(0)
    cmgr.fault(4)
    cmgr.wait(1800)
    cmgr.clears(4)
    cmgr.run()
    cmgr.log.clear()
    if by_hand:
        ends(cmgr)
    else:
        cmgr.wait(1801, run=False)
    assert cmgr.node.maintenance is None
    assert names(cmgr.log) == ["a"]
    assert [c.reason for c in cmgr.sent(ListContainers)] == ["maintenance is over"]
    assert {c.ring for c in cmgr.sent(ReadRing)} == {0, 4}
    cmgr.run()
    assert (cmgr.phase(), len(cmgr.sent(ResetRing)), cmgr.booked("a").running) == (Phase.HEALTHY, 1, True)


def test_its_end_is_a_deadline() -> None:
    cmgr = Cmgr()
    begins(cmgr, 60)
    assert cmgr.node.maintenance is not None
    assert next_deadline(cmgr.node, cmgr.now) == cmgr.node.maintenance.until


def test_what_is_held_when_it_begins_stays_down_until_it_ends_and_says_so() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, REQUEST)
    cmgr.run()
    begins(cmgr)
    told = f"maintenance is begun by {WHO}, for 4 h: recoveries are not acted on; what is held (1)"
    assert any(note.startswith(told) for note in cmgr.notes(NoteKind.ACTION))
    cmgr.clears(0, REQUEST)
    cmgr.wait(600)
    assert (cmgr.phase(), cmgr.held(), cmgr.sent(StartContainer)) == (Phase.HEALTHY, ["a"], [])
    ends(cmgr)
    cmgr.run()
    assert (cmgr.held(), cmgr.booked("a").running) == ([], True)


def test_one_without_a_stated_length_ends_by_itself_after_four_hours_across_restarts_and_says_so() -> None:
    cmgr = Cmgr(container("a", 0))
    begins(cmgr)
    begun = cmgr.now
    cmgr.fault(0)
    cmgr.begin()
    cmgr.wait(4 * 3600 - 60)
    assert (cmgr.node.maintenance is not None, names(cmgr.log)) == (True, [])
    cmgr.wait(60)
    assert (cmgr.node.maintenance, cmgr.booked("a").running, cmgr.now - begun < timedelta(hours=5)) == (
        None,
        True,
        True,
    )
    told = "maintenance is over: nobody ended it, and its time is over; what is true now is acted on"
    assert told in cmgr.notes(NoteKind.WARNING)


def test_one_that_was_over_while_cmgr_was_down_is_told_at_the_start() -> None:
    cmgr = Cmgr()
    begins(cmgr, 60)
    cmgr.now += seconds(3600)
    cmgr.begin()
    assert cmgr.node.maintenance is None
    assert any("nobody ended it" in note for note in cmgr.notes(NoteKind.WARNING))


def test_one_without_an_end_that_an_older_cmgr_began_gets_one_at_the_start() -> None:
    cmgr = Cmgr()
    cmgr.node = replace(cmgr.node, maintenance=Maintenance(cmgr.now, None, WHO))
    cmgr.begin()
    assert cmgr.node.maintenance == Maintenance(cmgr.now - MS, cmgr.now + timedelta(hours=4), WHO)


def test_a_second_order_changes_its_end_and_not_its_beginning() -> None:
    cmgr = Cmgr()
    begins(cmgr, 60)
    before = cmgr.node.maintenance
    cmgr.wait(30)
    begins(cmgr, 7200)
    after = cmgr.node.maintenance
    assert before is not None
    assert after is not None
    assert after.since == before.since
    assert after.until is not None
    assert after.until - after.since > timedelta(hours=2)


def test_one_that_would_be_over_already_is_none() -> None:
    cmgr = Cmgr()
    assert cmgr.tell(facts.MaintenanceOrdered(on=True, who=WHO, until=cmgr.now)) == []
    assert cmgr.node.maintenance is None
    assert cmgr.tell(facts.MaintenanceOrdered(on=False, who=WHO)) == []


def test_it_outlives_a_restart_and_ends_in_time() -> None:
    cmgr = Cmgr(container("a", 0))
    begins(cmgr, 600)
    cmgr.fault(0)
    cmgr.run()
    cmgr.begin()
    cmgr.run()
    assert (cmgr.node.maintenance is not None, names(cmgr.log)) == (True, [])
    cmgr.wait(601)
    assert (cmgr.node.maintenance, cmgr.booked("a").running, len(cmgr.sent(ResetRing))) == (None, True, 1)


def test_a_clock_that_was_set_back_between_two_lives_does_not_prolong_it() -> None:
    cmgr = Cmgr()
    begins(cmgr, 600)
    cmgr.now -= timedelta(days=1)
    cmgr.begin()
    cmgr.run()
    cmgr.wait(601)
    assert cmgr.node.maintenance is None


def test_a_reset_that_was_ordered_before_waits_and_lapses() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.tell(facts.ResetOrdered(ChipId(1), WHO))
    begins(cmgr)
    cmgr.wait(30)
    assert cmgr.ring().reason.endswith(": it would reset chips 0-3")
    cmgr.wait(600)
    assert (cmgr.phase(), cmgr.sent(ResetRing), dict(cmgr.node.reset_orders)) == (Phase.HEALTHY, [], {})
