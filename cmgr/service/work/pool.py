"""Threads that carry jobs out, and that the process does not wait for when it ends.

The interpreter joins the threads of `concurrent.futures.ThreadPoolExecutor` before it exits: one call into a daemon
that hangs would keep a service that was told to end for as long as that call may take.
"""

import _thread
import threading
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue

Job = Callable[[], None]


class Pool:
    """At most `most` threads, made as they are needed and kept. A job raises nothing. `submit` on one thread only."""

    def __init__(self, most: int, name: str) -> None:
        self._most = most
        self._name = name
        self._made = 0
        self._jobs: SimpleQueue[tuple[Future[None], Job]] = SimpleQueue()
        self._idle = threading.Semaphore(0)

    def submit(self, job: Job) -> Future[None]:
        """Have the job done soon. Does not block. A future that is cancelled in time is not begun."""
        future: Future[None] = Future()
        self._jobs.put((future, job))
        if not self._idle.acquire(blocking=False) and self._made < self._most:
            self._made += 1
            # `Thread.start` waits until the thread runs. The thread that decides would wait so for each of the first
            # stops, among all those that are under way already: with 32 of them it took 200 ms.
            _thread.start_new_thread(self._work, (f"{self._name}-{self._made}",))
        return future

    def _work(self, name: str) -> None:
        threading.current_thread().name = name
        while True:
            future, job = self._jobs.get()
            if future.set_running_or_notify_cancel():
                job()
                future.set_result(None)
            self._idle.release()
