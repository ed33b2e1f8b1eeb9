"""The periodic jobs. A job does nothing but put a fact."""

from collections.abc import Callable
from datetime import timedelta

from apscheduler.schedulers.background import BackgroundScheduler

from cmgr.model.facts import Fact, Resync, Tick


class Jobs:
    """Puts `Resync` and `Tick` at their intervals, from `start` to `close`."""

    def __init__(self, put: Callable[[Fact], None], resync: timedelta, tick: timedelta) -> None:
        # misfire_grace_time: APScheduler would skip a run that is more than a second late.
        self._scheduler = BackgroundScheduler(
            timezone="UTC", job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1}
        )
        self._scheduler.add_job(put, "interval", (Resync(),), seconds=resync.total_seconds())
        self._scheduler.add_job(put, "interval", (Tick(),), seconds=tick.total_seconds())

    def start(self) -> None:
        self._scheduler.start()

    def close(self) -> None:
        """Stop. Safe to repeat."""
        if self._scheduler.running:
            self._scheduler.shutdown(wait=False)
