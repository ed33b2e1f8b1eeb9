"""The periodic jobs. A job does nothing but put a fact."""

import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from apscheduler.schedulers.background import BackgroundScheduler

from cmgr.model.values.facts import Fact, Resync, Tick

LOOK_SECONDS = 1.0
"""How often the system's clock is looked at."""

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
