"""The document of a group that spans appliances: what all of them have agreed on, as the fleet's engine keeps it.

It is written as a whole, and only in the place of one that was read: whoever sees a condition fulfilled writes what
follows from it. There is no leader. An entry is written by its own appliance alone, except that a person may have one
left out of a round.
"""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Annotated

from cmgr.frozen import dataclass
from cmgr.model.values.names import APPLIANCE
from cmgr.model.values.services.groups import GroupPhase
from cmgr.typed import like, line, most, within

MOST_APPLIANCES = 64
"""The largest fleet."""

LONGEST_WHY = 300
"""So many characters of a reason are told to the others."""

MOST_CONTAINERS = 1000
"""So many members of one group may an appliance have."""

Round = Annotated[int, within(0, 2**53)]
Line = Annotated[str, line(400)]


class EntryState(StrEnum):
    """Where an appliance is with its members. Only `READY`, `RUNNING` and `OUT` decide anything, the rest is told.

    `HALTING`: they are being stopped. `HALTED`: they are down, and something keeps them so. `READY`: they are down and
    could be started this moment, or are being started. `FAILED`: one was given up. `OUT`: a person has the others go on
    without this appliance.
    """

    RUNNING = "running"
    HALTING = "halting"
    HALTED = "halted"
    READY = "ready"
    FAILED = "failed"
    OUT = "out"


@dataclass(frozen=True, slots=True)
class Entry:
    """One appliance's part: the last round that it has followed, and how far it is in that one.

    `why`: what it waits for, for people. `containers`: the names of its members.
    """

    round: Round
    state: EntryState
    why: Line = ""
    containers: Annotated[tuple[Line, ...], most(MOST_CONTAINERS)] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """A group over appliances. `size`: how many members it has in all. `members`: an entry for each appliance, by name.

    `by`: who began the round, and `cause` why. `at`: when, as text for people; nothing compares it. `ordered`: a person
    has ordered this round, so that it takes in members that are down, and appliances that were left out.
    """

    size: Annotated[int, within(0, MOST_CONTAINERS * MOST_APPLIANCES)]
    round: Round = 0
    phase: GroupPhase = GroupPhase.RUNNING
    by: Line = ""
    cause: Line = ""
    at: Line = ""
    ordered: bool = False
    members: Annotated[
        Mapping[Annotated[str, like(APPLIANCE, "that of an appliance")], Entry], most(MOST_APPLIANCES)
    ] = field(default_factory=dict)

    @property
    def known(self) -> int:
        """So many members are known, on all appliances together."""
        return sum(len(entry.containers) for entry in self.members.values())


class Outcome(StrEnum):
    """The end of a write. `STALE`: another document was there than the one that was to be replaced.

    `UNKNOWN`: nobody answered after it was sent, so that it may have been done.
    """

    DONE = "done"
    STALE = "stale"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Written:
    """How a write ended; `revision` is that of the new document, if it was done."""

    outcome: Outcome
    revision: int = 0


@dataclass(frozen=True, slots=True)
class Seen:
    """A document as the engine has it; `revision` is that of its last change.

    None: there is none, and `revision` is 0; or, with `error`, it cannot be read, and `revision` is as ever.
    """

    document: Document | None
    revision: int
    error: str = ""


NOTHING = Seen(None, 0)
"""There is no document."""
