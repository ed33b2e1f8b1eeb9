"""Faults and isolations: taking in what the driver says, by event or by reading."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from cmgr.model.catalog import normal_code
from cmgr.model.chips import ChipId, ChipReport, listed
from cmgr.model.commands import NoteKind
from cmgr.model.facts import FaultReported, ReadNeeded, RingRead
from cmgr.model.faults import (
    UNKNOWN_MODULE,
    Assertion,
    Fault,
    FaultCode,
    FaultKey,
    Isolation,
    Level,
    Severity,
)
from cmgr.model.policy import look_again_after
from cmgr.model.rings import Phase, Ring
from cmgr.model.scope import grave_faults
from cmgr.model.turn import Turn

REMEMBERED = timedelta(minutes=5)
"""How long a cleared fault is kept in mind: it tells a flapping fault from a new one, and news from old read-outs."""

MOST_REMEMBERED = 512
"""Cleared faults kept in mind per chip, so that no storm can fill the memory."""

READ_AGAIN = timedelta(seconds=1)

NOT_AGAIN_WITHIN = timedelta(milliseconds=5)
"""A flapping fault must not have chips read without a pause that are about to boot."""


def fault_reported(turn: Turn, fact: FaultReported) -> None:
    """Take in an event of the driver."""
    code = normal_code(fact.code)
    if fact.chip not in turn.node.chips:
        _stranger(turn, fact)
        return
    if code is None:
        return  # Event id 0 is no fault (facts of the DCMI interface, section 6).
    severity = Severity(fact.severity) if fact.severity in set(Severity) else None
    key, over = FaultKey(code, fact.module), fact.assertion is Assertion.CLEARED
    lasting = any(f.active and not f.momentary for f in _known(turn, fact.chip, key))
    if times := fact.earlier if over else 1 + fact.earlier:
        # An occurrence that was cleared again before it could be taken in was there nevertheless: once.
        once = fact.assertion is not Assertion.OCCURRED
        _occurred(turn, _Occurrence(fact.chip, key, severity, times, once))
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
        turn.ask_read(ring, f"a fault of chip {chip} cleared: have {listed(ring.chips)} booted?", not_older=turn.at)


class _Occurrence(NamedTuple):
    chip: ChipId
    key: FaultKey
    severity: Severity | None
    times: int = 1
    once: bool = False


def _stranger(turn: Turn, fact: FaultReported) -> None:
    if fact.chip not in turn.node.strangers:
        turn.node = replace(turn.node, strangers=turn.node.strangers | {fact.chip})
        text = f"the driver reported {fact.code} on chip {fact.chip}, which this machine does not have: ignored"
        turn.note(NoteKind.WARNING, text)


def _occurred(turn: Turn, new: _Occurrence) -> None:
    known = turn.node.faults.get(new.chip, {})
    fault = known.get(new.key) or known.get(FaultKey(new.key.code, UNKNOWN_MODULE))
    if fault is None:
        _first_time(turn, new)
        return
    if fault.key != new.key:
        turn.drop_fault(fault)  # Found by reading before: now its module is known, too.
    fault = replace(
        fault,
        module=new.key.module,
        count=fault.count + new.times,
        changed=turn.at,
        risen=fault.risen if fault.active else turn.at,
        cleared=None,
        momentary=new.once and (fault.momentary or not fault.active),
    )
    turn.put_fault(fault)
    _consequences(turn, fault)


def _first_time(turn: Turn, new: _Occurrence) -> None:
    chip, (code, module) = new.chip, new.key
    verdict = turn.node.catalog.judge(code, new.severity)
    at, level = turn.at, verdict.level
    fault = Fault(chip, code, module, level, at, at, at, new.severity, new.times, momentary=new.once)
    turn.put_fault(fault)
    _forget_beyond(turn, chip)
    how = "once" if new.once else "now"
    text = f"chip {chip} reports {code} {how}: level {level.name} ({verdict.origin})"
    turn.note(NoteKind.FAULT, text, turn.ring_of(chip), chip=chip)
    _consequences(turn, fault)


def _consequences(turn: Turn, fault: Fault) -> None:
    if fault.level is Level.SeparateNPU and fault.chip not in turn.node.isolations:
        isolate(turn, fault.chip, by="level", reason=f"{fault.code} asks for it (SeparateNPU)", code=fault.code)
    if fault.momentary and (not fault.level.handled or fault.chip in turn.node.isolations):
        # Nothing waits for it, so it is over. One that opens an episode is over when that has drained.
        turn.put_fault(replace(fault, cleared=turn.at))
    _track_clean(turn, fault.chip)


def _known(turn: Turn, chip: ChipId, key: FaultKey) -> list[Fault]:
    """Return the fault of this key, active or remembered, and the one of its code that was found by reading."""
    known = turn.node.faults.get(chip, {})
    return [known[k] for k in sorted({key, FaultKey(key.code, UNKNOWN_MODULE)}) if k in known]


def _cleared_by_event(turn: Turn, chip: ChipId, key: FaultKey) -> None:
    for fault in _known(turn, chip, key):
        clear(turn, replace(fault, changed=turn.at))


def read_needed(turn: Turn, fact: ReadNeeded) -> None:
    """Have the ring of a chip read of which events were lost."""
    ring = turn.ring_of(fact.chip)
    if ring is not None:
        turn.ask_read(ring, f"events of chip {fact.chip} were lost", not_older=turn.at)


def clear(turn: Turn, fault: Fault) -> None:
    """Book the fault as over."""
    if fault.active and fault.count == 1:  # A flapping one is told of once; its count says the rest.
        text = f"chip {fault.chip} no longer reports {fault.code}"
        turn.note(NoteKind.FAULT, text, turn.ring_of(fault.chip), chip=fault.chip)
    turn.put_fault(replace(fault, cleared=fault.cleared or turn.at))
    _track_clean(turn, fault.chip)


def ring_read(turn: Turn, fact: RingRead) -> None:
    """Take in a read-out: it is the truth about everything that no event has spoken of since it was asked for."""
    ring = turn.node.rings.get(fact.ring)
    if ring is None or ring.asked is None or ring.asked[0] != fact.command:
        return  # An answer that nobody waits for any more.
    issued = ring.asked[1]
    for report in fact.reports:
        turn.put_report(report)
        if not report.error and report.booted:
            _reconcile(turn, report, issued)
    ring = turn.node.rings[fact.ring]
    good = {r.chip for r in fact.reports if not r.error}.issuperset(ring.chips)
    again = ring.again
    ring = replace(ring, asked=None, again=False)
    if good:
        ring = replace(ring, read=issued, silent=None)
    else:
        silent = ring.silent or turn.at
        ring = replace(ring, silent=silent, ask_at=turn.at + look_again_after(turn.at - silent, READ_AGAIN, 1))
    turn.put_ring(ring)
    if again:
        turn.ask_read(ring, "something happened while it was read", not_older=turn.at)


def _reconcile(turn: Turn, report: ChipReport, issued: datetime) -> None:
    told: dict[FaultCode, Severity | None] = {}
    for reported in report.faults:
        code = normal_code(reported.code)
        if code is not None:
            told[code] = Severity(reported.severity) if reported.severity in set(Severity) else None
    known = list(turn.node.faults.get(report.chip, {}).values())
    for fault in known:
        if fault.active and not fault.momentary and fault.code not in told and fault.changed <= issued:
            clear(turn, fault)
    settled = {f.code for f in known if f.active or f.changed > issued}
    for code, severity in told.items():
        if code not in settled:
            _occurred(turn, _Occurrence(report.chip, FaultKey(code, UNKNOWN_MODULE), severity))
    _track_clean(turn, report.chip)


def relevel(turn: Turn) -> None:
    """Judge every active fault anew: the table, or the rule for unknown codes, may be another one."""
    for known in list(turn.node.faults.values()):
        for fault in known.values():
            level = turn.node.catalog.judge(fault.code, fault.severity).level
            if fault.active and level is not fault.level:
                text = f"{fault.code} on chip {fault.chip} is {level.name} now; it was {fault.level.name}"
                turn.note(NoteKind.FAULT, text, turn.ring_of(fault.chip), chip=fault.chip)
                turn.put_fault(replace(fault, level=level))
                _consequences(turn, replace(fault, level=level))


def isolate(turn: Turn, chip: ChipId, *, by: str, reason: str, code: FaultCode | None) -> None:
    """Take the chip out of use until a person or a clean period says otherwise."""
    turn.put_isolation(Isolation(chip, turn.at, by, reason, code))
    turn.note(NoteKind.ISOLATION, f"chip {chip} is isolated: {reason}", turn.ring_of(chip), chip=chip)
    _track_clean(turn, chip)


def _track_clean(turn: Turn, chip: ChipId) -> None:
    isolation = turn.node.isolations.get(chip)
    if isolation is None:
        return
    clean = not grave_faults(turn.node, chip)
    if clean is not (isolation.clean_since is not None):
        turn.put_isolation(replace(isolation, clean_since=turn.at if clean else None))


def release_due(turn: Turn) -> None:
    """End the isolations whose chips have been clean for long enough, on the word of a read-out made since."""
    wait = turn.node.policy.isolation.release_after
    for isolation in list(turn.node.isolations.values()):
        clean, ring = isolation.clean_since, turn.ring_of(isolation.chip)
        if isolation.by == "operator" or clean is None or ring is None or turn.at < clean + wait:
            continue
        if ring.read is None or ring.read < clean + wait:
            if ring.ask_at is None or turn.at >= ring.ask_at:
                turn.ask_read(ring, f"is chip {isolation.chip} clean?", not_older=clean + wait)
            continue
        turn.drop_isolation(isolation.chip)
        text = f"chip {isolation.chip} is released: no fault for {wait.total_seconds():.0f} s"
        turn.note(NoteKind.ISOLATION, text, ring, chip=isolation.chip)


def end_momentary(turn: Turn, ring: Ring) -> None:
    """The ring has drained: a fault that was there once has had its effect."""
    for chip in ring.chips:
        for fault in list(turn.node.faults.get(chip, {}).values()):
            if fault.active and fault.momentary:
                turn.put_fault(replace(fault, cleared=turn.at))
                _track_clean(turn, chip)


def forget_old(turn: Turn) -> None:
    """Drop the faults that are long over."""
    faults = turn.node.faults
    kept = {
        chip: {k: f for k, f in known.items() if f.cleared is None or turn.at - f.cleared < REMEMBERED}
        for chip, known in faults.items()
    }
    if any(len(kept[c]) != len(faults[c]) for c in faults):
        turn.node = replace(turn.node, faults={c: known for c, known in kept.items() if known})


def _forget_beyond(turn: Turn, chip: ChipId) -> None:
    if len(turn.node.faults[chip]) <= MOST_REMEMBERED:
        return
    over = sorted((f for f in turn.node.faults[chip].values() if f.cleared), key=lambda f: f.changed)
    for fault in over[: max(0, len(over) - MOST_REMEMBERED)]:
        turn.drop_fault(fault)
