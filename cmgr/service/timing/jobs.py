"""The periodic job, and the times of the calendar.

APScheduler is loaded where it is used: it looks through whatever is installed for parts of it.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime, timedelta, tzinfo
from typing import TYPE_CHECKING

from cmgr.errors import ConfigError
from cmgr.loading import whole, without_asyncio
from cmgr.model.values.handling.calendar import Moments, shows
from cmgr.model.values.messages.facts import Resync
from cmgr.model.values.troubles import Trouble
from cmgr.sentences.sentence import say
from cmgr.service.part import Part, degraded

if TYPE_CHECKING:
    from apscheduler.schedulers.background import BackgroundScheduler
    from apscheduler.triggers.cron import CronTrigger

STEP = timedelta(seconds=1)

AGAIN = 1.0
"""Seconds after which it is tried again to load APScheduler."""


class Jobs(Part):
    """Puts `Resync` at its interval, from `begin` to `close`.

    `drift`: how far the system's clock is ahead of one that nobody sets. APScheduler goes by the system's, and would
    wait for a day where that was set back by one, which `look` sees.
    """

    def __init__(self, put: Callable[[Resync], None], resync: timedelta, drift: Callable[[], timedelta]) -> None:
        self._put = put
        self._resync = resync
        self._drift = drift
        # Now, and not when they begin: a clock that is set in between is set for them, too.
        self._known = drift()
        self._lock = threading.Lock()
        """Held to begin and to end, which may come at once."""
        self._closed = False
        self._scheduler: BackgroundScheduler | None = None
        self.trouble = ""
        """Why it cannot begin, while it is tried again. Any thread."""

    def begin(self, warn: Callable[[str], None]) -> None:
        """Begin. Any thread; it takes a while, until a file can be opened. After `close` it does nothing."""
        while not self._begun(warn):
            time.sleep(AGAIN)

    def _begun(self, warn: Callable[[str], None]) -> bool:
        try:
            with whole(), without_asyncio():
                from apscheduler.schedulers.background import BackgroundScheduler
                from apscheduler.triggers.interval import IntervalTrigger

            # Not by its name: APScheduler looks names up in what is installed, once, and where no file can be opened
            # just then it finds none, and tells that for as long as the process lives.
            every = IntervalTrigger(seconds=self._resync.total_seconds(), timezone=UTC)
            # misfire_grace_time: APScheduler would skip a run that is more than a second late.
            scheduler = BackgroundScheduler(
                timezone="UTC", job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1}
            )
            scheduler.add_job(self._put, every, (Resync(),))
            with self._lock:
                if not self._closed:
                    scheduler.start()
                    self._scheduler = scheduler
        except (ImportError, OSError, LookupError) as error:
            self.trouble = f"cannot begin to look regularly how everything is: {error}"
            warn(self.trouble)
            return self._closed
        self.trouble = ""
        return True

    def troubles(self) -> Iterable[Trouble]:
        return degraded("jobs", say("trouble.jobs"), self.trouble, "journalctl -u cmgr")

    def close(self) -> None:
        """Stop. Safe to repeat."""
        with self._lock:
            self._closed = True
        if self._scheduler is not None and self._scheduler.running:
            self._scheduler.shutdown(wait=False)

    def look(self) -> None:
        """Do the job at once where the system's clock was set. A job held up is late until then."""
        drift = self._drift()
        if abs(drift - self._known) > STEP and self._scheduler is not None:
            self._known = drift
            for job in self._scheduler.get_jobs():
                job.modify(next_run_time=datetime.now(UTC))


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
