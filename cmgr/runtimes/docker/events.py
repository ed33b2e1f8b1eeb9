"""Docker's event stream: followed for ever by one thread, across silences and restarts of the daemon."""

import json
import re
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Protocol

from cmgr.errors import ContainerError, RuntimeDown
from cmgr.model.values.containers import Exit
from cmgr.runtimes.docker.line import Line
from cmgr.runtimes.docker.wire import Broken, Clients, Limits

_SHORT_LIFE = 5.0
"""A stream that ended sooner than this counts as another failure in a row."""

_PAST = 600 * 10**9
"""How far back, in nanoseconds, Docker is asked at first: what it still knows says whose deaths were asked for."""

_WARM = 8

_LONGEST_LINE = 2**20
"""So many bytes may one event have."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a container. `at` is in nanoseconds of Unix time."""

    action: str
    id: str
    at: int
    attributes: Mapping[str, str]

    def exit(self) -> Exit | None:
        """Return how a container ended, as the event of its death tells it."""
        code = self.attributes.get("exitCode", "")
        if not re.fullmatch(r"-?[0-9]{1,10}", code):
            return None
        return Exit(int(code), datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=self.at // 1000))


def parsed(line: bytes) -> Event | None:
    """Return the event that a line of the stream holds, or None when it holds none that can be read."""
    try:
        whole = json.loads(line)
        actor = whole["Actor"]
        action, id_, at, attributes = whole["Action"], actor["ID"], whole["timeNano"], actor.get("Attributes") or {}
        texts = {str(name): value for name, value in attributes.items() if isinstance(value, str)}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    if not (isinstance(action, str) and isinstance(id_, str) and id_ and isinstance(at, int) and 0 <= at < 2**63):
        return None
    return Event(action, id_, at, texts)


class Listener(Protocol):
    """Who is told; on the watcher's thread, in the order of the stream."""

    def up(self, restarted: bool) -> None: ...

    def down(self, why: str) -> None: ...

    def past(self, event: Event) -> None:
        """Take an event of before the watching began."""

    def event(self, event: Event) -> None: ...


class Watcher:
    """Follows the stream until it is closed. `malformed` counts the events that could not be read."""

    def __init__(self, clients: Clients, listener: Listener, limits: Limits) -> None:
        self.malformed = 0
        self._clients = clients
        self._listener = listener
        self._limits = limits
        self._closed = threading.Event()
        self._line: Line | None = None
        self._thread = threading.Thread(target=self._run, name="docker-events", daemon=True)
        self._since = ""
        self._recent: deque[Event] = deque(maxlen=64)
        self._open = False
        self._up = False
        self._told_down = False
        self._restarted = False

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stop following; the listener hears nothing any more. Blocks up to 1.5 s."""
        self._closed.set()
        line = self._line
        if line is not None:
            line.cut()
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(1.5)

    @property
    def closed(self) -> bool:
        return self._closed.is_set()

    def _run(self) -> None:
        failures = 0
        while not self.closed:
            began = time.monotonic()
            try:
                self._follow()
                failures = 0
            except ContainerError as exc:
                failures = 1 if self._open and time.monotonic() - began > _SHORT_LIFE else failures + 1
                self._lost(exc)
                self._closed.wait(
                    min(self._limits.first_delay * 2.0 ** min(failures - 1, 20), self._limits.longest_delay)
                )

    def _follow(self) -> None:
        """Follow one stream; return when it was silent for long. Raises `ContainerError` when it ended."""
        if not self._since:
            self._read_past()
        line = self._new_line()
        self._open = False
        try:
            for event in self._stream(line):
                if self.closed:
                    return
                if event not in self._recent:  # A stream that is opened anew repeats the last event.
                    self._recent.append(event)
                    self._since = _moment(event.at)
                    self._listener.event(event)
                line.until = time.monotonic() + self._limits.silence
        except ContainerError:
            if self._open and line.over():
                return
            raise
        raise Broken("cannot follow Docker's events: Docker closed the stream")

    def _stream(self, line: Line) -> Iterator[Event]:
        with (
            self._clients.use("follow Docker's events", self._limits.opens, line) as client,
            client.events(self._since) as response,
        ):
            self._opened()
            line.until, line.room = time.monotonic() + self._limits.silence, _LONGEST_LINE
            # Docker sends each event as a chunk of its own: None takes a chunk as soon as it is there.
            for text in response.iter_lines(chunk_size=None):
                line.room = _LONGEST_LINE
                event = parsed(text) if text else None
                if event is not None:
                    yield event
                elif text:
                    self.malformed += 1

    def _read_past(self) -> None:
        now = time.time_ns()
        with (
            self._clients.use("read Docker's past events", self._limits.opens, self._new_line()) as client,
            client.events(_moment(now - _PAST), _moment(now)) as response,
        ):
            lines = list(response.iter_lines(chunk_size=None))
        for event in map(parsed, filter(None, lines)):
            if event is not None:
                self._listener.past(event)
        self._since = _moment(now)

    def _new_line(self) -> Line:
        line = self._line = Line(self._clients.path)
        if self.closed:
            line.cut()  # `close` may have looked for it too early.
        return line

    def _opened(self) -> None:
        self._open = True
        if self._up or self.closed:
            return
        restarted, self._restarted = self._restarted, False
        self._up, self._told_down = True, False
        self._listener.up(restarted)
        self._clients.warm(_WARM)

    def _lost(self, error: ContainerError) -> None:
        # While a daemon lives it closes no stream and refuses nobody; one that hangs does neither.
        self._restarted = self._restarted or isinstance(error, RuntimeDown | Broken)
        self._up = False
        self._clients.forget()
        if not self._told_down and not self.closed:
            self._told_down = True
            self._listener.down(error.message.partition(": ")[2] or error.message)


def _moment(nanoseconds: int) -> str:
    return f"{nanoseconds // 10**9}.{nanoseconds % 10**9:09d}"
