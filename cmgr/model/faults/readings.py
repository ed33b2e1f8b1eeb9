"""Read-outs of chips: what the driver says when it is asked."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from cmgr.frozen import replace
from cmgr.model.faults.isolation import track_clean
from cmgr.model.faults.occurrences import Occurrence, at_most, clear, occurred
from cmgr.model.scope import used_chips
from cmgr.model.turn import Turn
from cmgr.model.values.chips import ChipReport
from cmgr.model.values.faults import UNKNOWN_MODULE, FaultClass, FaultCode, FaultKey, Severity, severity_of
from cmgr.model.values.handling.catalog import normal_code
from cmgr.model.values.handling.policy import look_again_after
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.messages.facts import ReadNeeded, RingRead
from cmgr.model.values.node import known_faults
from cmgr.model.values.rings import Ring
from cmgr.sentences.sentence import because, say

READ_AGAIN = timedelta(seconds=1)

_LONGER = timedelta(seconds=3)
"""A silence that is shorter is status's alone: a driver that begins again is one for each of its rings."""


def read_needed(turn: Turn, fact: ReadNeeded) -> None:
    """Have the ring of a chip read of which events were lost."""
    ring = turn.ring_of(fact.chip)
    if ring is not None:
        turn.ask_read(ring, f"events of chip {fact.chip} were lost", not_older=turn.at)


def ring_read(turn: Turn, fact: RingRead) -> bool:
    """Take in a read-out: it is the truth about everything that no event has spoken of since it was asked for.

    Return whether somebody waited for it.
    """
    ring = turn.node.rings.get(fact.ring)
    if ring is None or ring.asked is None or ring.asked[0] != fact.command:
        return False  # An answer that nobody waits for any more.
    issued = ring.asked[1]
    for report in fact.reports:
        _tell_gone(turn, report)
        turn.put_report(report)
        if report.is_up:
            _reconcile(turn, report, issued)
        else:
            track_clean(turn, report.chip)
    ring = turn.ring(fact.ring)
    answered = {r.chip for r in fact.reports if not r.error}
    again = ring.again
    ring = replace(ring, asked=None, again=False)
    if answered.issuperset(used_chips(turn.node, ring)):
        # An isolated chip is perhaps dead for good; its mates are used and recovered all the same.
        ring = replace(ring, read=issued)
    told = _silence_told(turn, ring, fact.reports)
    if answered.issuperset(ring.chips):
        ring = replace(ring, silent=None, silence_told=told)
    else:
        silent = ring.silent or turn.at
        ask_at = turn.at + look_again_after(turn.at - silent, READ_AGAIN, 1)
        ring = replace(ring, silent=silent, silence_told=told, ask_at=ask_at)
    turn.put_ring(ring)
    if again:
        turn.ask_read(ring, "something happened while it was read", not_older=turn.at)
    return True


def _silence_told(turn: Turn, ring: Ring, reports: Iterable[ChipReport]) -> bool:
    """Tell that chips are silent for longer, or are no more. Return whether a silence that goes on is told.

    In an episode each step of it says so, and a reset is a silence.
    """
    errors = [say("trouble.silent-chip", chip=r.chip, error=r.error) for r in reports if r.error]
    since = ring.silent or turn.at
    if errors and not ring.silence_told and not ring.in_episode and turn.at - since >= _LONGER:
        turn.note(NoteKind.WARNING, because(say("trouble.silent", ring=ring.id), errors[0]), ring)
        return True
    if ring.silence_told and not errors:
        turn.note(NoteKind.WARNING, say("ring.answers-again", ring=ring.id, length=turn.at - since), ring)
    return ring.silence_told and bool(errors)


def _tell_gone(turn: Turn, report: ChipReport) -> None:
    """Tell of the processes that the driver lists anew and that do not exist."""
    before = turn.node.reports.get(report.chip)
    known = {process.pid for process in before.processes if process.gone} if before is not None else set()
    for process in report.processes:
        if process.gone and process.pid not in known:
            text = say("chip.process-gone", pid=process.pid, chip=report.chip)
            turn.note(NoteKind.WARNING, text, turn.ring_of(report.chip), chip=report.chip)


def _reconcile(turn: Turn, report: ChipReport, issued: datetime) -> None:
    told: dict[FaultCode, Severity | None] = {}
    for reported in report.faults:
        code = normal_code(reported.code)
        if code is not None:
            told[code] = severity_of(reported.severity)
    known = list(known_faults(turn.node, report.chip))
    for fault in known:
        listed = fault.fault_class is not FaultClass.REPORTED and not fault.momentary
        if not fault.active or not listed or fault.changed > issued:
            continue
        severity = told.get(fault.code)
        if severity is not None:
            at_most(turn, fault, severity)
        elif fault.code not in told and not fault.code.startswith(report.unasked):
            clear(turn, fault)
    settled = {f.code for f in known if f.active or f.changed > issued}
    for code, severity in told.items():
        if code not in settled:
            # An event may have told more of it before it was over for a short while.
            severities = (severity, *(f.severity for f in known if f.code == code))
            least = min((s for s in severities if s is not None), default=None)
            occurred(turn, Occurrence(report.chip, FaultKey(code, UNKNOWN_MODULE), least))
    track_clean(turn, report.chip)
