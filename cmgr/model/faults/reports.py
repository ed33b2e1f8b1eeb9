"""Faults that other programs report: booked, renewed, and ended by their reporter, by time, or by a reset.

They are no read-out's business: what a driver does not list it cannot clear.
"""

from datetime import datetime

from cmgr.frozen import replace
from cmgr.model.faults.occurrences import Occurrence, clear, occurred
from cmgr.model.turn import Turn
from cmgr.model.values.faults import Fault, FaultClass, FaultKey
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.messages.facts import ReportOrdered
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Ring
from cmgr.sentences.sentence import say


def reported(turn: Turn, fact: ReportOrdered) -> None:
    """Take in a report: of a fault that is there until then, or of one that is over."""
    if fact.until is None:
        for fault in _of(turn.node, fact):
            clear(turn, fault, changed=turn.at)
        return
    for chip in sorted(fact.chips & turn.node.chips.keys()):
        key = FaultKey(fact.code, fact.module)
        known = turn.node.faults.get(chip, {}).get(key)
        if known is not None:
            # It is there still, and no other occurrence.
            turn.put_fault(replace(known, changed=turn.at, until=fact.until, highest=fact.highest))
            continue
        text = say("fault.reported", who=fact.who, code=fact.code, module=fact.module, chip=chip)
        turn.note(NoteKind.FAULT, text, turn.ring_of(chip), chip=chip)
        occurred(turn, Occurrence(chip, key, None, until=fact.until, highest=fact.highest))


def _of(node: Node, fact: ReportOrdered) -> list[Fault]:
    """Return the active faults that the report says are over: on its chips, or on all where it names none."""
    faults = [f for known in node.faults.values() for f in known.values()]
    return [
        f for f in faults if (f.code, f.module) == (fact.code, fact.module) and (not fact.chips or f.chip in fact.chips)
    ]


def lapse_reports(turn: Turn) -> None:
    """End the faults whose reporter has been silent for too long."""
    for known in list(turn.node.faults.values()):
        for fault in [f for f in known.values() if f.until is not None and f.until <= turn.at]:
            text = say("fault.not-reported-again", code=fault.code, module=fault.module, chip=fault.chip)
            turn.note_fault(fault, text)
            clear(turn, fault)


def ended_by_reset(turn: Turn, ring: Ring) -> None:
    """End what was reported of the ring before its reset: its reporter knows whether it is still there."""
    for chip in ring.chips:
        known = turn.node.faults.get(chip, {}).values()
        for fault in [f for f in known if f.fault_class is FaultClass.REPORTED]:
            clear(turn, fault)


def lapses(node: Node) -> list[datetime | None]:
    """Return when time ends reported faults."""
    return [f.until for known in node.faults.values() for f in known.values()]
