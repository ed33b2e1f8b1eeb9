"""Maintenance: while a person works on the machine, recoveries are recorded and not acted on.

Containers held when it begins stay held, and are not started until it ends. Then the present truth is acted on.
It is begun and ended by a person, or by the windows of maintenance.
"""

from collections.abc import Iterable
from datetime import datetime

from cmgr.frozen import replace
from cmgr.model.turn import Turn
from cmgr.model.values.handling.calendar import MAINTENANCE_WINDOWS, Occasion, Opening
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.messages.facts import MaintenanceOrdered
from cmgr.model.values.standing import MAINTENANCE_LASTS, Maintenance
from cmgr.sentences.sentence import parts, say


def maintenance_ordered(turn: Turn, fact: MaintenanceOrdered) -> None:
    """Begin, prolong, shorten or end it."""
    if not fact.on:
        _end(turn, NoteKind.ACTION, say("maintenance.ended-by", who=fact.who))
        return
    until = fact.until or turn.at + MAINTENANCE_LASTS
    if until <= turn.at:
        return
    opening, known = turn.node.calendar.get(MAINTENANCE_WINDOWS), turn.node.maintenance
    if known is not None and opening is not None and opening.open and opening.until and until < opening.until:
        # A person may end a window's maintenance, and does not shorten it in passing.
        turn.note(NoteKind.ACTION, say("maintenance.lasts-longer", who=fact.who, length=until - turn.at))
        if known.who != MAINTENANCE_WINDOWS:
            _begin(turn, opening.until, MAINTENANCE_WINDOWS)
        return
    _begin(turn, until, fact.who)


def _begin(turn: Turn, until: datetime, who: str) -> None:
    known = turn.node.maintenance
    since = known.since if known is not None else turn.at
    turn.node = replace(turn.node, maintenance=Maintenance(since, until, who))
    text, held = say("maintenance.begun", who=who, length=until - turn.at), len(turn.node.holds)
    turn.note(NoteKind.ACTION, parts((text, say("maintenance.held", count=held) if held else "")))


def maintenance_due(turn: Turn) -> None:
    """End it when its time is over."""
    known = turn.node.maintenance
    if known is None or known.until is None or turn.at < known.until:
        return
    if known.who == MAINTENANCE_WINDOWS:
        _end(turn, NoteKind.ACTION, say("maintenance.window-closed"))
    else:
        # Loudly: the person who began it is perhaps still at work.
        _end(turn, NoteKind.WARNING, say("maintenance.time-over"))


def calendar_read(turn: Turn, openings: Iterable[Opening]) -> None:
    """Take in which windows are open, and begin or end maintenance by its own."""
    turn.node = replace(turn.node, calendar={opening.name: opening for opening in openings})
    opening, known = turn.node.calendar.get(MAINTENANCE_WINDOWS), turn.node.maintenance
    ours = known is not None and known.who == MAINTENANCE_WINDOWS
    if opening is None or not opening.open or opening.until is None or opening.wall is None:
        if ours:
            _end(turn, NoteKind.ACTION, say("maintenance.window-closed"))
        return
    if known is not None and ours and known.until != opening.until:
        # The clock was set, or the windows were.
        turn.node = replace(turn.node, maintenance=replace(known, until=opening.until))
    before = turn.node.occasions.get(MAINTENANCE_WINDOWS)
    if before is not None and before.due == opening.wall:
        return  # Whoever has ended it since wants it so.
    occasion = Occasion(MAINTENANCE_WINDOWS, opening.wall)
    turn.node = replace(turn.node, occasions={**turn.node.occasions, MAINTENANCE_WINDOWS: occasion})
    if known is None or known.until is None or known.until < opening.until:
        # A person's that ends earlier goes on: both are to be kept.
        _begin(turn, opening.until, MAINTENANCE_WINDOWS)


def _end(turn: Turn, kind: NoteKind, why: str) -> None:
    if turn.node.maintenance is None:
        return
    turn.node = replace(turn.node, maintenance=None)
    turn.note(kind, say("maintenance.over", why=why))
    for name in sorted(turn.node.runtimes):
        turn.ask_list(name, "maintenance is over", not_older=turn.at)
    for ring in list(turn.node.rings.values()):
        turn.ask_read(ring, "maintenance is over", not_older=turn.at)
