"""Facts that come from the fleet's engine."""

from cmgr.frozen import dataclass
from cmgr.model.values.messages.commands import CommandId
from cmgr.model.values.messages.documents import NOTHING, Outcome, Seen


@dataclass(frozen=True, slots=True)
class FleetUp:
    """The fleet's engine answers (again), and tells every change from now on. Some may have been missed before.

    `born`: the word by which its memory is known.
    """

    born: str


@dataclass(frozen=True, slots=True)
class FleetDown:
    """The fleet's engine does not answer, or refuses: why, and what to do about it."""

    why: str


@dataclass(frozen=True, slots=True)
class GroupSeen:
    """The document of a group over appliances, as the engine told it on its own: perhaps an old one."""

    group: str
    seen: Seen


@dataclass(frozen=True, slots=True)
class GroupWritten:
    """Answers `WriteGroup`. `revision`: that of the new document, if it is done. `error`: nothing was written."""

    command: CommandId
    group: str
    outcome: Outcome = Outcome.UNKNOWN
    revision: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True)
class GroupRead:
    """Answers `ReadGroup`; with `error` nobody said anything, and `seen` means nothing."""

    command: CommandId
    group: str
    seen: Seen = NOTHING
    error: str = ""


FleetTold = FleetUp | FleetDown | GroupSeen | GroupWritten | GroupRead
"""All of them."""
