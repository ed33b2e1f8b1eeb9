"""Read-outs against events: each is the truth about what the other has not spoken of since."""

from dataclasses import replace
from datetime import timedelta

import pytest

from cmgr.model.faults import occurrences
from cmgr.model.values.chips import ChipId, ChipReport, Reported, RingId
from cmgr.model.values.faults import Assertion, FaultCode, FaultKey, Severity
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import NoteKind, ReadRing
from cmgr.model.values.rings import Phase
from tests.model.builders import MINOR, REQUEST, RESET, Cmgr, container, names


def active(cmgr: Cmgr, chip: int = 0) -> list[str]:
    return sorted(f"{f.code}/{f.module}" for f in cmgr.node.faults.get(ChipId(chip), {}).values())


def resync(cmgr: Cmgr) -> None:
    cmgr.tell(facts.Resync())
    cmgr.run()


def test_a_fault_whose_event_was_lost_is_found_by_reading() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.faults[0].add(RESET)
    cmgr.tell(facts.Resync())
    cmgr.run(ReadRing)
    assert (active(cmgr), cmgr.held()) == ([f"{RESET}/"], ["a"])


def test_a_fault_whose_end_was_lost_is_cleared_by_reading() -> None:
    cmgr = Cmgr()
    cmgr.fault(0, MINOR)
    cmgr.faults[0].clear()
    resync(cmgr)
    assert active(cmgr) == []


def test_an_old_read_out_does_not_clear_a_newer_fault() -> None:
    cmgr = Cmgr()
    cmgr.tell(facts.Resync())
    cmgr.tell(facts.FaultReported(ChipId(0), MINOR, Assertion.OCCURRED))
    cmgr.run()
    assert active(cmgr) == [f"{MINOR}/"]


def test_an_old_read_out_does_not_revive_a_fault_that_was_cleared_since() -> None:
    cmgr = Cmgr()
    cmgr.fault(0, MINOR)
    cmgr.tell(facts.Resync())
    cmgr.tell(facts.FaultReported(ChipId(0), MINOR, Assertion.CLEARED))
    cmgr.run()
    assert active(cmgr) == []
    resync(cmgr)
    assert active(cmgr) == [f"{MINOR}/"]


def test_an_answer_that_nobody_waits_for_changes_nothing() -> None:
    cmgr = Cmgr()
    resync(cmgr)
    old = cmgr.sent(ReadRing)[0]
    stale = facts.RingRead(old.id, old.ring, (ChipReport(ChipId(0), faults=(Reported(RESET),)),))
    assert cmgr.tell(stale) == []
    assert cmgr.tell(replace(stale, ring=RingId(77))) == []
    cmgr.tell(facts.Resync())
    assert cmgr.tell(stale) == []
    assert active(cmgr) == []


def test_a_fault_found_by_reading_and_its_event_are_one_fault() -> None:
    cmgr = Cmgr()
    cmgr.faults[0].add(MINOR)
    resync(cmgr)
    since = cmgr.fault_of(0, MINOR).since
    cmgr.fault(0, MINOR, "1.2")
    assert (active(cmgr), cmgr.fault_of(0, MINOR, "1.2").since) == ([f"{MINOR}/1.2"], since)


def test_the_same_code_of_two_modules_is_two_faults_and_a_read_out_without_it_clears_both() -> None:
    cmgr = Cmgr()
    cmgr.fault(0, MINOR, "1.2")
    cmgr.fault(0, MINOR, "3.4")
    assert active(cmgr) == [f"{MINOR}/1.2", f"{MINOR}/3.4"]
    resync(cmgr)
    assert active(cmgr) == [f"{MINOR}/1.2", f"{MINOR}/3.4"]
    cmgr.faults[0].clear()
    resync(cmgr)
    assert active(cmgr) == []


def test_the_end_of_a_fault_of_one_module_leaves_the_others() -> None:
    cmgr = Cmgr()
    cmgr.fault(0, MINOR, "1.2")
    cmgr.fault(0, MINOR, "3.4")
    cmgr.tell(facts.FaultReported(ChipId(0), MINOR, Assertion.CLEARED, "1.2"))
    assert active(cmgr) == [f"{MINOR}/3.4"]


def test_a_chip_that_does_not_answer_or_has_not_booted_says_nothing_of_its_faults() -> None:
    cmgr = Cmgr()
    cmgr.fault(0, MINOR)
    cmgr.fault(1, MINOR)
    cmgr.silent, cmgr.unbooted = {0}, {1}
    resync(cmgr)
    assert (active(cmgr, 0), active(cmgr, 1)) == ([f"{MINOR}/"], [f"{MINOR}/"])


def test_a_read_out_judges_a_code_in_no_table_by_its_severity() -> None:
    cmgr = Cmgr()
    cmgr.tell(facts.Resync())
    command = cmgr.sent(ReadRing)[0]
    told = (Reported("AB", 1), Reported("CD", 99), Reported("no code"))
    cmgr.answer(ReadRing, reports=(ChipReport(ChipId(0), faults=told),))
    assert command.chips == (0, 1, 2, 3)
    assert active(cmgr) == ["000000AB/", "000000CD/"]
    assert cmgr.node.faults[ChipId(0)][FaultKey(FaultCode("000000AB"), "")].severity is Severity.minor
    assert list(cmgr.node.isolations) == [0]


