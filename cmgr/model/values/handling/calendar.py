"""Hours of the week or the month, as a clock on the wall shows them, and what the calendar says of them now."""

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from cmgr.frozen import dataclass
from cmgr.model.values.chips import RingId
from cmgr.model.values.life import ThisLife

MAINTENANCE_WINDOWS = "maintenance.windows"
RESET_WINDOWS = "reset.window_hours"
REBOOT_WINDOW = "machine.reboot_window"
DRILLS = "drills."


class Moments(NamedTuple):
    """The minutes that one cron expression names. `weekdays` begin with Monday, 0."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]


class Window(NamedTuple):
    """A window as the configuration spells it: it is open in each of these minutes."""

    text: str
    moments: tuple[Moments, ...]


@dataclass(frozen=True, slots=True)
class Opening:
    """A setting with windows, by its name: whether one of them is open, and when that ends or the next one opens.

    `until`: that time as deadlines have it. `wall`: the same by the system's clock, in the zone of the windows; it is
    what a person reads, and two lives of cmgr know the same window by it. None: never.
    """

    name: str
    open: bool
    until: datetime | None = None
    wall: datetime | None = None

    @property
    def words(self) -> str:
        """When that is, for a person."""
        return f"{self.wall:%a %Y-%m-%d %H:%M %Z}" if self.wall is not None else "never"


@dataclass(frozen=True, slots=True)
class Occasion:
    """The last time that something of the calendar was begun. `due`: the system's time that tells it from others.

    `rings`: those whose episode is a drill's, until it is over. `in_this_life`: it was begun in this life of cmgr.
    """

    name: str
    due: datetime
    rings: frozenset[RingId] = frozenset()
    in_this_life: ThisLife[bool] = False


class Exercise(StrEnum):
    """The beginning of a drill."""

    RESET = "reset"
    FAULT = "fault"


class Drill(NamedTuple):
    """A recovery that is practised, of these chips or of those that the container uses. `code`: the fault's."""

    name: str
    what: Exercise
    chips: tuple[int, ...] = ()
    container: str = ""
    code: str = ""

    @property
    def occasion(self) -> str:
        """The name of its times in the calendar."""
        return f"{DRILLS}{self.name}"


def shows(moments: Iterable[Moments], wall: datetime) -> bool:
    """Return whether a clock that shows this is within any of them.

    An hour that is left out when clocks are put forward is never shown, one that comes twice is shown twice.
    """
    return any(
        wall.minute in each.minutes
        and wall.hour in each.hours
        and wall.weekday() in each.weekdays
        and wall.day in each.days
        and wall.month in each.months
        for each in moments
    )
