"""containerd's event stream: followed for ever, across silences and restarts of the daemon.

containerd says nothing when a subscription begins to count, and nothing when nothing happens. So an event of our own
is published: once it comes back, events flow; when it no longer does, the daemon hangs and the stream is opened anew.
"""

import re
import secrets
import threading
import time
from collections.abc import Collection
from contextlib import suppress
from functools import partial
from typing import Protocol

from google.protobuf.message import DecodeError

from cmgr.errors import ContainerError, RuntimeDown
from cmgr.runtimes import following
from cmgr.runtimes.containerd import messages as calls
from cmgr.runtimes.containerd.messages import Envelope, Stream
from cmgr.runtimes.containerd.wire import Limits, Wire, translated
from cmgr.runtimes.following import Broken

_TOPIC = "/cmgr/pulse"

_PULSE = "google.protobuf.Empty"
"""A type that whoever listens to everything knows: of any other `ctr events` and `ctr run` log a warning each time."""

_FIRST_PULSES = 0.05
"""Seconds between pulses until the first comes back."""


class Listener(following.Listener, Protocol):
    """The one who is told; on the follower's thread, in the order of the stream."""

    def event(self, namespace: str, topic: str, payload: bytes) -> None: ...


class Watcher(following.Follower):
    """Follows containerd's stream."""

    def __init__(self, wire: Wire, listener: Listener, skipped: Collection[str], limits: Limits) -> None:
        super().__init__("containerd-events", listener, limits)
        self._wire = wire
        self._listener = listener
        # An invalid namespace name would break the filter.
        self._skipped = frozenset(name for name in skipped if re.fullmatch(r"[A-Za-z0-9._-]{1,76}", name))
        self._limits = limits
        # A field that no message has is passed over: one more, of eight bytes.
        self._mine = b"\x0a\x08" + secrets.token_bytes(8)
        self._stream: Stream | None = None
        self._heard = 0.0
        self._threads.append(threading.Thread(target=self._pulse, name="containerd-pulse", daemon=True))

    def _cut(self) -> None:
        with self._changed:
            if self._stream is not None:
                self._stream.cancel()

    def _follow(self) -> None:
        """Follow one stream. Raises `ContainerError` when it ends."""
        what = "follow containerd's events"
        self._wire.reach(what)
        with self._changed:
            if self.closed:
                return
            stream = self._stream = self._wire.subscribe(self._filters())
            self._heard = time.monotonic()
            self._changed.notify_all()
        try:
            with translated(what, self._limits.echo):
                for envelope in stream:
                    self._take(envelope)
        finally:
            stream.cancel()
            with self._changed:
                self._stream = None
        raise Broken(f"cannot {what}: containerd closed the stream")

    def _filters(self) -> tuple[str, ...]:
        # A comma is "and", a list is "or".
        mine = "".join(f',namespace!="{name}"' for name in sorted(self._skipped))
        return (
            f'topic~="^/tasks/(exit|start|create|delete|paused|resumed|oom)$"{mine}',
            f'topic~="^/containers/(create|update|delete)$"{mine}',
            f'topic=="{_TOPIC}"',
        )

    def _take(self, envelope: Envelope) -> None:
        if self.closed:
            return
        if envelope.topic == _TOPIC:
            if envelope.event.value == self._mine:
                self._heard = time.monotonic()
                self._flows()
        elif self._up and envelope.namespace not in self._skipped:
            with suppress(DecodeError):  # An unreadable event must hide no other; the next list finds what it meant.
                self._listener.event(str(envelope.namespace), str(envelope.topic), bytes(envelope.event.value))

    def _has_died(self, error: ContainerError) -> bool:
        # A daemon that hangs closes nothing: then it was we who ended the stream.
        silent = time.monotonic() - self._heard > self._limits.echo
        return isinstance(error, RuntimeDown) or not silent

    def _pulse(self) -> None:
        while not self.closed:
            stream = self._stream
            if stream is None:
                self._wait(self._limits.pulse, lambda: self._stream is not None)
                continue
            with suppress(ContainerError):  # The stream will tell.
                event = {"type_url": _PULSE, "value": self._mine}
                self._wire.call(calls.PUBLISH, "reach containerd", "cmgr", self._limits.echo, topic=_TOPIC, event=event)
            self._wait(self._limits.pulse if self._up else _FIRST_PULSES, partial(self._is_over, stream))
            if time.monotonic() - self._heard > self._limits.pulse + self._limits.echo:
                stream.cancel()

    def _is_over(self, stream: Stream) -> bool:
        return self._stream is not stream
