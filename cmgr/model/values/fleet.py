"""The fleet as this appliance knows it: its engine, and its own part in the groups that span appliances."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from datetime import datetime

from cmgr.frozen import dataclass, replace
from cmgr.model.values.life import ThisLife
from cmgr.model.values.messages.commands import CommandId
from cmgr.model.values.messages.documents import Document, Entry, EntryState, Seen
from cmgr.model.values.services.groups import GroupPhase
from cmgr.sentences.sentence import parts, say

NEVER = Seen(None, -1)
"""Nothing is known of the document: it has not been read yet."""


@dataclass(frozen=True, slots=True)
class Engine:
    """The fleet's engine, as known in this life. `name`: this appliance's there; empty where no engine is set.

    `born`: the word by which the engine's memory is known: another one, and it has forgotten everything. `why_down`:
    why it cannot be asked, and `since` when it could, or could not.
    """

    name: str = ""
    up: bool = False
    born: str = ""
    why_down: str = ""
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class FleetGroup:
    """This appliance's part in a group over appliances. Its `Group` has the state of its members, as for any other.

    `round` and `phase`: the furthest that its document was ever seen at. `held`: the round of the document that the
    last local round was of; 0: of none yet. `whole`: all its members were known when its document was last read.
    `alone`: a person lets the members here start without the others. `restart`: the least round that a person's order
    to restart it all must bring; 0: there is no such order. `without`: appliances that a person wants left out.
    `parts`: those that the document's last round is, or was, of.
    `seen`: its document. `asked`: the question or the write under way, and what is written with it. `looked`: the round
    in which the last look before the start found that it still starts. `failures`: so many questions and writes in a
    row failed, the last with `error`; none is asked before `retry_at`. `since`: when each appliance's entry became what
    it is.
    """

    name: str
    round: int = 0
    phase: GroupPhase = GroupPhase.RUNNING
    held: int = 0
    whole: bool = False
    alone: bool = False
    restart: int = 0
    without: frozenset[str] = frozenset()
    parts: frozenset[str] = frozenset()
    seen: ThisLife[Seen] = NEVER
    asked: ThisLife[tuple[CommandId, Document | None] | None] = None
    looked: ThisLife[int] = 0
    failures: ThisLife[int] = 0
    error: ThisLife[str] = ""
    retry_at: ThisLife[datetime | None] = None
    since: ThisLife[Mapping[str, datetime]] = field(default_factory=dict)

    @property
    def document(self) -> Document | None:
        return self.seen.document

    @property
    def in_round(self) -> bool:
        """Whether the appliances have stopped for a round or are about to start, as their document says."""
        return self.document is not None and self.document.phase is not GroupPhase.RUNNING


_FAR = (GroupPhase.HALTING, GroupPhase.STARTING, GroupPhase.RUNNING)
"""The phases of one round, in their order."""


def is_behind(document: Document, group: FleetGroup) -> bool:
    """Return whether the document says less than it did once: the engine has forgotten, or was put back."""
    return (document.round, _FAR.index(document.phase)) < (group.round, _FAR.index(group.phase))


def seen_at(group: FleetGroup, document: Document) -> FleetGroup:
    """Return the group when this document is what was seen last, with what is remembered of it beyond this life."""
    told = {n for n in group.without if document.phase is GroupPhase.RUNNING or n not in document.members}
    told |= {n for n, entry in document.members.items() if entry.state is EntryState.OUT}
    brought = document.ordered and document.round >= group.restart
    in_round = document.phase is not GroupPhase.RUNNING and not is_behind(document, group)
    return replace(
        group,
        parts=frozenset(document.members) if in_round else group.parts,
        round=group.round if is_behind(document, group) else document.round,
        phase=group.phase if is_behind(document, group) else document.phase,
        whole=0 < document.size <= document.known,
        restart=0 if brought else group.restart,
        without=group.without - told,
    )


def unread(group: FleetGroup) -> FleetGroup:
    """Return the group when its document has to be read again before anything is written; it may be an old one."""
    return replace(group, seen=replace(group.seen, revision=NEVER.revision))


def is_out(engine: Engine, group: FleetGroup) -> bool:
    """Return whether a person has the others go on without this appliance."""
    entry = group.document.members.get(engine.name) if group.document is not None else None
    return entry is not None and entry.state is EntryState.OUT


def unheard(group: FleetGroup) -> list[str]:
    """Return the appliances of the last round, by name, that have no entry in the document any more.

    The engine has forgotten them, and they have not written since.
    """
    known = group.document.members if group.document is not None else {}
    return sorted(group.parts - known.keys())


def left_out(group: FleetGroup) -> list[str]:
    """Return the appliances that a person has had left out, by name."""
    members = group.document.members if group.document is not None else {}
    return sorted(name for name, entry in members.items() if entry.state is EntryState.OUT)


def waited_for(document: Document) -> list[tuple[str, Entry]]:
    """Return the appliances, by name, whose part in the document's phase is not done."""
    state = {GroupPhase.HALTING: EntryState.READY, GroupPhase.STARTING: EntryState.RUNNING}.get(document.phase)
    parts = [(name, e) for name, e in sorted(document.members.items()) if e.state is not EntryState.OUT]
    done = (document.round, state)
    return [(name, entry) for name, entry in parts if state is not None and (entry.round, entry.state) != done]


def why_waited_for(document: Document, those: Iterable[tuple[str, Entry]]) -> str:
    """Return what these appliances have said of the document's phase."""
    return parts(_why_waited_for(document, name, entry) for name, entry in those)


def _why_waited_for(document: Document, name: str, entry: Entry) -> str:
    if entry.why:
        return say("word.because", what=name, why=entry.why)
    if entry.round == document.round:
        return say("group.part-is", name=name, state=entry.state)
    return say("group.part-has-not-answered", name=name, round=document.round)


def is_over(document: Document) -> bool:
    """Return whether every appliance has done its part in the document's phase."""
    return document.phase is not GroupPhase.RUNNING and not waited_for(document)


def starts_here(group: FleetGroup) -> bool:
    """Return whether its document says that the round of which the members here are held starts."""
    document = group.document
    return document is not None and document.phase is GroupPhase.STARTING and document.round == group.held


def gate(engine: Engine, group: FleetGroup | None) -> str:
    """Return why the members here must not be started, though nothing here keeps them; nothing where they may be."""
    if group is None or group.alone or (not group.whole and not group.held):
        return ""
    if not engine.up:
        return say("group.engine-is-away", why=engine.why_down or say("group.engine-has-not-answered"))
    document = group.document
    if document is None:
        error = group.seen.error or group.error
        return say("group.document-cannot-be-read", error=error) if error else say("group.document-is-not-read")
    if is_out(engine, group):
        return say("group.was-left-out")
    if starts_here(group):
        return "" if group.looked == document.round else say("group.last-look")
    if document.phase is not GroupPhase.HALTING or document.round != group.held:
        lost = unheard(group)
        return say("group.has-not-written", names=lost) if lost else say("group.others-are-told")
    others = [part for part in waited_for(document) if part[0] != engine.name]
    return why_waited_for(document, others) or say("group.start-is-agreed")
