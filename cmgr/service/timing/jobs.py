"""The periodic jobs, and the times of the calendar. A job does nothing but put a fact."""

import threading
from collections.abc import Callable, Collection, Iterable
from datetime import UTC, datetime, timedelta, tzinfo

from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger

from cmgr.errors import ConfigError
from cmgr.model.values.handling.calendar import Moments, shows
from cmgr.model.values.messages.facts import Fact, Resync, Tick

LOOK_SECONDS = 5.0
"""How often the system's clock is looked at; a job that it holds up is late by that at most."""

STEP = timedelta(seconds=1)


class Jobs:
    """Puts `Resync` and `Tick` at their intervals, from `start` to `close`.

    `drift` returns how far the system's clock is ahead of one that nobody sets: APScheduler goes by the system's, and
    would wait for a day where that was set back by one.
    """

    def __init__(
        self, put: Callable[[Fact], None], resync: timedelta, tick: timedelta, drift: Callable[[], timedelta]
    ) -> None:
        # misfire_grace_time: APScheduler would skip a run that is more than a second late.
        self._scheduler = BackgroundScheduler(
            timezone="UTC", job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1}
        )
        self._scheduler.add_job(put, "interval", (Resync(),), seconds=resync.total_seconds())
        self._scheduler.add_job(put, "interval", (Tick(),), seconds=tick.total_seconds())
        self._drift = drift
        self._closed = threading.Event()
        self._minder = threading.Thread(target=self._mind_the_clock, name="clock", daemon=True)

    def start(self) -> None:
        self._scheduler.start()
        self._minder.start()

    def close(self) -> None:
        """Stop. Safe to repeat."""
        self._closed.set()
        if self._minder.is_alive():
            self._minder.join(LOOK_SECONDS)
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)

    def _mind_the_clock(self) -> None:
        known = self._drift()
        while not self._closed.wait(LOOK_SECONDS):
            now = self._drift()
            if abs(now - known) > STEP:
                known = now
                for job in self._scheduler.get_jobs():
                    job.modify(next_run_time=datetime.now(UTC))


def machine_zone() -> tzinfo:
    """Return the machine's time zone. Raises `ConfigError`."""
    try:
        zone = CronTrigger().timezone
    except (LookupError, ValueError, OSError) as error:  # tzlocal has found something wrong in /etc.
        raise ConfigError("cannot tell the time zone of this machine", hint="set time_zone") from error
    assert isinstance(zone, tzinfo)
    return zone


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


def _trigger(moments: Moments, zone: tzinfo) -> CronTrigger:
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
