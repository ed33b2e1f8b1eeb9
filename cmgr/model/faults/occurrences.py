"""Faults and isolations: taking in what the driver says, by event or by reading."""

from datetime import datetime, timedelta
from typing import NamedTuple

from cmgr.frozen import replace
from cmgr.model.faults import escalation
from cmgr.model.faults.isolation import separate, track_clean
from cmgr.model.scope import handles, whose_words
from cmgr.model.turn import Turn
from cmgr.model.values.chips import ChipId, listed
from cmgr.model.values.faults import (
    UNKNOWN_MODULE,
    Assertion,
    Fault,
    FaultKey,
    Handling,
    Level,
    Severity,
    severity_of,
    whose_of_both,
)
from cmgr.model.values.handling.catalog import Verdict, normal_code
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.messages.facts import FaultReported
from cmgr.model.values.rings import Phase, Ring
from cmgr.sentences.sentence import parts, say

REMEMBERED = timedelta(minutes=5)
"""How long a cleared fault is kept in mind: it tells a flapping fault from a new one, and news from old read-outs."""

MOST_REMEMBERED = 512
"""Cleared faults kept in mind per chip, so that no storm can fill the memory."""

FORGOTTEN_AT_ONCE = 64
"""So many beyond that are waited for: each time the chip's book is copied."""

NOT_AGAIN_WITHIN = timedelta(milliseconds=5)
"""A flapping fault must not have chips read without a pause that are about to boot."""


def fault_reported(turn: Turn, fact: FaultReported) -> None:
    """Take in an event of the driver."""
    code = normal_code(fact.code)
    if fact.chip not in turn.node.chips:
        _stranger(turn, fact)
        return
    if code is None:
        return  # A driver may tell of events that are no faults.
    severity = severity_of(fact.severity)
    key, over = FaultKey(code, fact.module), fact.assertion is Assertion.CLEARED
    lasting = any(f.active and not f.momentary for f in _known(turn, fact.chip, key))
    if times := fact.earlier if over else 1 + fact.earlier:
        # An occurrence that was cleared again before it could be taken in was there nevertheless: once.
        once = fact.assertion is not Assertion.OCCURRED
        still = lasting and (fact.first or fact.assertion) is Assertion.OCCURRED
        rises = times - fact.repeated - still
        occurred(turn, Occurrence(fact.chip, key, severity, times, rises, once, whose=fact.whose))
    if over and (lasting or fact.earlier == 0):
        _cleared_by_event(turn, fact.chip, key)
        if lasting:
            _look_at_once(turn, fact.chip)


def _look_at_once(turn: Turn, chip: ChipId) -> None:
    """Have a ring read that waits for its chips to boot: what clears its fault after a reset has mostly booted."""
    ring = turn.ring_of(chip)
    if ring is None or ring.phase is not Phase.VERIFYING:
        return
    last = ring.asked[1] if ring.asked is not None else ring.read
    if last is None or turn.at - last >= NOT_AGAIN_WITHIN:
        turn.ask_read(ring, f"a fault of chip {chip} cleared: did {listed(ring.chips)} boot?", not_older=turn.at)


class Occurrence(NamedTuple):
    """That a fault came. `times`: how often it was told. `rises`: how often it came while it was not there."""

    chip: ChipId
    key: FaultKey
    severity: Severity | None
    times: int = 1
    rises: int = 1
    once: bool = False
    until: datetime | None = None
    highest: Handling | None = None
    whose: frozenset[str] | None = None


def _stranger(turn: Turn, fact: FaultReported) -> None:
    if fact.chip not in turn.node.strangers:
        turn.node = replace(turn.node, strangers=turn.node.strangers | {fact.chip})
        turn.note(NoteKind.WARNING, say("fault.stranger", code=fact.code, chip=fact.chip))


