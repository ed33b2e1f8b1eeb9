"""Docker's event stream: followed for ever by one thread, across silences and restarts of the daemon."""

import re
import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Protocol

from cmgr.errors import ContainerError
from cmgr.frozen import dataclass
from cmgr.model.values.services.containers import Exit
from cmgr.runtimes import following
from cmgr.runtimes.docker.line import Line, lines
from cmgr.runtimes.docker.wire import Clients, Limits
from cmgr.runtimes.following import Broken
from cmgr.words import json_of

_PAST = 600 * 10**9
"""How far back, in nanoseconds, Docker is asked at first: what it still knows says whose deaths were asked for."""

_KEPT = 256
"""So many events of all kinds does dockerd keep, from its start on: where there are fewer, its whole life is known."""

_ALONG = timedelta(seconds=1)
"""A daemon that comes ends some containers without a word, each within this of an end that it tells of."""

_WARM = 8

_LONGEST_LINE = 2**20
"""So many bytes may one event have."""

_PODMANS = "containerExitCode"
"""An attribute that all of podman's events have, and none of Docker's."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a container. `at` is in nanoseconds of Unix time."""

    action: str
    id: str
    at: int
    attributes: Mapping[str, str]

    @property
    def blames(self) -> bool:
        """Whether somebody who had ordered an end would have been told of. Podman tells of no such order."""
        return _PODMANS not in self.attributes

    @property
    def when(self) -> datetime:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=self.at // 1000)

    def exit(self) -> Exit | None:
        """Return how a container ended, as the event of its death tells it."""
        code = self.attributes.get("exitCode", "")
        if not re.fullmatch(r"-?[0-9]{1,10}", code):
            return None
        return Exit(int(code), self.when)


def parsed(line: bytes) -> Event | None:
    """Return the event that a line of the stream holds, or None when it holds none that can be read."""
    try:
        whole = json_of(line)
        if whole.get("Type", "container") != "container":
            return None
        actor = whole["Actor"]
        action, id_, at, attributes = whole["Action"], actor["ID"], whole["timeNano"], actor.get("Attributes") or {}
        texts = {str(name): value for name, value in attributes.items() if isinstance(value, str)}
    except (ValueError, LookupError, TypeError, AttributeError):
        return None
    if not (isinstance(action, str) and isinstance(id_, str) and id_ and isinstance(at, int) and 0 <= at < 2**63):
        return None
    # As podman calls it.
    return Event("destroy" if action == "remove" and _PODMANS in texts else action, id_, at, texts)


class Listener(following.Listener, Protocol):
    """The one who is told; on the follower's thread, in the order of the stream."""

    def past(self, event: Event) -> None:
        """Take an event of before the watching began."""

    def swept(self, id_: str) -> None:
        """Hear that the daemon itself ended the container as it came, before the watching began."""

    def event(self, event: Event) -> None: ...


class Watcher(following.Follower):
    """Follows Docker's stream. `malformed` counts the events that could not be read."""

    def __init__(self, clients: Clients, listener: Listener, limits: Limits) -> None:
        super().__init__("docker-events", listener, limits)
        self.malformed = 0
        self._clients = clients
        self._listener = listener
        self._limits = limits
        self._line: Line | None = None
        self._since = ""
        self._recent: deque[Event] = deque(maxlen=64)
        self._open = False

    def _cut(self) -> None:
        line = self._line
        if line is not None:
            line.cut()

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
        with self._clients.use("follow Docker's events", self._limits.opens, line) as client:
            response = client.events(self._since)
            self._opened()
            line.until, line.room = time.monotonic() + self._limits.silence, _LONGEST_LINE
            for text in lines(response):
                line.room = _LONGEST_LINE
                event = parsed(text) if text else None
                if event is not None:
                    yield event
                elif text:
                    self.malformed += 1

    def _read_past(self) -> None:
        now = time.time_ns()
        # The events of a daemon that has just come look like orders, and nobody gave any.
        told, whole = ([], False) if self._restarted else self._past(now)
        events = [event for line in told if line and (event := parsed(line)) is not None]
        swept = _ended_unbegun(events) if whole else {}
        if swept and self._lives_on():
            swept = {}
        if swept:
            # It can have come long before us: what was started since then was not started by it as it came.
            self._restarted, self._came = True, max(swept.values()) + _ALONG
        for event in events:
            if event.id not in swept:
                self._listener.past(event)
        for id_ in sorted(swept):
            self._listener.swept(id_)
        self._since = _moment(now)

    def _past(self, now: int) -> tuple[list[bytes], bool]:
        """Return the events of before, and whether that is all since the daemon's start."""
        with self._clients.use("read Docker's past events", self._limits.opens, self._new_line()) as client:
            whole = list(lines(client.events("0", _moment(now), "{}")))
            if len(whole) < _KEPT:
                return whole, True
            return list(lines(client.events(_moment(now - _PAST), _moment(now)))), False

    def _lives_on(self) -> bool:
        """Return whether containers outlive this daemon (live-restore), as far as it can be told."""
        try:
            with self._clients.use("ask Docker how it is set", self._limits.opens, self._new_line()) as client:
                return client.info().get("LiveRestoreEnabled") is not False
        except ContainerError:
            return True

    def _new_line(self) -> Line:
        line = self._line = Line(self._clients.path)
        if self.closed:
            line.cut()  # `close` may have looked for it too early.
        return line

    def _opened(self) -> None:
        self._open = True
        if self._flows():
            self._clients.warm(_WARM)

    def _lost(self, error: ContainerError) -> None:
        self._clients.forget()
        super()._lost(error)


def _ended_unbegun(events: Iterable[Event]) -> dict[str, datetime]:
    """Return when each container ended that did before any start of it was told: this daemon found it running."""
    begun, found = set[str](), dict[str, datetime]()
    for event in events:
        if event.action == "start":
            begun.add(event.id)
            found.pop(event.id, None)
        elif event.action in ("kill", "die") and event.blames and event.id not in begun:
            found[event.id] = event.when
    return found


def _moment(nanoseconds: int) -> str:
    return f"{nanoseconds // 10**9}.{nanoseconds % 10**9:09d}"
