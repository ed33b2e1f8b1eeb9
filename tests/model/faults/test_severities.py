"""A code in no table means the same, whoever tells of it: an event, a read-out, one after a restart."""

from dataclasses import replace

import pytest

from cmgr.model.values.chips import ChipId, ChipReport, Reported
from cmgr.model.values.faults import Level, Severity
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import ReadRing
from tests.model.builders import MINOR, Cmgr, container

UNKNOWN = "8000ABCD"


def cmgr_with_unknown(**severities: int | None) -> Cmgr:
    """Return one whose chip 0 has the code of an unknown fault, told by an event and by a read-out, as given."""
    cmgr = Cmgr(container("a", 0))
    for told, severity in severities.items():
        if told.startswith("event"):
            cmgr.fault(0, UNKNOWN, severity=severity)
        else:
            read(cmgr, Reported(UNKNOWN, severity))
    return cmgr


def read(cmgr: Cmgr, *faults: Reported, unasked: tuple[str, ...] = ()) -> None:
    """Have the ring read; its first chip says this."""
    cmgr.faults[0] = {fault.code for fault in faults}
    cmgr.wait(1)
    cmgr.tell(facts.Resync())
    reports = tuple(ChipReport(chip.id, faults=faults if chip.id == 0 else (), unasked=unasked) for chip in cmgr.chips)
    cmgr.answer(ReadRing, reports=reports)


def grade(cmgr: Cmgr) -> tuple[Level, Severity | None]:
    (fault,) = cmgr.node.faults[ChipId(0)].values()
    return fault.level, fault.severity


HARMLESS, GRAVE = (Level.NotHandleFault, Severity.minor), (Level.SeparateNPU, Severity.critical)


@pytest.mark.parametrize(
    ("told", "then"),
    [
        ({"event": 1}, HARMLESS),
        ({"reading": 1}, HARMLESS),
        ({"event": 3}, GRAVE),
        ({"reading": 3}, GRAVE),
        ({"reading": None}, (Level.SeparateNPU, None)),
        # An event says how grave it is, a read-out says how grave it is at most.
        ({"event": 1, "reading": 3}, HARMLESS),
        ({"event": 1, "reading": None}, HARMLESS),
        ({"event": 3, "reading": 1}, HARMLESS),
        ({"reading": 3, "event": 1}, HARMLESS),
        ({"reading": None, "event": 1}, HARMLESS),
        ({"reading": 1, "event": 3}, GRAVE),
        ({"reading": None, "reading_again": 1}, HARMLESS),
        ({"reading": 3, "reading_again": None}, GRAVE),
    ],
)
def test_the_least_that_a_driver_has_said_of_a_fault_counts(
    told: dict[str, int | None], then: tuple[Level, Severity | None]
) -> None:
    assert grade(cmgr_with_unknown(**told)) == then


def test_a_chip_that_was_isolated_before_the_driver_said_that_it_is_nothing_is_clean_from_then_on() -> None:
    cmgr = cmgr_with_unknown(reading=3)
    assert cmgr.node.isolations[ChipId(0)].clean_since is None
    read(cmgr, Reported(UNKNOWN, 1))
    assert f"{UNKNOWN} on chip 0 is NotHandleFault now; it was SeparateNPU" in cmgr.notes()
    assert cmgr.node.isolations[ChipId(0)].clean_since == cmgr.now


def test_an_event_that_changes_a_level_says_so() -> None:
    cmgr = cmgr_with_unknown(reading=None, event=1)
    assert f"{UNKNOWN} on chip 0 is NotHandleFault now; it was SeparateNPU" in cmgr.notes()


def test_what_an_event_has_said_is_kept_over_a_restart() -> None:
    cmgr = cmgr_with_unknown(event=1)
    cmgr.begin()
    cmgr.run()
    read(cmgr, Reported(UNKNOWN, 3))
    assert grade(cmgr) == HARMLESS


def test_what_an_event_has_said_is_kept_a_while_when_the_fault_is_over() -> None:
    cmgr = cmgr_with_unknown(event=1)
    cmgr.clears(0, UNKNOWN)
    cmgr.wait(1)
    read(cmgr, Reported(UNKNOWN, 3))
    assert grade(cmgr) == HARMLESS


def test_an_old_read_out_says_nothing_of_a_fault_that_an_event_spoke_of_since() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.tell(facts.Resync())
    cmgr.fault(0, UNKNOWN, severity=3)
    asked = next(c for c in cmgr.pending if isinstance(c, ReadRing))
    faults = (Reported(UNKNOWN, 1),)
    reports = tuple(ChipReport(c.id, faults=faults if c.id == 0 else ()) for c in cmgr.chips)
    cmgr.pending.remove(asked)
    cmgr.tell(facts.RingRead(asked.id, asked.ring, reports))
    assert grade(cmgr) == GRAVE


def test_a_code_in_the_table_has_its_level_whatever_is_said_of_it() -> None:
    cmgr = Cmgr(container("a", 0))
    cmgr.fault(0, MINOR, severity=3)
    read(cmgr, Reported(MINOR, 1))
    assert grade(cmgr) == (Level.NotHandleFault, Severity.minor)
    assert not cmgr.node.isolations


def test_faults_whose_codes_were_not_asked_for_are_as_they_were() -> None:
    cmgr = Cmgr(container("a", 0))
    other = "8001ABCD"
    cmgr.fault(0, UNKNOWN, severity=1)
    cmgr.fault(0, other, severity=1)
    read(cmgr, unasked=("8001", "8002"))
    assert [fault.code for fault in cmgr.node.faults[ChipId(0)].values()] == [other]
    read(cmgr)
    assert not cmgr.node.faults.get(ChipId(0))


def test_a_fault_may_be_told_of_though_codes_like_it_were_not_asked_for() -> None:
    cmgr = Cmgr(container("a", 0))
    read(cmgr, Reported(UNKNOWN, 1), unasked=("8000",))
    assert grade(cmgr) == HARMLESS
    assert replace(cmgr.node.reports[ChipId(0)], unasked=()) == ChipReport(ChipId(0), faults=(Reported(UNKNOWN, 1),))
