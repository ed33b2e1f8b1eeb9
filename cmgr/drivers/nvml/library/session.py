"""The processes that ask the GPUs, one for each, and letting go of a GPU for a reset.

A handle keeps its GPU open, and a GPU that anybody has open cannot be reset. A call that hangs in the kernel keeps its
process, which cannot be killed then, and everything that this has open: so each has one GPU. It is ended for a reset,
and with it goes all that the library knew of the GPU before.
"""

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar, cast

from cmgr.drivers.caller import Hangs
from cmgr.drivers.nvml.library import abi, worker
from cmgr.drivers.nvml.library.calls import Event, Handle, Library, Refused
from cmgr.drivers.nvml.library.forks import Forked, Forks, packed, received, unpacked
from cmgr.errors import DriverError
from cmgr.sentences.sentence import say

T = TypeVar("T")

KILL = 10.0
"""Seconds after which a process that has not come back from a call is ended, as far as it can be."""

_ENDS = 0.005
"""Seconds between two looks whether a process that has closed its connections is gone."""

_TOGETHER = 0.05
"""Seconds for which answers are left to lie that have come before the last one."""

_NO_GPU = ""


class InReset(DriverError):
    """The GPU is being reset, and is asked nothing."""


OPENS = 60.0
"""Seconds that a GPU may take until its process answers for the first time: without persistence mode the driver
initialises it then, for 1 to 3 s and more, one GPU after the other."""


class Opening(Hangs):
    """The GPU is being opened by a process that has not answered yet, which may take so long."""


class Ended(DriverError):
    """The process that was asked has ended."""


class _Worker:
    """A process that asks the GPU at `bus`. Any thread."""

    def __init__(self, bus: str, forked: Forked) -> None:
        self.bus = bus
        self.pid, self._asks, self.tells = forked
        self.hears = False
        self.begun = False
        self._lock = threading.Lock()
        self._since: float | None = None
        self._closed = False

    def ask(self, seconds: float, question: Callable[[worker.Gpu], T]) -> T:
        """Return the answer. Raises `Hangs`, `Ended`, and what the process answers with."""
        until = time.monotonic() + seconds
        if not self.begin(question, seconds):
            raise self._late(seconds)
        return cast("T", self.answer(until - time.monotonic(), seconds))

    def begin(self, question: Callable[[worker.Gpu], Any], seconds: float = 0.0) -> bool:
        """Send the question, whose `answer` has to be fetched then. Return whether no other one kept it out so long.

        Raises `Hangs`, `Ended`.
        """
        if not self._lock.acquire(timeout=max(0.0, seconds)):
            return False
        try:
            if self._since is not None and self._answer(0.0) is None:
                raise Hangs(say("driver.not-come-back", library="NVML"))
            self._since = time.monotonic()
            self._send(question)
        except BaseException:
            self._lock.release()
            raise
        return True

    def answer(self, left: float, seconds: float) -> Any:
        """Return the answer to the question that was begun, waited for so long; it had so many seconds in all."""
        try:
            said = self._answer(left)
        finally:
            self._lock.release()
        if said is None:
            raise self._late(seconds)
        well, value = said
        if not well:
            raise value
        return value

    def is_answered(self, seconds: float) -> bool:
        """Wait so long for the answer to the question that was begun; return whether it can be fetched."""
        return self._ready(select.POLLIN, seconds)

    def give_up(self) -> None:
        """Leave the answer to whoever asks next: he throws it away."""
        self._lock.release()

    def fileno(self) -> int:
        return self._asks.fileno()

    @staticmethod
    def _late(seconds: float) -> Hangs:
        return Hangs(say("driver.library-silent", library="NVML", seconds=f"{seconds:g}"))

    def _send(self, question: Callable[[worker.Gpu], Any]) -> None:
        try:
            self._asks.send(packed(question))
        except OSError:
            raise Ended(say("driver.asker-ended")) from None

    def _answer(self, seconds: float) -> tuple[bool, Any] | None:
        """Return the answer to the latest question, None when it does not come in time. There is one at a time."""
        if not self._ready(select.POLLIN, seconds):
            return None
        try:
            message = received(self._asks)
        except OSError:
            message = b""
        if not message:
            raise Ended(say("driver.asker-ended"))
        well, value = unpacked(message)
        self._since, self.begun = None, True
        return well, value

    def _ready(self, what: int, seconds: float) -> bool:
        if self._closed:
            return True
        poll = select.poll()
        poll.register(self._asks, what)
        return bool(poll.poll(max(0.0, 1000 * seconds)))

    @property
    def is_over(self) -> bool:
        """Return whether it has ended, or ends: its connection is closed."""
        return self._ready(select.POLLRDHUP, 0.0)

    def busy(self) -> float:
        """Return for how many seconds it has been in a call; 0 where it is in none."""
        since = self._since
        return 0.0 if since is None or self._ready(select.POLLIN, 0.0) else time.monotonic() - since

    @property
    def hangs(self) -> bool:
        """Return whether it is to be ended, for it has been in a call for longer than any takes."""
        return self.busy() > (KILL if self.begun else OPENS)

    def kill(self) -> None:
        if not self.is_over:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def ends(self, until: float) -> bool:
        """Return whether it has ended by then, and with it all that it had open."""
        if not self._ready(select.POLLRDHUP, until - time.monotonic()):
            return False
        while True:
            try:
                os.kill(self.pid, 0)
            except ProcessLookupError:
                return True
            if time.monotonic() >= until:
                return False
            time.sleep(_ENDS)

    def close(self) -> None:
        """Close its connections; if it cannot be ended, and somebody waits for it, they stay."""
        if self._lock.acquire(timeout=1.0):
            self._closed = True
            self._asks.close()
            self.tells.close()
            self._lock.release()


