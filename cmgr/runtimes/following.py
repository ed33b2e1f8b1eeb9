"""Following a daemon's events for ever: what every runtime does alike across silences, breaks and restarts."""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, ClassVar, Protocol, Self

from cmgr.errors import ContainerError, RuntimeAils, RuntimeDown
from cmgr.frozen import dataclass
from cmgr.model.values.handling.policy import backed_off
from cmgr.model.values.messages import facts
from cmgr.ports import RuntimeFact
from cmgr.runtimes.memory import Memory

_SHORT_LIFE = 5.0
"""A stream that ended sooner than this counts as another failure in a row."""

_CLOSE_SECONDS = 1.5


class Broken(RuntimeAils):
    """The connection broke in mid-call: whether the order was carried out is not known."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How many seconds a look and a list may take, and how long to wait before a stream is opened anew."""

    look: float = 5.0
    list: float = 28.0
    first_delay: float = 0.1
    longest_delay: float = 2.0

    IN_PROPORTION: ClassVar[tuple[str, ...]] = ("look", "list")
    """The times that grow and shrink with the one that a list may take."""

    @classmethod
    def within(cls, seconds: float) -> Self:
        """Return limits in which a list may take so long, and everything else of the daemon's in proportion."""
        usual = cls()
        scaled: Any = {name: getattr(usual, name) * seconds / usual.list for name in cls.IN_PROPORTION}
        return replace(usual, **scaled)


class Listener(Protocol):
    """The one who is told of a daemon's comings and goings; on the follower's thread."""

    def up(self, restarted: bool, came: datetime | None) -> None:
        """Hear that events flow, of a new daemon where it has restarted; `came`: then, and not just now."""

    def down(self, why: str) -> None: ...


class Comings:
    """Tells the service of them, and the memory, which believes events only while they flow."""

    def __init__(self, runtime: str, known: Memory[Any, Any], tell: Callable[[RuntimeFact], None]) -> None:
        self._runtime = runtime
        self._flow = known.flow
        self._tell = tell

    def up(self, restarted: bool, came: datetime | None) -> None:
        self._flow(True)
        self._tell(facts.RuntimeUp(self._runtime, restarted, came))

    def down(self, why: str) -> None:
        self._flow(False)
        self._tell(facts.RuntimeDown(self._runtime, why))


class Follower(ABC):
    """Follows a stream of events until it is closed, and opens it anew, with growing delays, whenever it ends."""

    def __init__(self, thread: str, listener: Listener, limits: Limits) -> None:
        self._comings = listener
        self._delays = timedelta(seconds=limits.first_delay), timedelta(seconds=limits.longest_delay)
        self._changed = threading.Condition()
        self._closed = False
        self._up = False
        self._told_down = False
        self._restarted = False
        self._came: datetime | None = None
        self._threads = [threading.Thread(target=self._run, name=thread, daemon=True)]

    @abstractmethod
    def _follow(self) -> None:
        """Follow one stream; return when the next may be opened at once. Raises `ContainerError` when it ended."""

    @abstractmethod
    def _cut(self) -> None:
        """End the stream under way, if there is one; none is opened any more. Any thread."""

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop following; the listener hears nothing any more. Blocks up to 1.5 s."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._cut()
        until = time.monotonic() + _CLOSE_SECONDS
        for thread in self._threads:
            if thread.is_alive() and thread is not threading.current_thread():
                thread.join(max(0.0, until - time.monotonic()))

    @property
    def closed(self) -> bool:
        return self._closed

    def _run(self) -> None:
        failures = 0
        while not self.closed:
            began = time.monotonic()
            try:
                self._follow()
                failures = 0
            except ContainerError as error:
                lasted = self._up and time.monotonic() - began > _SHORT_LIFE
                failures = 1 if lasted else failures + 1
                self._lost(error)
                self._wait(backed_off(*self._delays, failures).total_seconds())

    def _wait(self, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
        """Wait until this time has passed, this is so, or all is over; it is asked at each change."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed or until(), seconds)

    def _flows(self) -> bool:
        """Note that events flow. Return whether that is news."""
        if self._up or self.closed:
            return False
        restarted, came = self._restarted, self._came
        self._restarted, self._came, self._told_down = False, None, False
        with self._changed:
            self._up = True
            self._changed.notify_all()
        self._comings.up(restarted, came)
        return True

    def _lost(self, error: ContainerError) -> None:
        if self._has_died(error):
            self._restarted, self._came = True, None
        self._up = False
        if not self._told_down and not self.closed:
            self._told_down = True
            self._comings.down(error.message.partition(": ")[2] or error.message)

    def _has_died(self, error: ContainerError) -> bool:
        """Return whether the daemon must have ended: while it lives it closes no stream and refuses nobody."""
        return isinstance(error, RuntimeDown | Broken)
