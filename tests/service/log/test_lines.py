"""The lines that a step's notes make: each its own, but those of a storm together."""

from cmgr.model.values.chips import ChipId, RingId
from cmgr.model.values.faults import Assertion, FaultCode
from cmgr.model.values.messages.commands import FaultSaid, Note, NoteKind
from cmgr.service.log.journal import encoded, fields_of
from cmgr.service.log.lines import FEW, Said, said
from tests.support.picture import T0

ENTERED = Note(T0, NoteKind.PHASE, "draining → resetting", RingId(0), 7)


def fault(number: int, assertion: Assertion | None = Assertion.OCCURRED, chip: int = 0, level: str = "Low") -> Note:
    told = FaultSaid(FaultCode(f"9A{number:06}"), level, level, assertion)
    return Note(T0, NoteKind.FAULT, f"chip {chip} tells of {number}", RingId(0), 7, ChipId(chip), card=1, fault=told)


def alone(note: Note) -> Said:
    return Said(note.kind, f"[episode 7] {note.text}", fields_of(note))


def test_each_note_has_a_line_of_its_own_also_where_every_chip_of_a_machine_faults() -> None:
    notes = [*(fault(n) for n in range(FEW)), ENTERED, *(fault(n, chip=n) for n in range(1, 64))]
    assert [*said(notes)] == [alone(note) for note in notes]


def test_a_storm_of_one_chip_is_one_line_that_names_every_code_and_hides_nothing_else() -> None:
    storm = [fault(n, (Assertion.OCCURRED, Assertion.ONCE, Assertion.CLEARED)[n % 3]) for n in range(FEW + 1)]
    grave, other, judged = fault(90, level="RestartNPU"), fault(91, chip=1), fault(92, None)
    first, *rest = said([grave, *storm[:2], ENTERED, *storm[2:], other, judged])
    assert first == alone(grave)
    assert rest[0].text == (
        "[episode 7] chip 0 reports 9 faults at once, level Low: now 9A000000, 9A000003, 9A000006; "
        "once 9A000001, 9A000004, 9A000007; no longer 9A000002, 9A000005, 9A000008"
    )
    assert rest[1:] == [alone(note) for note in (ENTERED, other, judged)]


def test_the_journal_finds_a_line_of_a_storm_by_each_of_its_codes() -> None:
    (line,) = said([fault(n) for n in range(FEW + 1)])
    entry = encoded(line.fields).decode().splitlines()
    assert [field for field in entry if field.startswith("CMGR_CODE=")] == [f"CMGR_CODE=9A{n:06}" for n in range(9)]
    assert {"CMGR_CHIP=0", "CMGR_LEVEL=Low", "CMGR_ASSERTION=occurred", "CMGR_EPISODE=7"} <= {*entry}
