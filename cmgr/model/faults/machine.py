"""Faults of the machine: booked, counted, and over when their source no longer finds them, or by time.

Nothing is stopped, reset or isolated for them: while a grave one is there, nothing new is to be started on any chip.
"""

from datetime import datetime, timedelta

from cmgr.frozen import replace
from cmgr.model.turn import Turn
from cmgr.model.values.faults import Assertion, FaultCode, Handling
from cmgr.model.values.handling.catalog import is_of_machine, normal_code
from cmgr.model.values.machine import MachineFault, MachineKey, Symptom
from cmgr.model.values.messages.facts import MachineTold
from cmgr.model.values.node import Node
from cmgr.model.values.troubles import TroubleKind, trouble_id
from cmgr.sentences.sentence import say
from cmgr.words import one_line

MOST = 256
"""Faults of one source that are booked at once."""

MOST_LETTERS = 200
"""Of what a source says of a fault, and of the name of its part."""


def machine_told(turn: Turn, fact: MachineTold) -> None:
    """Take in all that a source of the machine's faults finds now."""
    watched = turn.node.watched - {fact.source} if fact.off else turn.node.watched | {fact.source}
    if watched != turn.node.watched:
        turn.node = replace(turn.node, watched=watched)
    found = _fit(turn.node, fact)
    for key, symptom in found.items():
        _found(turn, fact.source, key, symptom)
    for fault in [f for f in turn.node.machine_faults.values() if f.source == fact.source and f.key not in found]:
        if not fault.mark:
            turn.note_machine_fault(fault, say("machine.gone", fault=words(fault)), Assertion.CLEARED)
        if not fault.mark or not fault.active:
            turn.drop_machine_fault(fault.key)


def _fit(node: Node, fact: MachineTold) -> dict[MachineKey, Symptom]:
    """Return the symptoms that can be booked. Sources read what anybody may have written."""
    names = {container.key.id: container.name for container in node.containers.values()}
    found: dict[MachineKey, Symptom] = {}
    for symptom in fact.found:
        code = normal_code(symptom.code)
        part = names.get(symptom.container, "") if symptom.container else _short(symptom.part)
        if code is None or not is_of_machine(code) or (symptom.container and not part):
            continue
        if len(found) < MOST or (code, part) in found:
            found[code, part] = replace(symptom, text=_short(symptom.text))
    return found


def _short(text: str) -> str:
    told = one_line(text)
    return told if len(told) <= MOST_LETTERS else told[:MOST_LETTERS]


def _found(turn: Turn, source: str, key: MachineKey, symptom: Symptom) -> None:
    known, (code, part), at = turn.node.machine_faults.get(key), key, turn.at
    if known is not None and known.source == source and known.mark == symptom.mark:
        # The same as before, be it there or over.
        if known.text != symptom.text:
            turn.put_machine_fault(replace(known, text=symptom.text))
        return
    happened = at - max(symptom.age or timedelta(), timedelta())
    until = happened + turn.node.policy.machine_quiet if symptom.mark else None
    over = until is not None and until <= at
    goes_on = known is not None and known.active
    fault = MachineFault(
        code, part, source, _judged(turn.node, code, symptom.grave),
        known.since if known is not None and goes_on else happened, happened, symptom.text,
        count=known.count + 1 if known is not None else 1,
        mark=symptom.mark, grave=symptom.grave, until=until, cleared=at if over else None,
    )  # fmt: skip
    turn.put_machine_fault(fault)
    if not goes_on and not over:
        origin = turn.node.catalog.judge(code, None).origin
        text = say("machine.reports", fault=words(fault), level=fault.handling.name, origin=origin)
        turn.note_machine_fault(fault, text, Assertion.OCCURRED)


def _judged(node: Node, code: FaultCode, grave: bool) -> Handling:
    handling = node.catalog.judge(code, None).handling
    return max(handling, Handling.PreSeparateNPU) if grave else handling


def words(fault: MachineFault) -> str:
    """Return in words which fault it is."""
    named = say("machine.fault-on", code=fault.code, part=fault.part) if fault.part else fault.code
    return say("machine.fault-and", fault=named, text=fault.text) if fault.text else named


def relevel_machine(turn: Turn) -> None:
    """Judge every fault anew: the table may be another."""
    for fault in [*turn.node.machine_faults.values()]:
        handling = _judged(turn.node, fault.code, fault.grave)
        if handling is not fault.handling:
            judged = replace(fault, handling=handling)
            turn.put_machine_fault(judged)
            if fault.active:
                before = fault.handling.name
                text = say("machine.changed", fault=words(fault), level=handling.name, before=before)
                turn.note_machine_fault(judged, text)


def lapse_machine(turn: Turn) -> None:
    """End what happened long ago and has not happened again."""
    for fault in [f for f in turn.node.machine_faults.values() if f.active and f.until and f.until <= turn.at]:
        turn.put_machine_fault(replace(fault, cleared=turn.at))
        text = say("machine.quiet", fault=words(fault), length=turn.node.policy.machine_quiet)
        turn.note_machine_fault(fault, text, Assertion.CLEARED)


def trouble_of(code: FaultCode) -> str:
    """Return the id of the trouble that tells of all faults with this code."""
    return trouble_id(TroubleKind.MACHINE, code)


def seen_to(turn: Turn, trouble: str, who: str) -> None:
    """End what happened, because a person says that it is seen to. Whatever is so now stays so."""
    alike = [f for f in turn.node.machine_faults.values() if trouble_of(f.code) == trouble]
    for fault in [f for f in alike if f.active and f.mark]:
        turn.put_machine_fault(replace(fault, cleared=turn.at))
        turn.note_machine_fault(fault, say("machine.seen-to", who=who, fault=words(fault)), Assertion.CLEARED)


def machine_restarted(turn: Turn, sources: tuple[str, ...]) -> None:
    """Fit what the last life left to the sources of this one, and to a clock that was set back since."""
    for fault in [*turn.node.machine_faults.values()]:
        if not fault.mark and fault.source not in sources:
            turn.drop_machine_fault(fault.key)
            turn.note_machine_fault(fault, say("machine.unwatched", fault=words(fault)), Assertion.CLEARED)
            continue
        back = max(fault.changed - turn.at, timedelta())
        if back:
            until = fault.until - back if fault.until is not None else None
            moved = replace(fault, since=min(fault.since, turn.at), changed=turn.at, until=until)
            turn.put_machine_fault(moved)


def machine_lapses(node: Node) -> list[datetime | None]:
    """Return when time ends faults of the machine."""
    return [f.until for f in node.machine_faults.values() if f.active]