class Session:
    """`path`: the library's file. `types`: the events that are heard. Any thread.

    Is made before this process has threads, of which the processes that ask would have broken copies.
    """

    def __init__(self, path: str, types: int) -> None:
        self.path = path
        self._types = types
        self._forks = Forks(worker.work)
        self._lock = threading.Lock()
        self._closed = False
        self._away: frozenset[str] = frozenset()
        self._workers: dict[str, _Worker] = {}
        self._left: dict[str, _Worker] = {}
        self._told: dict[int, _Worker] = {}
        self._epoll = select.epoll()
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._epoll.register(self._bell, select.EPOLLIN)

    # Asking.

    def ask(self, bus: str, seconds: float, question: Callable[[Library, Handle], T]) -> T:
        """Return what the question returns for the GPU at that bus id. It is a function of a module, or `partial`.

        Raises `Refused`, `InReset`, `Hangs`, `DriverMissing`.
        """
        return self._asked(bus, seconds, partial(worker.ask_opened, question))

    def judge(self, bus: str, seconds: float, question: Callable[[Library, Callable[[], Handle]], T]) -> T:
        """The same with a question that opens the GPU itself."""
        return self._asked(bus, seconds, partial(worker.ask, question))

    def ask_if_open(self, bus: str, seconds: float, question: Callable[[Library, Handle], T]) -> T | None:
        """The same of a GPU that is not to be opened: nothing where it is not open."""
        return self._asked(bus, seconds, partial(worker.ask_if_open, question))

    def ask_library(self, seconds: float, question: Callable[[Library], T]) -> T:
        """The same with a question that is of no GPU: the process that is asked has none open."""
        return self._asked(_NO_GPU, seconds, partial(worker.ask_library, question))

    def at(self, index: int, seconds: float, question: Callable[[Library, Handle], T]) -> tuple[str, T]:
        """Return the bus id of the GPU of that index, and the answer. The process that is asked is that GPU's then.

        Raises the same; `InReset` while any GPU is: it could be that.
        """
        key = f"GPU {index}"
        bus, said = self._asked(key, seconds, partial(worker.ask_opened, partial(_with_bus, question)), index)
        with self._lock:
            asked = self._workers.pop(key, None)
            if asked is not None and bus not in self._workers and bus not in self._away:
                self._workers[bus], asked.bus = asked, bus
            elif asked is not None:
                asked.kill()
        return bus, said

    def _asked(self, bus: str, seconds: float, task: Callable[[worker.Gpu], T], index: int | None = None) -> T:
        asked = self._worker(bus, index)
        return self._said(asked, partial(asked.ask, seconds, task), bus, index)

    def ask_each(
        self, questions: Mapping[str, Callable[[worker.Gpu], T]], seconds: float
    ) -> Iterator[tuple[str, T | DriverError]]:
        """Ask the GPUs at these bus ids all at once, and yield what each answers, or what `ask` raises, as it comes.

        A GPU that somebody else is asking just now is asked last.
        """
        until, begun, others = time.monotonic() + seconds, dict[int, _Worker](), list[str]()
        try:
            for bus, question in questions.items():
                try:
                    asked = self._worker(bus)
                    if self._said(asked, partial(asked.begin, question), bus):
                        begun[asked.fileno()] = asked
                    else:
                        others.append(bus)
                except DriverError as error:
                    yield bus, error
            yield from self._answers(begun, until, seconds)
        finally:
            for asked in begun.values():  # Whoever listens has had enough.
                asked.give_up()
        for bus in others:
            try:
                yield bus, self._asked(bus, seconds, questions[bus])
            except DriverError as error:
                yield bus, error

    def _answers(self, begun: dict[int, _Worker], until: float, seconds: float) -> Iterator[tuple[str, Any]]:
        """Yield the answers of these, which are taken out."""
        poll = select.poll()
        for file in begun:
            poll.register(file, select.POLLIN)
        if begun:
            # The last one to be asked is mostly the last to answer: one wake for all of them, not one for each.
            next(reversed(begun.values())).is_answered(min(_TOGETHER, seconds))
        while begun:
            ready = [file for file, _ in poll.poll(max(0.0, 1000 * (until - time.monotonic())))]
            for file in ready or [*begun]:
                poll.unregister(file)
                asked = begun.pop(file)
                try:
                    yield asked.bus, self._said(asked, partial(asked.answer, 0.0, seconds), asked.bus)
                except DriverError as error:
                    yield asked.bus, error

    def _said(self, asked: _Worker, said: Callable[[], T], bus: str, index: int | None = None) -> T:
        """Return what the process says, with what its silence, its end and its refusal mean."""
        try:
            return said()
        except Hangs:
            if asked.begun:
                raise
            raise Opening(say("driver.being-opened", bus=bus)) from None
        except Ended:
            self._check(bus, index)
            raise
        except Refused as refused:
            if refused.code == abi.UNINITIALIZED:
                asked.kill()  # The driver was loaded anew: so has to be what the library knows of it.
            raise

    def _check(self, bus: str, index: int | None) -> None:
        if self._closed:
            raise DriverError(say("driver.closed-meanwhile", library="NVML"))
        if bus in self._away or (index is not None and self._away):
            raise InReset(say("driver.being-reset", bus=bus))

    def _worker(self, bus: str, index: int | None = None) -> _Worker:
        with self._lock:
            self._check(bus, index)
            known = self._workers.get(bus)
            if known is not None and known.hangs:
                known.kill()
            if known is not None and not known.is_over:
                return known
            left = self._left.get(bus)
            if left is not None and not left.ends(0.0):
                raise Hangs(say("driver.asker-hangs"))
            self._left.pop(bus, None)
            made = _Worker(bus, self._forks.fork(self.path, bus if index is None else index))
            self._workers[bus] = self._told[made.tells.fileno()] = made
            self._epoll.register(made.tells, select.EPOLLIN)
            return made

    def is_busy(self, bus: str) -> bool:
        """Return whether a call about that GPU is under way, so that nobody knows whether it comes back."""
        with self._lock:
            return any(each.busy() > 0 for each in self._of(bus)) or bus in self._left

    def hanging(self, seconds: float) -> frozenset[str]:
        """Return the GPUs with a call that has not come back for so long; those of `KILL` are ended, where they can."""
        with self._lock:
            found = [each for bus in {*self._workers, *self._left} for each in self._of(bus) if each.busy() > seconds]
            for each in found:
                if each.hangs:
                    each.kill()
            return frozenset(each.bus for each in found)

    def _of(self, bus: str) -> Iterator[_Worker]:
        yield from (of[bus] for of in (self._workers, self._left) if bus in of)

    # Hearing.

    def hear(self, bus: str, seconds: float) -> bool:
        """Have the events of that GPU told; return whether they were not before. Raises as `ask` does."""
        asked = self._worker(bus)
        if asked.hears:
            return False
        asked.hears = True  # The process may tell at once that it hears nothing any more.
        try:
            self._asked(bus, seconds, partial(worker.Gpu.hear, types=self._types))
        except DriverError:
            asked.hears = False
            raise
        return True

    def events(self, seconds: float) -> Iterator[tuple[str, Event | DriverError]]:
        """Yield what comes next, within so long: events, each with its GPU's bus id, or why there are none any more.

        By one thread only.
        """
        for file, _ in self._epoll.poll(seconds):
            if file == self._bell:
                os.eventfd_read(self._bell)
                continue
            with self._lock:
                asked = self._told[file]
            try:
                message = received(asked.tells)
            except OSError:
                message = b""
            if message:
                told = unpacked(message)
                asked.hears = asked.hears and isinstance(told, Event)
                yield asked.bus, told
            else:
                self._forget(file, asked)
                if asked.bus in self._away:
                    continue  # It was to end.
                yield asked.bus, Ended(say("driver.hearer-ended", bus=asked.bus))

    def _forget(self, file: int, ended: _Worker) -> None:
        with self._lock:
            self._epoll.unregister(file)
            del self._told[file]
            if self._workers.get(ended.bus) is ended:
                del self._workers[ended.bus]
        ended.close()

    def begin_anew(self, bus: str) -> None:
        """End the process that asks this GPU; the next question or wish to hear it has another."""
        with self._lock:
            for each in self._of(bus):
                each.kill()

    # Letting go.

    def let_go(self, buses: Collection[str], seconds: float) -> None:
        """Close these GPUs, and leave them closed. Raises `DriverError` when a call about one does not come back."""
        until = time.monotonic() + seconds
        with self._lock:
            before, self._away = self._away, self._away.union(buses)
            ending = [key for key in self._workers if key in self._away or key.startswith("GPU ")]
            for key in ending:
                self._workers[key].kill()
                self._left[key] = self._workers.pop(key)
            left = [each for key in (*ending, *buses) for each in self._of(key)]
        stuck = {each.bus for each in left if not each.ends(until)}
        if stuck:
            with self._lock:
                self._away = self._away.difference(set(buses) - before)
            self.nudge()
            raise DriverError(say("driver.cannot-close", names=sorted(stuck)))

    def take_back(self, buses: Collection[str]) -> None:
        """Let these GPUs be opened again."""
        with self._lock:
            self._away = self._away.difference(buses)

    def nudge(self) -> None:
        """Have `events` return."""
        with self._lock:
            if not self._closed:
                os.eventfd_write(self._bell, 1)

    def close(self) -> None:
        """End every process. Whoever is in `events` has to be out of it."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for each in self._told.values():
                each.kill()
        for each in self._told.values():
            each.close()
        self._epoll.close()
        os.close(self._bell)
        self._forks.close()


def _with_bus(question: Callable[[Library, Handle], T], library: Library, handle: Handle) -> tuple[str, T]:
    return library.bus(handle), question(library, handle)
