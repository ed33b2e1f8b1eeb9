"""Outages: services that ought to serve and do not, each since when and by which cause, and what that adds up to."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from cmgr.frozen import dataclass, replace
from cmgr.model.values.services.containers import ContainerKey

KEPT_DAYS = 731
"""So many days are kept, two years, whatever the history is cut to."""

UNSAVED_DAYS = 31
"""So many days are known here: for so long the database may refuse what is written, and none of them is lost."""

_DAY = timedelta(days=1)


class OutageCause(StrEnum):
    """Why a service is out.

    `FAULT`: of its chips. `ORDER`: a person, or a drill of the calendar, has ordered a reset or a test. `HEAL`: it
    ailed though its chips are well, and cmgr restarts it. `MOVE`: it moves to other chips. `GROUP`: its group is
    stopped. `MAINTENANCE`: it went down by itself while a person worked on the machine. `ITSELF`: the same, at another
    time. `UNSEEN`: it is in another life than when cmgr ran last, so that nobody can say how long it served meanwhile.
    """

    FAULT = "fault"
    ORDER = "order"
    HEAL = "heal"
    MOVE = "move"
    GROUP = "group"
    MAINTENANCE = "maintenance"
    ITSELF = "itself"
    UNSEEN = "unseen"


@dataclass(frozen=True, slots=True)
class Outage:
    """A service that ought to serve and does not. `service`: its full name, which its next container has, too.

    `ours`: a start of cmgr's is under way, or has worked. `up`: since when it serves, while cmgr has yet to see that it
    goes on; if it does not, it has been out all the time.
    """

    key: ContainerKey
    service: str
    since: datetime
    cause: OutageCause
    ours: bool = False
    up: datetime | None = None


DayKey = tuple[str, str, OutageCause]


@dataclass(frozen=True, slots=True)
class Downtime:
    """The outages of one service by one cause on one day, which is one of UTC.

    `down`: how long they were in all. `outages`: how many ended that day. `recoveries`: those of them that ended by a
    start of cmgr's; `recovered`: how long these were.
    """

    service: str
    day: str
    cause: OutageCause
    down: timedelta = timedelta()
    outages: int = 0
    recoveries: int = 0
    recovered: timedelta = timedelta()

    @property
    def key(self) -> DayKey:
        return self.service, self.day, self.cause


Days = Mapping[DayKey, Downtime]


def booked(known: Days, outage: Outage, end: datetime) -> Days:
    """Return what is known with this outage, which is over. Whoever stores it has long had what is older."""
    end = max(end, outage.since)
    parts = dict(_days(max(outage.since, end - KEPT_DAYS * _DAY), end))
    last, found = _day(end), {}
    for day in {**parts, last: None}:
        key, length = (outage.service, day, outage.cause), parts.get(day, timedelta())
        before = known.get(key) or Downtime(*key)
        ended = day == last
        found[key] = replace(
            before,
            down=before.down + length,
            outages=before.outages + ended,
            recoveries=before.recoveries + (ended and outage.ours),
            recovered=before.recovered + (length if outage.ours else timedelta()),
        )
    return {key: day for key, day in known.items() if day.day >= _day(end - UNSAVED_DAYS * _DAY)} | found


def added(old: Days, new: Days) -> Iterator[Downtime]:
    """Yield by how much each day is more than it was. A day that was forgotten meanwhile has begun anew."""
    for key, day in new.items() if new is not old else ():
        before = old.get(key)
        if before is day:
            continue
        if before is None or before.down > day.down or before.outages > day.outages:
            yield day
        else:
            yield replace(
                day,
                down=day.down - before.down,
                outages=day.outages - before.outages,
                recoveries=day.recoveries - before.recoveries,
                recovered=day.recovered - before.recovered,
            )


def _days(since: datetime, until: datetime) -> Iterator[tuple[str, timedelta]]:
    """Yield each day that has a part of the time between these, and how long that part is."""
    at = since.astimezone(UTC)
    while at < until:
        midnight = at.replace(hour=0, minute=0, second=0, microsecond=0) + _DAY
        end = min(midnight, until)
        yield _day(at), end - at
        at = midnight


def _day(at: datetime) -> str:
    return at.astimezone(UTC).date().isoformat()


class Spent(NamedTuple):
    """How long services were down, how much of that a start of cmgr's has ended, and how long nobody can say."""

    down: timedelta = timedelta()
    recovered: timedelta = timedelta()
    unseen: timedelta = timedelta()


NOTHING = Spent()


def summed(days: Iterable[Downtime], before: Spent = NOTHING) -> Spent:
    """Return what all these days come to, with what was before."""
    down, recovered, unseen = before
    for day in days:
        if day.cause is OutageCause.UNSEEN:
            unseen += day.down
        else:
            down, recovered = down + day.down, recovered + day.recovered
    return Spent(down, recovered, unseen)
