"""Threads that carry jobs out, and that the process does not wait for when it ends.

The interpreter joins the threads of `concurrent.futures.ThreadPoolExecutor` before it exits: one call into a daemon
that hangs would keep a service that was told to end for as long as that call may take.
"""

import _thread
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress

IDLE = 2.0
"""Seconds after which a thread that nobody needs ends: longer than from one look at a chip that boots to the next."""

PATIENCE = 0.25
"""Seconds that jobs wait for the few threads of a pool; then each of them has one of its own."""

Job = Callable[[], None]

Begun = tuple[Future[None], Job]


class _Seat:
    """The place of a thread that waits for a job: `given` is its own as soon as `come` can be acquired."""

    def __init__(self) -> None:
        self.come = threading.Lock()
        self.come.acquire()
        self.given: Begun | None = None


class Pool:
    """At most `most` threads, made as they are needed; all but `kept` end after a while. A job raises nothing.

    `few`: of jobs that are short, unless they hang, so many are done at once. Those that have waited for a while are
    done beside those that hang.
    """

    def __init__(self, most: int, name: str, kept: int = 1, few: int | None = None) -> None:
        self._most = most
        self._few = most if few is None else few
        self._name = name
        self._kept = kept
        self._late = False
        self._made = self._numbers = 0
        self._jobs: deque[Begun] = deque()
        self._idle: list[_Seat] = []
        self._lock = threading.Lock()

    def submit(self, job: Job) -> Future[None]:
        """Have the job done soon. Does not block. A future that is cancelled in time is not begun. Any thread.

        Where no thread can be begun the job waits for another's end; `RuntimeError`: there is no other.
        """
        future: Future[None] = Future()
        with self._lock:
            if self._idle:
                # The last one to have come: by turns, all would be needed once in a while, and none would end.
                seat = self._idle.pop()
                seat.given = future, job
                seat.come.release()
                return future
            self._jobs.append((future, job))
            late = self._made >= self._few
            if self._made >= self._most or (late and self._late):
                return future
            self._late = late
            self._made += 1
        try:
            self._begin(late)
        except RuntimeError:
            with self._lock:
                if not self._made:
                    self._jobs.remove((future, job))
                    raise
        return future

    def _begin(self, late: bool) -> None:
        """Begin a thread that was counted. Raises `RuntimeError`."""
        # `Thread.start` waits until the thread runs. The thread that decides would wait so for each of the first
        # stops, among all those that are under way already: with 32 of them it took 200 ms.
        try:
            _thread.start_new_thread(self._work, (late,))
        except RuntimeError:
            with self._lock:
                self._made -= 1
                self._late = self._late and not late
            raise

    def _work(self, late: bool) -> None:
        with self._lock:
            self._numbers += 1
            threading.current_thread().name = f"{self._name}-{self._numbers}"
        if late:
            self._help()
        while (found := self._next()) is not None:
            future, job = found
            if future.set_running_or_notify_cancel():
                job()
                future.set_result(None)

    def _help(self) -> None:
        """Wait for the few that have jobs; then have each job that none of them has come to done beside theirs."""
        time.sleep(PATIENCE)
        with self._lock:
            self._late = False
            more = max(0, min(len(self._jobs) - 1, self._most - self._made))
            self._made += more
        for _ in range(more):
            with suppress(RuntimeError):  # It waits for one of those that there are.
                self._begin(late=False)

    def _next(self) -> Begun | None:
        """Return the next job; None: the thread is to end."""
        seat = _Seat()
        with self._lock:
            if self._jobs:
                return self._jobs.popleft()
            self._idle.append(seat)
        while not seat.come.acquire(timeout=IDLE if self._made > self._kept else -1):
            with self._lock:
                if seat in self._idle and self._made > self._kept:
                    self._idle.remove(seat)
                    self._made -= 1
                    return None
        return seat.given
