"""The lines that the notes of one step make in the log: each its own, but those of a chip's storm one together."""

from collections.abc import Iterator, Sequence

from cmgr.frozen import dataclass
from cmgr.model.values.faults import Assertion
from cmgr.model.values.messages.commands import Note, NoteKind
from cmgr.service.log.journal import fields_of
from cmgr.service.log.writer import Fields

FEW = 8
"""So many faults of a chip have a line each where they come in one step.

Of a service that brings more than 10,000 lines in 30 s, or a few times that where the disk is large, journald drops the
rest, the grave ones with the others (RateLimitBurst= in journald.conf(5)). One chip may tell of 2,000 faults a second.
"""

_TOLD = {Assertion.OCCURRED: "now", Assertion.ONCE: "once", Assertion.CLEARED: "no longer"}


@dataclass(frozen=True, slots=True)
class Said:
    """A line of the timeline in the log: of which kind, in which words, with which fields."""

    kind: NoteKind
    text: str
    fields: Fields


def said(notes: Sequence[Note]) -> Iterator[Said]:
    """Yield the lines, in the order of the notes; one for many faults stands where the first of them stood."""
    together = _together(notes) if len(notes) > FEW else {}
    for place, note in enumerate(notes):
        storm = together.get(place)
        if storm is None:
            yield Said(note.kind, _with_episode(note, note.text), fields_of(note))
        elif storm[0] == place:
            yield _of_storm([notes[each] for each in storm])


def _together(notes: Sequence[Note]) -> dict[int, list[int]]:
    """Return for the place of each note that has no line of its own the places of all that share its line."""
    alike: dict[tuple[object, ...], list[int]] = {}
    for place, note in enumerate(notes):
        if note.fault is not None and note.fault.assertion is not None:
            alike.setdefault((note.chip, note.episode, note.fault.level, note.fault.handling), []).append(place)
    return {place: storm for storm in alike.values() if len(storm) > FEW for place in storm}


def _of_storm(notes: Sequence[Note]) -> Said:
    faults, first = [note.fault for note in notes if note.fault is not None], notes[0]
    codes = {how: [fault.code for fault in faults if fault.assertion is how] for how in _TOLD}
    told = "; ".join(f"{_TOLD[how]} {', '.join(some)}" for how, some in codes.items() if some)
    where = "the machine" if first.chip is None else f"chip {first.chip}"
    text = f"{where} reports {len(faults)} faults at once, level {faults[0].handling}: {told}"
    fields: Fields = {
        **fields_of(first),
        "CMGR_CODE": tuple(fault.code for fault in faults),
        "CMGR_ASSERTION": tuple(str(how) for how, some in codes.items() if some),
    }
    return Said(first.kind, _with_episode(first, text), fields)


def _with_episode(note: Note, text: str) -> str:
    return f"[episode {note.episode}] {text}" if note.episode else text
