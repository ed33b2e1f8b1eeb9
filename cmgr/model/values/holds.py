"""Holds: the only thing that entitles cmgr to start a container. The life of one as states and edges, kept as data.

Every change of state goes through `entered`, along an edge of `EDGES`. Any other is a bug.
"""

import re
from collections.abc import Mapping
from dataclasses import field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from cmgr.frozen import dataclass, replace
from cmgr.model.values.chips import ChipId
from cmgr.model.values.life import ThisLife
from cmgr.model.values.messages.commands import CommandId
from cmgr.model.values.services.containers import DEFAULT_GRACE, NO_RESTART, ContainerKey
from cmgr.sentences.sentence import Sentence

_ONE_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def one_word(text: str) -> bool:
    """Return whether a shell and an option parser take the text for one plain word."""
    return _ONE_WORD.fullmatch(text) is not None


class HoldState(StrEnum):
    """Where a held container is.

    `TO_STOP`: it is to be stopped, and nothing of that is under way. `STOPPING`: it was told to stop. `DOWN`: it is to
    be started. `STARTING`: it was told to start; that a try has failed does not say that it is down. `SETTLING`: cmgr
    has started it, and it has yet to show that it stays up. `FAILED`: it is down, and told as failed; it is tried on,
    but for one whose healing was given up. `FORGOTTEN`: it is no longer ours, and a start of ours is still under way.
    `RETURNING`: it is no longer ours, and its restart policy goes back, be it that it has to be down for that.
    """

    TO_STOP = "to stop"
    STOPPING = "stopping"
    DOWN = "down"
    STARTING = "starting"
    SETTLING = "settling"
    FAILED = "failed"
    FORGOTTEN = "forgotten"
    RETURNING = "returning"


class Edge(NamedTuple):
    """Why one state becomes another. `anew`: what was tried before does not count any more."""

    why: str
    anew: bool


def _anew(why: str) -> Edge:
    return Edge(why, anew=True)


def _on(why: str) -> Edge:
    return Edge(why, anew=False)


CANNOT_HAPPEN = None

