"""Orders of a person: taken in like any other fact, under the same rules."""

from dataclasses import replace

from cmgr.model import escalation
from cmgr.model.books import escalate
from cmgr.model.commands import NoteKind
from cmgr.model.facts import ReleaseOrdered, ResumeAllOrdered, ResumeOrdered
from cmgr.model.holds import HoldState
from cmgr.model.isolating import separate
from cmgr.model.restraint import lift
from cmgr.model.turn import Turn


def ordered(turn: Turn, fact: ResumeOrdered | ResumeAllOrdered | ReleaseOrdered) -> None:
    """Do what a person wants."""
    if isinstance(fact, ResumeOrdered):
        _resume(turn, fact)
    elif isinstance(fact, ResumeAllOrdered):
        _resume_all(turn, fact)
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


def _resume_all(turn: Turn, fact: ResumeAllOrdered) -> None:
    """Let begin what was kept back, and try every container again that was given up."""
    if turn.node.restraint.kept:
        turn.note(NoteKind.ACTION, f"{fact.who} ordered that no ring is kept back")
        lift(turn)
    for hold in [h for h in turn.node.holds.values() if h.failed]:
        _resume(turn, ResumeOrdered(hold.key, fact.who))


def _release(turn: Turn, fact: ReleaseOrdered) -> None:
    """End the chip's isolation, and begin its ring's budget anew."""
    ring = turn.ring_of(fact.chip)
    if fact.chip not in turn.node.isolations or ring is None:
        return
    turn.drop_isolation(fact.chip)
    turn.put_ring(replace(ring, resets=()))
    turn.note(NoteKind.ISOLATION, f"chip {fact.chip} is released by {fact.who}", ring, chip=fact.chip)
    # What rules have raised is forgiven; a fault whose own level isolates does so again while it is there.
    escalation.forgive(turn, fact.chip)
    escalate(turn)
    separate(turn, fact.chip)