def test_a_chip_whose_events_were_lost_is_read() -> None:
    cmgr = Cmgr()
    cmgr.faults[5].add(RESET)
    cmgr.tell(facts.ReadNeeded(ChipId(5)))
    assert [c.ring for c in cmgr.sent(ReadRing)] == [4]
    assert cmgr.tell(facts.ReadNeeded(ChipId(99))) == []
    cmgr.run(ReadRing)
    assert cmgr.phase(4) is Phase.LISTING


def test_lost_events_while_a_read_out_is_under_way_ask_for_one_more() -> None:
    cmgr = Cmgr()
    for _ in range(100):
        cmgr.tell(facts.ReadNeeded(ChipId(0)))
    assert len(cmgr.sent(ReadRing)) == 1
    cmgr.answer(ReadRing)
    assert len(cmgr.sent(ReadRing)) == 2
    cmgr.run()
    assert len(cmgr.sent(ReadRing)) == 2


def test_a_fault_that_comes_back_soon_is_the_same_fault_and_later_a_new_one() -> None:
    cmgr = Cmgr()
    cmgr.fault(0, MINOR)
    first = cmgr.fault_of(0, MINOR)
    cmgr.clears(0, MINOR)
    cmgr.wait(60)
    cmgr.fault(0, MINOR)
    again = cmgr.fault_of(0, MINOR)
    assert (again.since, again.count, again.risen > first.risen) == (first.since, 2, True)
    cmgr.clears(0, MINOR)
    cmgr.wait(301)
    resync(cmgr)
    assert not cmgr.node.faults
    cmgr.fault(0, MINOR)
    assert cmgr.fault_of(0, MINOR).count == 1


def test_faults_that_are_over_are_forgotten_and_others_are_not() -> None:
    cmgr = Cmgr()
    cmgr.fault(0, MINOR)
    cmgr.fault(1, MINOR)
    cmgr.clears(1, MINOR)
    resync(cmgr)
    cmgr.now += timedelta(minutes=6)
    resync(cmgr)
    assert list(cmgr.node.faults) == [0]


def test_a_storm_of_different_faults_does_not_fill_the_memory() -> None:
    cmgr = Cmgr()
    for number in range(1, occurrences.MOST_REMEMBERED + 100):
        cmgr.tell(facts.FaultReported(ChipId(0), f"{number:X}", Assertion.ONCE, severity=0))
    past = cmgr.node.past_faults[ChipId(0)]
    assert occurrences.MOST_REMEMBERED <= len(past) < occurrences.MOST_REMEMBERED + occurrences.FORGOTTEN_AT_ONCE
    assert FaultKey(FaultCode("00000001"), "") not in past


def test_no_active_fault_is_forgotten_in_a_storm() -> None:
    cmgr = Cmgr()
    for number in range(1, occurrences.MOST_REMEMBERED + 100):
        cmgr.tell(facts.FaultReported(ChipId(0), f"{number:X}", Assertion.OCCURRED, severity=0))
    assert len(active(cmgr)) == occurrences.MOST_REMEMBERED + 99


@pytest.mark.parametrize("assertion", [Assertion.OCCURRED, Assertion.ONCE])
def test_occurrences_that_were_merged_are_counted(assertion: Assertion) -> None:
    cmgr = Cmgr()
    cmgr.tell(facts.FaultReported(ChipId(0), MINOR, assertion, earlier=4))
    assert cmgr.fault_of(0, MINOR).count == 5


def test_faults_survive_a_restart_until_a_read_out_says_otherwise() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, REQUEST)
    cmgr.run()
    cmgr.begin()
    assert active(cmgr) == [f"{REQUEST}/"]
    cmgr.faults[0].clear()
    cmgr.run()
    assert (active(cmgr), cmgr.phase(), cmgr.booked("a").running) == ([], Phase.HEALTHY, True)


def test_a_read_out_speaks_in_the_timeline_as_an_event_does() -> None:
    cmgr = Cmgr()
    cmgr.faults[0].add(MINOR)
    resync(cmgr)
    cmgr.faults[0].clear()
    resync(cmgr)
    assert cmgr.notes(NoteKind.FAULT) == [
        f"chip 0 reports {MINOR} now: level NotHandleFault (a test)", f"chip 0 no longer reports {MINOR}",
    ]  # fmt: skip
    assert names(cmgr.log) == []


def test_chips_that_are_silent_for_longer_are_in_the_timeline_once_and_so_is_their_answer() -> None:
    cmgr = Cmgr()
    cmgr.silent = {0}
    resync(cmgr)
    assert cmgr.notes(NoteKind.WARNING) == [], "a driver that begins again is silent for a moment"
    for _ in range(3):
        cmgr.wait(20)
        resync(cmgr)
    (told,) = cmgr.notes(NoteKind.WARNING)
    assert told.startswith("ring 0 does not answer: chip 0: ")
    cmgr.silent = set()
    resync(cmgr)
    _, back = cmgr.notes(NoteKind.WARNING)
    assert back.startswith("ring 0 answers again, after ")
    assert not cmgr.node.rings[RingId(0)].silence_told