def occurred(turn: Turn, new: Occurrence) -> None:
    """Book an occurrence of a fault."""
    known = _known(turn, new.chip, new.key)
    if not known:
        _first_time(turn, new)
        return
    fault = next((f for f in known if f.key == new.key), known[0])
    if fault.key != new.key:
        turn.drop_fault(fault)  # Found by reading before: now its module is known, too.
    was = fault
    fault = replace(
        fault,
        module=new.key.module,
        severity=fault.severity if new.severity is None else new.severity,
        count=fault.count + new.times,
        changed=turn.at,
        risen=fault.risen if fault.active else turn.at,
        cleared=None,
        momentary=new.once and (fault.momentary or not fault.active),
        until=new.until,
        highest=new.highest,
        whose=whose_of_both(fault.whose, new.whose) if fault.active else new.whose,
    )
    verdict = turn.node.catalog.judge(fault.code, fault.severity)
    fault = _counted(turn, fault, new.rises, verdict)
    if fault.severity is not was.severity:
        _note_change(turn, was, fault)
    _consequences(turn, fault)


def _first_time(turn: Turn, new: Occurrence) -> None:
    chip, (code, module) = new.chip, new.key
    verdict, at = turn.node.catalog.judge(code, new.severity), turn.at
    fault = Fault(
        chip, code, module, verdict.level, at, at, at, new.severity, new.times, momentary=new.once,
        handling=verdict.handling, fault_class=verdict.fault_class, until=new.until, highest=new.highest,
        whose=new.whose,
    )  # fmt: skip
    level, origin = verdict.handling.name, verdict.origin
    text = say("fault.reports-now", chip=chip, code=code, level=level, origin=origin)
    if new.once:
        text = say("fault.reports-once", chip=chip, code=code, level=level, origin=origin)
    told = parts((text, whose_words(turn.node, fault)))
    turn.note_fault(fault, told, Assertion.ONCE if new.once else Assertion.OCCURRED)
    fault = _counted(turn, fault, new.rises, verdict)
    _forget_beyond(turn, chip)
    _tell_what_is_only_observed(turn, fault)
    _consequences(turn, fault)


def _counted(turn: Turn, fault: Fault, rises: int, verdict: Verdict) -> Fault:
    """Book the fault, and tell the rules of escalation. Return it with the level that it has after that."""
    turn.put_fault(fault)
    escalation.occurred(turn, fault.chip, fault.code, rises)
    _went(turn, fault)
    judged = _judged(turn, fault, verdict)
    if judged is not fault:
        turn.put_fault(judged)
    return judged


def _went(turn: Turn, fault: Fault) -> None:
    """Tell the rules when the chip is without this code: what was there once lasts no time."""
    counted = (fault.chip, fault.code) in turn.node.tallies
    alike = (f for f in turn.node.faults.get(fault.chip, {}).values() if f.code == fault.code)
    if counted and not any(not f.momentary for f in alike):
        escalation.gone(turn, fault.chip, fault.code)


def _judged(turn: Turn, fault: Fault, verdict: Verdict) -> Fault:
    """Return the fault as the table, whose verdict that is, and the rules have it now."""
    raised = (turn.node, fault.chip, fault.code)
    level = max(verdict.level, escalation.raised_level(*raised))
    handling = max(verdict.handling, escalation.raised_handling(*raised))
    if fault.highest is not None:
        level, handling = min(level, fault.highest.level), min(handling, fault.highest)
    if (level, handling, verdict.fault_class) == (fault.level, fault.handling, fault.fault_class):
        return fault
    return replace(fault, level=level, handling=handling, fault_class=verdict.fault_class)


def _tell_what_is_only_observed(turn: Turn, fault: Fault) -> None:
    if fault.level >= Level.RestartRequest and turn.node.policy.levels[fault.level].observe:
        text = say("fault.would-recover", code=fault.code, level=fault.level.name)
        if fault.level is Level.SeparateNPU:
            text = say("fault.would-isolate", code=fault.code, level=fault.level.name)
        turn.note(NoteKind.ACTION, text, turn.ring_of(fault.chip), chip=fault.chip)


def _consequences(turn: Turn, fault: Fault) -> None:
    if fault.level is Level.SeparateNPU:
        separate(turn, fault.chip)
    if fault.momentary and (not handles(turn.node, fault) or fault.chip in turn.node.isolations):
        # Nothing waits for it, so it is over. A fault that opens an episode is over when that has drained.
        turn.put_fault(replace(fault, cleared=turn.at))
    track_clean(turn, fault.chip)


def _known(turn: Turn, chip: ChipId, key: FaultKey) -> list[Fault]:
    """Return the fault of this key, active or remembered, and the one of its code that was found by reading."""
    both = (turn.node.faults.get(chip, {}), turn.node.past_faults.get(chip, {}))
    keys = (FaultKey(key.code, UNKNOWN_MODULE), key) if key.module != UNKNOWN_MODULE else (key,)
    return [known[k] for k in keys for known in both if k in known]


