"""The books about groups over appliances: the fleet's engine, and what is known of each group's document.

Rules:
1. A document that the engine tells on its own may be old: only a later revision counts, and none before an answer. One
   may even be of a memory that was put back since, with a later revision than any now: each resync asks anew.
2. One question or write of a group at a time. After a write that did not surely succeed the document is read again.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from cmgr.frozen import replace
from cmgr.model.scope import members_of
from cmgr.model.turn import Turn
from cmgr.model.values.fleet import NEVER, FleetGroup, seen_at, starts_here, unread
from cmgr.model.values.handling.policy import backed_off
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.messages.documents import Document, EntryState, Outcome, Seen
from cmgr.model.values.messages.fleet_facts import FleetDown, FleetTold, FleetUp, GroupRead, GroupSeen, GroupWritten
from cmgr.sentences.sentence import because, say

BACKOFF = timedelta(seconds=1)
BACKOFF_MAX = timedelta(seconds=10)


def fleet_told(turn: Turn, fact: FleetTold) -> None:
    """Take in what the fleet's engine told, or answered."""
    match fact:
        case FleetUp():
            _up(turn, fact)
        case FleetDown():
            _down(turn, fact)
        case GroupSeen():
            group = turn.node.fleet_groups.get(fact.group)
            if group is not None and NEVER.revision < group.seen.revision < fact.seen.revision:
                turn.put_fleet_group(_knows(turn, group, fact.seen, asked=False))
        case GroupWritten() | GroupRead():
            group = turn.node.fleet_groups.get(fact.group)
            if group is not None and group.asked is not None and group.asked[0] == fact.command:
                turn.put_fleet_group(_answered(turn, group, fact))


def _up(turn: Turn, fact: FleetUp) -> None:
    engine = turn.node.engine
    if not engine.up:
        turn.note(NoteKind.RESULT, say("group.engine-answers"))
    since = engine.since if engine.up else turn.at
    turn.node = replace(turn.node, engine=replace(engine, up=True, born=fact.born, why_down="", since=since))
    for group in list(turn.node.fleet_groups.values()):
        # Whatever came before may be of another memory of the engine, where revisions count anew.
        turn.put_fleet_group(replace(unread(group), asked=None, looked=0, failures=0, retry_at=None))


def look_at_agreements(turn: Turn) -> None:
    """Have every document read again: one that the engine told on its own may be of a memory that it has lost since."""
    for group in list(turn.node.fleet_groups.values()):
        if group.asked is None:
            turn.put_fleet_group(unread(group))


def _down(turn: Turn, fact: FleetDown) -> None:
    engine = turn.node.engine
    if engine.up or engine.why_down != fact.why:
        turn.note(NoteKind.WARNING, say("group.engine-is-away", why=fact.why))
    since = engine.since if not engine.up and engine.since is not None else turn.at
    turn.node = replace(turn.node, engine=replace(engine, up=False, why_down=fact.why, since=since))


def _answered(turn: Turn, group: FleetGroup, fact: GroupWritten | GroupRead) -> FleetGroup:
    assert group.asked is not None
    written, group = group.asked[1], replace(group, asked=None)
    if fact.error:
        failures = group.failures + 1
        retry_at = turn.at + backed_off(BACKOFF, BACKOFF_MAX, failures)
        return replace(unread(group), failures=failures, error=fact.error, retry_at=retry_at)
    group = replace(group, failures=0, error="", retry_at=None)
    if isinstance(fact, GroupRead):
        return _knows(turn, group, fact.seen)
    if fact.outcome is Outcome.DONE and fact.revision > group.seen.revision:
        return _knows(turn, group, Seen(written if written and written.members else None, fact.revision))
    return group if fact.outcome is Outcome.DONE else unread(group)


def _knows(turn: Turn, group: FleetGroup, seen: Seen, *, asked: bool = True) -> FleetGroup:
    """Return the group with its document seen. `asked`: it is an answer, so that it is no older than the question."""
    document = seen.document
    since = _since(group, document, turn.at)
    if document is None:
        return replace(group, seen=seen, since=since)
    _tell(turn, group, document)
    group = replace(seen_at(group, document), seen=seen, since=since)
    return replace(group, looked=group.held) if asked and starts_here(group) else group


def _tell(turn: Turn, group: FleetGroup, document: Document) -> None:
    """Say where each other appliance is, when that is new: in the timeline of the episode that it waits for, if any."""
    before = group.document.members if group.document is not None else {}
    members = members_of(turn.node, group.name)
    ring = turn.ring_for(frozenset().union(*(c.kept.chips for c in members)))
    for name, entry in sorted(document.members.items()) if members else ():
        was = before[name].state if name in before else EntryState.RUNNING
        if name != turn.node.engine.name and entry.state is not was:
            said = _said(group.name, name, entry.state)
            turn.note(NoteKind.HOLD, because(said, entry.why), ring)


def _said(group: str, name: str, state: EntryState) -> str:
    if state is EntryState.FAILED:
        return say("group.appliance-failed", group=group, name=name)
    if state is EntryState.OUT:
        return say("group.appliance-left-out", group=group, name=name)
    return say("group.appliance-is", group=group, name=name, state=state)


def _since(group: FleetGroup, document: Document | None, at: datetime) -> Mapping[str, datetime]:
    """Return since when each entry is what it is, by this appliance's own clock: no other's is compared with it."""
    if document is None:
        return {}
    before = group.document.members if group.document is not None else {}
    return {
        name: group.since.get(name, at) if (was := before.get(name)) is not None and was == entry else at
        for name, entry in document.members.items()
    }