EDGES: Mapping[tuple[HoldState, HoldState], Edge | None] = {
    (HoldState.TO_STOP, HoldState.STOPPING): _on("it is told to stop"),
    (HoldState.TO_STOP, HoldState.DOWN): CANNOT_HAPPEN,
    (HoldState.TO_STOP, HoldState.STARTING): CANNOT_HAPPEN,
    (HoldState.TO_STOP, HoldState.SETTLING): CANNOT_HAPPEN,
    (HoldState.TO_STOP, HoldState.FAILED): CANNOT_HAPPEN,
    (HoldState.TO_STOP, HoldState.FORGOTTEN): CANNOT_HAPPEN,
    (HoldState.TO_STOP, HoldState.RETURNING): _anew("it need not be stopped any more, or a person wants it left"),
    (HoldState.STOPPING, HoldState.TO_STOP): _on("the order reached nobody"),
    (HoldState.STOPPING, HoldState.DOWN): _anew("its stop has worked"),
    (HoldState.STOPPING, HoldState.STARTING): CANNOT_HAPPEN,
    (HoldState.STOPPING, HoldState.SETTLING): CANNOT_HAPPEN,
    (HoldState.STOPPING, HoldState.FAILED): CANNOT_HAPPEN,
    (HoldState.STOPPING, HoldState.FORGOTTEN): CANNOT_HAPPEN,
    (HoldState.STOPPING, HoldState.RETURNING): _anew("a person had stopped it, or wants it left"),
    (HoldState.DOWN, HoldState.TO_STOP): _anew("something has started it, and too early"),
    (HoldState.DOWN, HoldState.STOPPING): CANNOT_HAPPEN,
    (HoldState.DOWN, HoldState.STARTING): _on("nothing is in its way"),
    (HoldState.DOWN, HoldState.SETTLING): _on("an earlier start has worked, or its restart policy has started it"),
    (HoldState.DOWN, HoldState.FAILED): _on("it died of what it was started into, once too often"),
    (HoldState.DOWN, HoldState.FORGOTTEN): CANNOT_HAPPEN,
    (HoldState.DOWN, HoldState.RETURNING): _anew("it runs by somebody else's hand, or a person wants it left"),
    (HoldState.STARTING, HoldState.TO_STOP): _anew("it is up but not paused as it was, and too early"),
    (HoldState.STARTING, HoldState.STOPPING): CANNOT_HAPPEN,
    (HoldState.STARTING, HoldState.DOWN): _on("its start has failed, or has to wait"),
    (HoldState.STARTING, HoldState.SETTLING): _on("its start has worked"),
    (HoldState.STARTING, HoldState.FAILED): _on("its start has failed once too often"),
    (HoldState.STARTING, HoldState.FORGOTTEN): _anew("a person wants it left while it is being started"),
    (HoldState.STARTING, HoldState.RETURNING): _anew("it runs, or a person wants it left"),
    (HoldState.SETTLING, HoldState.TO_STOP): _anew("it is unhealthy, or does not answer, or it is held again"),
    (HoldState.SETTLING, HoldState.STOPPING): CANNOT_HAPPEN,
    (HoldState.SETTLING, HoldState.DOWN): _on("it did not stay up"),
    (HoldState.SETTLING, HoldState.STARTING): CANNOT_HAPPEN,
    (HoldState.SETTLING, HoldState.FAILED): _on("it did not stay up, once too often"),
    (HoldState.SETTLING, HoldState.FORGOTTEN): CANNOT_HAPPEN,
    (HoldState.SETTLING, HoldState.RETURNING): CANNOT_HAPPEN,
    (HoldState.FAILED, HoldState.TO_STOP): _anew("something has started it, and too early"),
    (HoldState.FAILED, HoldState.STOPPING): CANNOT_HAPPEN,
    (HoldState.FAILED, HoldState.DOWN): _anew("a person, or a new daemon, lets it be tried again"),
    (HoldState.FAILED, HoldState.STARTING): _on("it is tried on"),
    (HoldState.FAILED, HoldState.SETTLING): _on("its restart policy has started it"),
    (HoldState.FAILED, HoldState.FORGOTTEN): CANNOT_HAPPEN,
    (HoldState.FAILED, HoldState.RETURNING): _anew("it runs by somebody else's hand, or a person wants it left"),
    (HoldState.FORGOTTEN, HoldState.TO_STOP): _anew("a person moves it, and it runs"),
    (HoldState.FORGOTTEN, HoldState.STOPPING): CANNOT_HAPPEN,
    (HoldState.FORGOTTEN, HoldState.DOWN): CANNOT_HAPPEN,
    (HoldState.FORGOTTEN, HoldState.STARTING): CANNOT_HAPPEN,
    (HoldState.FORGOTTEN, HoldState.SETTLING): CANNOT_HAPPEN,
    (HoldState.FORGOTTEN, HoldState.FAILED): CANNOT_HAPPEN,
    (HoldState.FORGOTTEN, HoldState.RETURNING): _anew("its start has failed, or nobody will say any more"),
    (HoldState.RETURNING, HoldState.TO_STOP): _anew("it is held again"),
    (HoldState.RETURNING, HoldState.STOPPING): CANNOT_HAPPEN,
    (HoldState.RETURNING, HoldState.DOWN): _anew("it died before its restart policy was back"),
    (HoldState.RETURNING, HoldState.STARTING): CANNOT_HAPPEN,
    (HoldState.RETURNING, HoldState.SETTLING): CANNOT_HAPPEN,
    (HoldState.RETURNING, HoldState.FAILED): CANNOT_HAPPEN,
    (HoldState.RETURNING, HoldState.FORGOTTEN): CANNOT_HAPPEN,
}
"""Each change of a state that there could be, and what it means where it can."""


class Cause(StrEnum):
    """Why a container is held: for an episode of its ring, to be healed though its chips are well, to be moved, or for
    its group."""

    EPISODE = "episode"
    HEAL = "heal"
    MOVE = "move"
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class Attempt:
    """The present attempt to do what a hold asks for, and how that went.

    `command` is the answer it waits for. `tries` counts failures in a row, and `delays` those after them that do not
    count: they only make the wait longer. `error`: the last one. `told`: when cmgr first told it to stop, or to start,
    as the hold's state says.
    """

    tries: int = 0
    retry_at: datetime | None = None
    error: Sentence | str = ""
    command: ThisLife[CommandId | None] = None
    delays: ThisLife[int] = 0
    told: ThisLife[datetime | None] = None