def _cleared_by_event(turn: Turn, chip: ChipId, key: FaultKey) -> None:
    for fault in _known(turn, chip, key):
        clear(turn, fault, changed=turn.at)


def clear(turn: Turn, fault: Fault, changed: datetime | None = None) -> None:
    """Book the fault as over. `changed`: when it was last spoken of, if not when the books say."""
    if fault.active and fault.count == 1:  # A flapping one is told of once; its count says the rest.
        turn.note_fault(fault, say("fault.gone", chip=fault.chip, code=fault.code), Assertion.CLEARED)
    turn.put_fault(replace(fault, cleared=fault.cleared or turn.at, changed=changed or fault.changed))
    _went(turn, fault)
    track_clean(turn, fault.chip)


def relevel(turn: Turn) -> None:
    """Judge every active fault anew: the table, its rules, or the one for unknown codes may be others."""
    present: dict[escalation.TallyKey, datetime] = {}
    for known in turn.node.faults.values():
        for fault in known.values():
            if not fault.momentary:
                key = (fault.chip, fault.code)
                present[key] = min(present.get(key, fault.risen), fault.risen)
    escalation.adopt(turn, present)
    for known in list(turn.node.faults.values()):
        for fault in list(known.values()):
            _level_again(turn, fault)
    for chip in turn.node.chips:
        separate(turn, chip)
        track_clean(turn, chip)


def escalate(turn: Turn) -> None:
    """Let the rules of escalation do what is due by now, and carry that to faults and isolations."""
    escalation.by_time(turn)
    while turn.raised:
        chip, code = min(turn.raised)  # In an order that is the same each time: the same facts, the same decisions.
        turn.raised.remove((chip, code))
        for fault in [f for f in turn.node.faults.get(chip, {}).values() if f.code == code]:
            _level_again(turn, fault)
        if chip in turn.node.chips:
            separate(turn, chip)
            track_clean(turn, chip)


def at_most(turn: Turn, fault: Fault, severity: Severity) -> None:
    """Book that the driver calls the fault no graver than this."""
    if fault.severity is None or severity < fault.severity:
        fault = replace(fault, severity=severity)
        turn.put_fault(fault)
        _level_again(turn, fault)


def _note_change(turn: Turn, was: Fault, now: Fault) -> None:
    if now.handling is not was.handling:
        before = was.handling.name
        text = say("fault.changed", code=now.code, chip=now.chip, level=now.handling.name, before=before)
        turn.note_fault(now, text)


def _level_again(turn: Turn, fault: Fault) -> None:
    judged = _judged(turn, fault, turn.node.catalog.judge(fault.code, fault.severity))
    if judged is not fault:
        _note_change(turn, fault, judged)
        fault = judged
        turn.put_fault(fault)
        _tell_what_is_only_observed(turn, fault)
        _consequences(turn, fault)


def end_momentary(turn: Turn, ring: Ring) -> None:
    """The ring has drained, or nobody was to be stopped: a fault that was there once has had its effect."""
    for chip in ring.chips:
        known = turn.node.faults.get(chip, {}).values()
        for fault in [f for f in known if f.momentary]:
            turn.put_fault(replace(fault, cleared=turn.at))
            track_clean(turn, chip)


def forget_old(turn: Turn) -> None:
    """Drop the faults that are long over, and the counters that count nothing."""
    escalation.forget_old(turn)
    past = {
        chip: {k: f for k, f in known.items() if f.cleared is not None and turn.at - f.cleared < REMEMBERED}
        for chip, known in turn.node.past_faults.items()
    }
    # Otherwise each resync would be a change, and be looked through before it is saved.
    if any(len(past[chip]) != len(known) for chip, known in turn.node.past_faults.items()):
        turn.node = replace(
            turn.node,
            faults={chip: known for chip, known in turn.node.faults.items() if known},
            past_faults={chip: known for chip, known in past.items() if known},
        )


def _forget_beyond(turn: Turn, chip: ChipId) -> None:
    beyond = len(turn.node.past_faults.get(chip, {})) - MOST_REMEMBERED
    if beyond >= FORGOTTEN_AT_ONCE:
        turn.forget_past(chip, beyond)
