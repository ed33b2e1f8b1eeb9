"""The regular looks, and the times of the calendar.

APScheduler is loaded where it is used: it looks through whatever is installed for parts of it.
"""

from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING

from cmgr.errors import ConfigError
from cmgr.loading import without_asyncio
from cmgr.model.values.handling.calendar import Moments, shows
from cmgr.model.values.messages.facts import Resync
from cmgr.service.part import Part

if TYPE_CHECKING:
    from apscheduler.triggers.cron import CronTrigger


class Resyncs(Part):
    """Puts `Resync` at its interval, from `start` on. The deciding thread only. `now`: a clock that nobody sets."""

    def __init__(self, put: Callable[[Resync], None], every: timedelta, now: Callable[[], datetime]) -> None:
        self._put, self._every, self._now = put, every, now
        self._due = now() + every

    def start(self) -> None:
        self._due = self._now() + self._every

    def look(self) -> None:
        if not self.left():
            self.start()
            self._put(Resync())

    def left(self) -> timedelta:
        """Return how long it is until the next one."""
        return max(timedelta(), self._due - self._now())


def machine_zone() -> tzinfo:
    """Return the machine's time zone as it is now. Raises `ConfigError`."""
    from tzlocal import reload_localzone

    try:
        return reload_localzone()
    except (LookupError, ValueError, OSError) as error:  # tzlocal has found something wrong in /etc.
        raise ConfigError("cannot tell the time zone of this machine", hint="set time_zone") from error


def next_shown(moments: Collection[Moments], zone: tzinfo, after: datetime) -> datetime | None:
    """Return when a clock in this zone next shows one of them, after a time at which it does not; None: never."""
    triggers = [_trigger(each, zone) for each in moments]
    at = after
    while found := [
        fire for fire in (trigger.get_next_fire_time(None, at) for trigger in triggers) if fire is not None
    ]:
        # A time that is left out when clocks are put forward has another name, and one that comes twice two times.
        times: list[datetime] = [fire.astimezone(UTC).astimezone(zone) for fire in found]
        good = [time for time in times if time > after and shows(moments, time)]
        if good:
            return min(good)
        at = (max(min(times), at).astimezone(UTC) + timedelta(minutes=1)).astimezone(zone)
    return None


def _trigger(moments: Moments, zone: tzinfo) -> "CronTrigger":
    with without_asyncio():
        from apscheduler.triggers.cron import CronTrigger

    def field(numbers: Iterable[int]) -> str:
        return ",".join(str(number) for number in sorted(numbers))

    return CronTrigger(
        minute=field(moments.minutes),
        hour=field(moments.hours),
        day=field(moments.days),
        month=field(moments.months),
        day_of_week=field(moments.weekdays),
        timezone=zone,
    )
