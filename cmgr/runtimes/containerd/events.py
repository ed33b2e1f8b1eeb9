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
from typing import Protocol

from google.protobuf.message import DecodeError

from cmgr.errors import ContainerError, RuntimeDown
from cmgr.runtimes.containerd import messages as calls
from cmgr.runtimes.containerd.messages import Message
from cmgr.runtimes.containerd.wire import Broken, Limits, Wire, translated

_TOPIC = "/cmgr/pulse"
_FIRST_PULSES = 0.05
"""Seconds between pulses until the first comes back."""


class Listener(Protocol):
    """Who is told; on the watcher's thread, in the order of the stream."""

    def up(self, restarted: bool) -> None: ...

    def down(self, why: str) -> None: ...

    def event(self, namespace: str, topic: str, payload: bytes) -> None: ...


class Watcher:
    """Follows the stream until it is closed."""

    def __init__(self, wire: Wire, listener: Listener, skipped: Collection[str], limits: Limits) -> None:
        self._wire = wire
        self._listener = listener
        # What is no name of a namespace would spoil the filters, and names none.
        self._skipped = frozenset(name for name in skipped if re.fullmatch(r"[A-Za-z0-9._-]{1,76}", name))
        self._limits = limits
        self._mine = secrets.token_bytes(8)
        self._lock = threading.Condition()
        self._closed = False
        self._stream: Message = None
        self._heard = 0.0
        self._up = False
        self._told_down = False
        self._restarted = False
        self._threads = [
            threading.Thread(target=self._run, name="containerd-events", daemon=True),
            threading.Thread(target=self._pulse, name="containerd-pulse", daemon=True),
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop following; the listener hears nothing any more. Blocks up to 1.5 s."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()
            if self._stream is not None:
                self._stream.cancel()
        until = time.monotonic() + 1.5
        for thread in self._threads:
            if thread.is_alive() and thread is not threading.current_thread():
                thread.join(max(0.0, until - time.monotonic()))

    @property
    def closed(self) -> bool:
        return self._closed

    def _run(self) -> None:
        delay = self._limits.first_delay
        while not self.closed:
            try:
                self._follow()
            except ContainerError as exc:
                delay = self._limits.first_delay if self._up else min(delay * 2, self._limits.longest_delay)
                self._lost(exc)
                self._wait(delay, None)

    def _follow(self) -> None:
        """Follow one stream. Raises `ContainerError` when it ends."""
        what = "follow containerd's events"
        self._wire.reach(what)
        with self._lock:
            if self.closed:
                return
            stream = self._stream = self._wire.subscribe(self._filters())
            self._heard = time.monotonic()
            self._lock.notify_all()
        try:
            with translated(what, self._limits.echo):
                for envelope in stream:
                    self._take(envelope)
        finally:
            stream.cancel()
            with self._lock:
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

    def _take(self, envelope: Message) -> None:
        if self.closed:
            return
        if envelope.topic == _TOPIC:
            if envelope.event.value == self._mine:
                self._echoed()
        elif self._up and envelope.namespace not in self._skipped:
            with suppress(DecodeError):  # What nobody can read must hide no other; the next list finds what it meant.
                self._listener.event(str(envelope.namespace), str(envelope.topic), bytes(envelope.event.value))

    def _echoed(self) -> None:
        self._heard = time.monotonic()
        if self._up:
            return
        restarted, self._restarted = self._restarted, False
        self._told_down = False
        self._listener.up(restarted)
        with self._lock:
            self._up = True
            self._lock.notify_all()

    def _lost(self, error: ContainerError) -> None:
        # While a daemon lives it closes no stream and refuses nobody; one that hangs does neither.
        silent = time.monotonic() - self._heard > self._limits.echo
        self._restarted = self._restarted or isinstance(error, RuntimeDown) or not silent
        self._up = False
        if not self._told_down and not self.closed:
            self._told_down = True
            self._listener.down(error.message.partition(": ")[2] or error.message)

    def _pulse(self) -> None:
        while not self.closed:
            stream = self._stream
            if stream is None:
                self._wait(self._limits.pulse, stream)
                continue
            with suppress(ContainerError):  # The stream will tell.
                event = {"type_url": "cmgr.Pulse", "value": self._mine}
                self._wire.call(calls.PUBLISH, "reach containerd", "cmgr", self._limits.echo, topic=_TOPIC, event=event)
            self._wait(self._limits.pulse if self._up else _FIRST_PULSES, stream)
            if time.monotonic() - self._heard > self._limits.pulse + self._limits.echo:
                stream.cancel()

    def _wait(self, seconds: float, stream: Message) -> None:
        """Wait until this time has passed, the stream is no longer this one, or all is over."""
        with self._lock:
            self._lock.wait_for(lambda: self._closed or self._stream is not stream, seconds)
