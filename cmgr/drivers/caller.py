"""Calls into a C library that may never come back: each is bounded in time, whatever the library does.

Rules:
1. Calls go in one after the other, because nobody knows whether the library stands more than one at a time. A call that
   takes longer than `GIVE_WAY` no longer keeps the others out: better two at a time than a machine that waits.
2. A call that exceeds its limit is given up with its thread. Until it returns, its owner is *stuck*: whatever else
   would be called for the same owner fails at once. Others are served by a new thread.
"""

import threading
import time
from collections.abc import Callable
from typing import TypeVar, cast

from cmgr.errors import DriverError
from cmgr.sentences.sentence import say

GIVE_WAY = 0.5
"""Seconds after which a call lets others in beside it."""

READ_SECONDS = 4.5
"""The longest that a driver's `read` takes in all; the port says 5 s."""

MEASURE_SECONDS = 2.5
"""The longest that a driver's `measure` takes in all."""

BEGIN = 10
"""So many times as long as over an answer the library may take to be loaded and to begin."""

T = TypeVar("T")


class Hangs(DriverError):
    """The library does not come back from a call."""


class _Job:
    def __init__(self, owner: str, function: Callable[[], object]) -> None:
        self.owner = owner
        self.function = function
        self.began = 0.0
        self.done = False
        self.result: object = None
        self.error: BaseException | None = None


class Caller:
    """Runs functions on threads of its own. Any thread may call. `library`: what errors call the library."""

    def __init__(self, library: str, give_way: float = GIVE_WAY) -> None:
        self._library = library
        self._give_way = give_way
        self._changed = threading.Condition()
        self._inside: _Job | None = None
        self._stuck: dict[str, _Job] = {}
        self._jobs: list[_Job] = []
        self._idle = 0
        self._closed = False

    def call(self, owner: str, seconds: float, function: Callable[[], T]) -> T:
        """Return what the function returns, or raise what it raises. Raises `Hangs` after so many seconds."""
        job = _Job(owner, function)
        with self._changed:
            self._check(owner)
            self._enter(job)
            self._check(owner)
            self._hand_over(job)
            if not self._changed.wait_for(lambda: job.done or self._closed, seconds):
                self._stuck[owner] = job
                self._leave(job)
                raise Hangs(say("driver.library-silent", library=self._library, seconds=f"{seconds:g}"))
            if not job.done:
                raise Hangs(say("driver.closed-meanwhile", library=self._library))
        if job.error is not None:
            raise job.error
        return cast("T", job.result)

    def stuck(self, seconds: float) -> frozenset[str]:
        """Return the owners of calls that were given up, and have not come back since they began so long ago."""
        before = time.monotonic() - seconds
        with self._changed:
            return frozenset(owner for owner, job in self._stuck.items() if job.began <= before)

    def close(self) -> None:
        """Let everybody who waits go. A thread that is inside the library stays there: nobody can call it back."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _check(self, owner: str) -> None:
        if self._closed:
            raise Hangs(say("driver.closed-meanwhile", library=self._library))
        if owner in self._stuck:
            raise Hangs(say("driver.not-come-back", library=self._library))

    def _enter(self, job: _Job) -> None:
        while self._inside is not None and not self._closed:
            left = self._inside.began + self._give_way - time.monotonic()
            if left <= 0:
                break
            self._changed.wait(left)
        self._inside = job
        job.began = time.monotonic()

    def _leave(self, job: _Job) -> None:
        if self._inside is job:
            self._inside = None
            self._changed.notify_all()

    def _hand_over(self, job: _Job) -> None:
        self._jobs.append(job)
        if self._idle >= len(self._jobs):
            self._changed.notify_all()
            return
        threading.Thread(target=self._serve, name="driver-call", daemon=True).start()

    def _serve(self) -> None:
        with self._changed:
            while not self._closed:
                while not self._jobs and not self._closed:
                    self._idle += 1
                    self._changed.wait()
                    self._idle -= 1
                if self._jobs and not self._closed:
                    self._work(self._jobs.pop(0))

    def _work(self, job: _Job) -> None:
        self._changed.release()
        try:
            job.result = job.function()
        except BaseException as error:
            job.error = error
        finally:
            self._changed.acquire()
        job.done = True
        self._leave(job)
        if self._stuck.get(job.owner) is job:
            del self._stuck[job.owner]
        self._changed.notify_all()
