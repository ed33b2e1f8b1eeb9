"""Orders of a person: taken in like any other fact, under the same rules."""

from dataclasses import replace

from cmgr.model.books import isolate
from cmgr.model.commands import NoteKind
from cmgr.model.facts import ReleaseOrdered, ResumeOrdered
from cmgr.model.faults import Level
from cmgr.model.holds import HoldState
from cmgr.model.scope import grave_faults
from cmgr.model.turn import Turn


def ordered(turn: Turn, fact: ResumeOrdered | ReleaseOrdered) -> None:
    """Do what a person wants."""
    if isinstance(fact, ResumeOrdered):
        _resume(turn, fact)
    else:
        _release(turn, fact)


def _resume(turn: Turn, fact: ResumeOrdered) -> None:
    """Forget the failures of a held container, and wait no longer before the next try."""
    hold = turn.node.holds.get(fact.key)
    if hold is None:
        return
    # That a stop was tried is not forgotten: one that is down then was stopped by us, not by a person.
    tries = hold.tries if hold.state is HoldState.STOPPING else 0
    turn.put_hold(replace(hold, failed=False, tries=tries, delays=0, retry_at=None, error=""))
    text = f"{fact.who} ordered that {hold.name} is started again"
    turn.note(NoteKind.ACTION, text, turn.ring_for(hold.chips), container=hold.key)


def _release(turn: Turn, fact: ReleaseOrdered) -> None:
    """End the chip's isolation, and begin its ring's budget anew."""
    ring = turn.ring_of(fact.chip)
    if fact.chip not in turn.node.isolations or ring is None:
        return
    turn.drop_isolation(fact.chip)
    turn.put_ring(replace(ring, resets=()))
    turn.note(NoteKind.ISOLATION, f"chip {fact.chip} is released by {fact.who}", ring, chip=fact.chip)
    separating = [f for f in grave_faults(turn.node, fact.chip) if f.level is Level.SeparateNPU]
    if separating:
        reason = f"{separating[0].code} (SeparateNPU) is still there"
        isolate(turn, fact.chip, by="level", reason=reason, code=separating[0].code)