@dataclass(frozen=True)  # Without slots: it is copied all the time.
class Hold:
    """The written promise: cmgr stopped this container, or it died by itself, and cmgr will start it again.

    `episode` is 0 while the cause is another one.
    `down`: when its life ended. `run` is the life that ended: a container that runs with another word was started by
    somebody; while it settles it is the life that does, until `attempt.retry_at`. `revived` is the life that its
    restart policy may have begun, by an event that a list has yet to confirm. `frozen`: it was when it was stopped, and
    is again after its start. `sick`: so many starts in a row ended with it unhealthy, or without
    an answer.
    `chips`: those that it is to be started on. `wish`: a person has ordered these instead, and it gets them once it is
    down. `short`: why it cannot be moved although it should.
    `unsure`: since when an order to start it has failed; it may have worked all the same, which a later list tells.
    `heard`: since when events tell of another life than the one that was ended; a later list says what is so.
    `beside`: the containers that had run on a chip of its own together with it when it was held.
    `places`: how many were to run on each of its chips when it was held, itself among them.
    `inherited`: its container was made by compose in the place of a held one, and has not been started since.
    `follows`: those with which it is stopped and started.
    `anew`: as that of its container, with the restart policy that it had.
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
    attempt: Attempt = Attempt()
    cause: Cause = Cause.EPISODE
    down: datetime | None = None
    frozen: bool = False
    sick: int = 0
    inherited: bool = False
    wish: frozenset[ChipId] = frozenset()
    short: Sentence | str = ""
    beside: frozenset[ContainerKey] = frozenset()
    places: Mapping[ChipId, int] = field(default_factory=dict)
    reason: Sentence | str = ""
    follows: frozenset[ContainerKey] = frozenset()
    anew: tuple[str, ...] = ()
    revived: ThisLife[str] = ""
    unsure: ThisLife[datetime | None] = None
    heard: ThisLife[datetime | None] = None

    @property
    def to_type(self) -> str:
        """How a command names it. A label can be the name, and what cmgr tells to type a shell must not take apart."""
        return self.name if one_word(self.name) else self.key.id

    @property
    def keeps_chips(self) -> bool:
        """Whether nobody else is to be given its chips: it is to be started on them, or perhaps runs there."""
        return self.state is not HoldState.RETURNING

    @property
    def is_being_started(self) -> bool:
        """Whether an order to start it is under way, be it that the container is theirs by now."""
        return self.attempt.command is not None and self.state in (HoldState.STARTING, HoldState.FORGOTTEN)

    @property
    def is_to_end(self) -> bool:
        """Whether it is to be stopped, or is being stopped."""
        return self.state in (HoldState.TO_STOP, HoldState.STOPPING)

    @property
    def is_down(self) -> bool:
        """Whether it was stopped or has died, and no try to start it can be under way."""
        return self.state in (HoldState.DOWN, HoldState.FAILED)

    @property
    def is_held_down(self) -> bool:
        """Whether cmgr holds it down, or has yet to see that its start has worked."""
        return not self.is_theirs and self.state is not HoldState.SETTLING

    @property
    def is_given_up(self) -> bool:
        """Whether only a person, or a new daemon, lets it be tried again: it was healed too often."""
        return self.state is HoldState.FAILED and not self.attempt.tries

    @property
    def stays_down(self) -> bool:
        """Whether no order to start it is under way: at most one that switches its restart policy off."""
        return self.is_down or (self.state is HoldState.STARTING and self.attempt.command is None)

    @property
    def runs(self) -> bool:
        """Whether its container, if that runs, is stopped by a fault as one that is not held."""
        return self.state is HoldState.SETTLING or (self.state is HoldState.RETURNING and self.attempt.command is None)

    @property
    def is_theirs(self) -> bool:
        """Whether it is no longer ours, but for what has to be put right."""
        return self.state in (HoldState.FORGOTTEN, HoldState.RETURNING)


def entered(hold: Hold, state: HoldState) -> Hold:
    """Return the hold in this state. An order that is under way is answered all the same."""
    if hold.state is state:
        return hold
    edge = edge_of(hold, state)
    hold = replace(hold, state=state)
    return replace(hold, attempt=Attempt(command=hold.attempt.command)) if edge.anew else hold


def edge_of(hold: Hold, state: HoldState) -> Edge:
    """Return the edge to another state from the one that the hold is in."""
    edge = EDGES[hold.state, state]
    assert edge is not None, f"hold of {hold.name}: no edge {hold.state} -> {state}"
    return edge
