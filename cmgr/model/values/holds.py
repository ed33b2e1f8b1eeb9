"""Holds: the only thing that entitles cmgr to start a container. The life of one as states and edges, kept as data.

Every change of state goes through `entered`, along an edge of `EDGES`. Any other is a bug.
"""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum

from cmgr.frozen import dataclass, replace
from cmgr.model.values.chips import ChipId
from cmgr.model.values.life import ThisLife
from cmgr.model.values.messages.commands import CommandId
from cmgr.model.values.services.containers import DEFAULT_GRACE, NO_RESTART, ContainerKey

_ONE_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def one_word(text: str) -> bool:
    """Return whether a shell and an option parser take the text for one plain word."""
    return _ONE_WORD.fullmatch(text) is not None


class HoldState(StrEnum):
    """Where a held container is.

    `SETTLING`: cmgr has started it, and it has yet to show that it stays up. `RETURNING`: it is no longer ours. Its
    restart policy goes back, and a start that is under way is answered first.
    """

    STOPPING = "stopping"
    STOPPED = "stopped"
    STARTING = "starting"
    SETTLING = "settling"
    RETURNING = "returning"


EDGES: Mapping[tuple[HoldState, HoldState], str] = {
    (HoldState.STOPPING, HoldState.STOPPED): "its stop has worked",
    (HoldState.STOPPING, HoldState.RETURNING): "it need not be stopped, or is a person's",
    (HoldState.STOPPED, HoldState.STOPPING): "something has started it, too early",
    (HoldState.STOPPED, HoldState.STARTING): "nothing is in its way",
    (HoldState.STOPPED, HoldState.RETURNING): "it is somebody else's, or runs by a start that had seemed to fail",
    (HoldState.STARTING, HoldState.STOPPED): "its start has failed, or must wait",
    (HoldState.STARTING, HoldState.STOPPING): "its start has worked in part, and too early",
    (HoldState.STARTING, HoldState.SETTLING): "its start has worked",
    (HoldState.STARTING, HoldState.RETURNING): "it is somebody else's, or runs by a start that had seemed to fail",
    (HoldState.SETTLING, HoldState.STOPPED): "it did not stay up",
    (HoldState.SETTLING, HoldState.STOPPING): "it ails, or is held anew",
    (HoldState.RETURNING, HoldState.STOPPING): "it is held anew",
}
"""Why one state becomes another. What is not here cannot happen."""


class Cause(StrEnum):
    """Why a container is held: for an episode of its ring, to be healed though its chips are well, to be moved, or for
    its group."""

    EPISODE = "episode"
    HEAL = "heal"
    MOVE = "move"
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class Hold:
    """The written promise: cmgr stopped this container, or it died by itself, and cmgr will start it again.

    `episode` is 0 while the cause is another one.
    `down`: when its life ended. `run` is the life that ended: a container that runs with another word was started by
    somebody; while it settles it is the life that does, until `retry_at`. `command` is the answer it waits for. `tries`
    counts failures in a row, and `delays` those after them that do not count: they only make the wait longer. `revived`
    is the life that its restart policy may have begun, by an event that a list has yet to confirm. `told`: when cmgr
    first told it to stop, or to start, as its state says. `frozen`: it was when it was stopped, and is again after its
    start. `sick`: so many starts in a row ended with its own check saying that it is unhealthy.
    `chips`: those that it is to be started on. `wish`: a person has ordered these instead, and it gets them once it is
    down. `short`: why it cannot be moved although it should.
    `unsure`: since when an order to start it has failed; it may have worked all the same, which a later list tells.
    `heard`: since when events tell of another life than the one that was ended; a later list says what is so.
    `beside`: the containers that had run on a chip of its own together with it when it was held.
    `inherited`: its container was made by compose in the place of a held one, and has not been started since.
    `reason`: why it is not started now, or why it is stopped, as was decided; empty where nothing is in the way.
    """

    key: ContainerKey
    name: str
    chips: frozenset[ChipId]
    episode: int
    since: datetime
    state: HoldState
    run: str
    died: bool = False
    order: int = 0
    grace: timedelta = DEFAULT_GRACE
    restart_policy: str = NO_RESTART
    disarmed: bool = False
    failed: bool = False
    tries: int = 0
    retry_at: datetime | None = None
    error: str = ""
    cause: Cause = Cause.EPISODE
    down: datetime | None = None
    frozen: bool = False
    sick: int = 0
    inherited: bool = False
    wish: frozenset[ChipId] = frozenset()
    short: str = ""
    beside: frozenset[ContainerKey] = frozenset()
    command: ThisLife[CommandId | None] = None
    delays: ThisLife[int] = 0
    revived: ThisLife[str] = ""
    told: ThisLife[datetime | None] = None
    unsure: ThisLife[datetime | None] = None
    heard: ThisLife[datetime | None] = None
    reason: ThisLife[str] = ""

    @property
    def to_type(self) -> str:
        """How a command names it. A label can be the name, and what cmgr tells to type a shell must not take apart."""
        return self.name if one_word(self.name) else self.key.id

    @property
    def keeps_chips(self) -> bool:
        """Whether nobody else is to be given its chips: it is to be started on them, or perhaps runs there."""
        return self.state is not HoldState.RETURNING or self.is_being_started

    @property
    def is_being_started(self) -> bool:
        """Whether an order to start it is under way, be it that the container is theirs by now."""
        forgotten = self.state is HoldState.RETURNING and self.told is not None
        return self.command is not None and (self.state is HoldState.STARTING or forgotten)


def entered(hold: Hold, state: HoldState) -> Hold:
    """Return the hold in another state, or in the same one."""
    assert is_edge(hold.state, state), f"hold of {hold.name}: no edge {hold.state} -> {state}"
    return replace(hold, state=state)


def is_edge(before: HoldState, after: HoldState) -> bool:
    return before is after or (before, after) in EDGES
