"""A part of the service: what it does beside deciding, and when."""

from collections.abc import Iterable, Sequence

from cmgr.config.settings import Config
from cmgr.frozen import dataclass
from cmgr.model.values.messages.commands import Action, Note
from cmgr.model.values.messages.facts import Event
from cmgr.model.values.node import Node
from cmgr.model.values.troubles import Trouble, TroubleKind


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the deciding thread: what it took in, the node before and after, and what it sent and noted."""

    events: Sequence[Event]
    before: Node
    after: Node
    actions: Sequence[Action]
    notes: Sequence[Note]


class Part:
    """Each part has its own of what here does nothing. On the deciding thread, quick, and without an exception."""

    def start(self) -> None:
        """Begin, once it is decided what becomes of what the last life left."""

    def observe(self, step: Step) -> None:
        """Hear of what was decided."""

    def look(self) -> None:
        """Look whether there is something to do: after each decision, and every few seconds at the least."""

    def configure(self, config: Config) -> None:
        """Go on with another configuration."""

    def troubles(self) -> Iterable[Trouble]:
        """Return what is wrong with it. Any thread."""
        return ()

    def close(self) -> None:
        """End, also where it has not begun. May block for some seconds."""


def degraded(about: str, text: str, why: str, hint: str = "cmgr check") -> Trouble:
    """Return the trouble that something beside recoveries is not done.

    Whoever has no reason `why` makes no words for it either: parts are asked every few seconds, and by each viewer.
    """
    return Trouble(TroubleKind.DEGRADED, about, text, why, hint)
