"""The calendar's word: which windows are open now by the system's clock, and when that ends or the next one opens."""

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

from cmgr.config.settings import Config
from cmgr.errors import ConfigError
from cmgr.model.values.handling.calendar import Moments, Opening, Window, shows
from cmgr.model.values.messages.facts import CalendarRead
from cmgr.service.part import Part
from cmgr.service.timing.jobs import machine_zone, next_shown

FARTHEST = timedelta(days=8)
"""A window that does not close for so long is looked at again then."""

GRACE = timedelta(minutes=10)
"""So late a drill is still begun, where cmgr was down at its time."""

STEP = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)

_ZONE = Path("/etc/localtime")


class Timetable(Part):
    """The windows of a configuration. The deciding thread only.

    `clock`: the system's time, which windows go by. `drift`: how far it is ahead of the clock of deadlines.
    """

    def __init__(
        self,
        config: Config,
        clock: Callable[[], datetime],
        drift: Callable[[], timedelta],
        put: Callable[[CalendarRead], None],
        say: Callable[[str], None] = lambda _line: None,
    ) -> None:
        """`say` is told of another time zone of the machine. Raises `ConfigError`."""
        self._put = put
        self._say = say
        self._set = _set()
        self._clock = clock
        self._drift = drift
        self.configure(config)

    def configure(self, config: Config) -> None:
        """Go by these windows from now on. Raises `ConfigError`, and then nothing has changed."""
        self._config = config
        windows = config.windows()
        drills = {row.drill().occasion: row.when.moments for row in config.drills}
        used = windows or drills
        zone: tzinfo = ZoneInfo(config.time_zone) if config.time_zone else machine_zone() if used else UTC
        self._zone = zone
        self._drills: Mapping[str, Collection[Moments]] = drills
        self._windows: Mapping[str, tuple[Window, ...]] = windows
        self._openings: tuple[Opening, ...] = ()
        self._drifted = self._drift()

    def read(self) -> tuple[Opening, ...]:
        """Return every setting with windows as it is now."""
        now, drift = self._clock(), self._drift()
        known = {opening.name: opening for opening in self._openings}
        if abs(drift - self._drifted) > STEP:
            known, self._drifted = {}, drift
        windows = (self._opening(name, now, known.get(name)) for name in sorted(self._windows))
        drills = (self._drill(name, now, known.get(name)) for name in sorted(self._drills))
        self._openings = (*windows, *drills)
        return self._openings

    def look(self) -> None:
        """Tell if it differs from what was returned last."""
        if (found := _set()) != self._set:
            self._follow(found)
        before = self._openings
        if self.read() != before:
            self._put(CalendarRead(self._openings))

    def _follow(self, found: object) -> None:
        """Go by the time zone that the machine has been given."""
        time.tzset()  # For what is written in local time: glibc looks at the file only then.
        with suppress(ConfigError):  # Whoever sets it is in the midst of that: the next look tries again.
            self.configure(self._config)
            self._set = found
            self._say(f"the time zone of the machine was set: it is {time.tzname[0]} now")

    def _opening(self, name: str, now: datetime, known: Opening | None) -> Opening:
        moments = [moment for window in self._windows[name] for moment in window.moments]
        wall = now.astimezone(self._zone)
        is_open = shows(moments, wall)
        if known is not None and known.open == is_open and (known.wall is None or now < known.wall):
            return known
        change = self._closes(moments, now) if is_open else next_shown(moments, self._zone, wall)
        return Opening(name, is_open, self._steady(change), change)

    def _drill(self, name: str, now: datetime, known: Opening | None) -> Opening:
        """Return a drill as a window that is open for `GRACE` after its time; `wall` is that time, also while open."""
        moments, minute = self._drills[name], now.replace(second=0, microsecond=0)
        late = [minute - number * MINUTE for number in range(GRACE // MINUTE)]
        for at in (at.astimezone(self._zone) for at in late):
            # In the hour that comes twice it is held the first time.
            if shows(moments, at) and not at.fold:
                return Opening(name, True, self._steady(at.astimezone(UTC) + GRACE), at)
        if known is not None and not known.open and (known.wall is None or now < known.wall):
            return known
        following = next_shown(moments, self._zone, now.astimezone(self._zone))
        return Opening(name, False, self._steady(following), following)

    def _steady(self, wall: datetime | None) -> datetime | None:
        """Return the time by the clock of deadlines."""
        return None if wall is None else wall.astimezone(UTC) - self._drifted

    def _closes(self, moments: Collection[Moments], now: datetime) -> datetime:
        at = now.replace(second=0, microsecond=0)
        while at < now + FARTHEST and shows(moments, at.astimezone(self._zone)):
            at += MINUTE
        return at.astimezone(self._zone)


def _set() -> object:
    """Return what differs when the machine is given another time zone: by a link or a file elsewhere, or in place."""
    with suppress(OSError):
        link, file = _ZONE.lstat(), _ZONE.stat()
        return link.st_dev, link.st_ino, link.st_mtime_ns, file.st_dev, file.st_ino, file.st_mtime_ns
    return None
