"""The appliances of a fleet as they show themselves to each other: for people, and nothing is decided by it."""

from datetime import datetime, timedelta

from cmgr.frozen import dataclass
from cmgr.model.values.ranks import Part

MOST_AILS = 8
"""So many troubles of an appliance are shown to the others."""


@dataclass(frozen=True, slots=True)
class Ail:
    """Something that is wrong there, and what to type there; that is a command of cmgr, or empty."""

    text: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Presence:
    """The state that an appliance shows. `since`: when its service began. `episodes`: so many rings are in one.

    `isolated`: so many chips are. `more`: so many troubles are not among `ails`. `parts`: what the others need of it
    for the rank tables of groups, which people and hooks ask for.
    """

    state: str
    since: datetime
    episodes: int = 0
    isolated: int = 0
    ails: tuple[Ail, ...] = ()
    more: int = 0
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class Appliance:
    """An appliance as another one sees it. `here`: it is this one.

    `life`: how often its cmgr has registered. `presence`: None while it is not seen, and `gone` is when it was last, if
    this life of ours has seen it. `ahead`: how far its clock is ahead of ours, as far as that is known.
    """

    name: str
    here: bool
    version: str
    life: int
    presence: Presence | None = None
    gone: datetime | None = None
    ahead: timedelta | None = None


@dataclass(frozen=True, slots=True)
class FleetSeen:
    """The fleet as the engine told of it last, at `heard`. `led`: since when, at the latest, the same node leads.

    `refusal`: why the engine takes no writes, though it answers, and `remedy`: what to do about that.
    """

    appliances: tuple[Appliance, ...] = ()
    heard: datetime | None = None
    led: datetime | None = None
    refusal: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class EngineNode:
    """A node of the engine. `error`: why it does not answer; then nothing else is known.

    `ahead`: how far its clock is ahead of ours, by whole seconds. `is_full`: it takes no writes.
    """

    endpoint: str
    name: str = ""
    version: str = ""
    leads: bool = False
    is_full: bool = False
    ahead: timedelta | None = None
    error: str = ""
