"""Maintenance: while a person works on the machine, recoveries are recorded and not acted on.

Containers held when it begins stay held, and are not started until it ends. Then the present truth is acted on.
"""

from dataclasses import replace

from cmgr.model.turn import Turn
from cmgr.model.values.commands import NoteKind
from cmgr.model.values.facts import MaintenanceOrdered
from cmgr.model.values.standing import MAINTENANCE_LASTS, Maintenance
from cmgr.words import span


def maintenance_ordered(turn: Turn, fact: MaintenanceOrdered) -> None:
    """Begin, prolong, shorten or end it."""
    if not fact.on:
        _end(turn, NoteKind.ACTION, f"ended by {fact.who}")
        return
    until = fact.until or turn.at + MAINTENANCE_LASTS
    if until <= turn.at:
        return
    known = turn.node.maintenance
    since = known.since if known is not None else turn.at
    turn.node = replace(turn.node, maintenance=Maintenance(since, until, fact.who))
    held = len(turn.node.holds)
    stays = f"; what is held ({held}) stays down until it is over" if held else ""
    length = span(until - turn.at)
    turn.note(NoteKind.ACTION, f"maintenance is begun by {fact.who}, for {length}: recoveries are not acted on{stays}")


def maintenance_due(turn: Turn) -> None:
    """End it when its time is over."""
    known = turn.node.maintenance
    if known is not None and known.until is not None and turn.at >= known.until:
        # Loudly: the person who began it is perhaps still at work.
        _end(turn, NoteKind.WARNING, "nobody ended it, and its time is over")


def _end(turn: Turn, kind: NoteKind, why: str) -> None:
    if turn.node.maintenance is None:
        return
    turn.node = replace(turn.node, maintenance=None)
    turn.note(kind, f"maintenance is over: {why}; what is true now is acted on")
    for name in sorted(turn.node.runtimes):
        turn.ask_list(name, "maintenance is over", not_older=turn.at)
    for ring in list(turn.node.rings.values()):
        turn.ask_read(ring, "maintenance is over", not_older=turn.at)
