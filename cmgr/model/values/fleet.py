"""The fleet as this appliance knows it: its engine, and its own part in the groups that span appliances."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from cmgr.model.values.commands import CommandId
from cmgr.model.values.documents import Document, Seen
from cmgr.model.values.groups import GroupPhase
from cmgr.model.values.life import ThisLife

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
