"""One connection to Docker's socket whose calls end in time, whose answers end, and which another thread can cut; and
how answers that come piece by piece are taken apart.

A socket's own limit is for each read and not for the whole call, and nothing bounds what an answer takes of the memory.
"""

import math
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, Protocol

LONGEST = 32 * 2**20
"""So many bytes may an answer have."""

_PIECE = 1 << 16
_HEAD = 8


def _nothing() -> None:
    pass


class Line:
    """The limits of a client's connection: `until`, on the monotonic clock, when its call must have ended, and `room`,
    how many bytes its answer may still bring. `after_sending` is called once, when the next request is out.

    One thread at a time may call through it; any thread may `cut` it, for good.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.until = math.inf
        self.room = LONGEST
        self.after_sending: Callable[[], None] = _nothing
        self.refused = ""
        """Why the last attempt to connect failed."""
        self._cut = False
        self._socket: socket.socket | None = None

    def left(self) -> float:
        """Return how many seconds the call still has. Raises `TimeoutError` when there are none."""
        left = self.until - time.monotonic()
        if self._cut:
            raise ConnectionAbortedError("cut")
        if left <= 0:
            raise TimeoutError("the call took too long")
        return left

    def over(self) -> bool:
        """Return whether the call has used up its time."""
        return time.monotonic() >= self.until

    def took(self, count: int) -> None:
        """Note that so many bytes came. Raises `ConnectionAbortedError` when they are too many."""
        self.room -= count
        if self.room < 0:
            raise ConnectionAbortedError("the answer is too long")

    def connect(self) -> socket.socket:
        """Return a fresh connection."""
        self.refused = ""
        try:
            fresh = _Socket(socket.AF_UNIX, socket.SOCK_STREAM)
            fresh.line = self
            self._reach(fresh)
        except OSError as exc:
            self.refused = exc.strerror or str(exc)
            raise
        self._socket = fresh
        return fresh

    def _reach(self, fresh: socket.socket) -> None:
        try:
            fresh.settimeout(self.left())
            fresh.connect(self.path)
        except OSError:
            fresh.close()
            raise

    def cut(self) -> None:
        """Make the call under way, and every later one, fail at once."""
        self._cut = True
        if self._socket is not None:
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)


class _Socket(socket.socket):
    line: Line

    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        self.settimeout(self.line.left())
        count = super().recv_into(*args, **kwargs)
        self.line.took(count)
        return count

    def sendall(self, *args: Any, **kwargs: Any) -> None:
        self.settimeout(self.line.left())
        super().sendall(*args, **kwargs)
        then, self.line.after_sending = self.line.after_sending, _nothing
        then()


class Answer(Protocol):
    """An answer whose body comes in pieces."""

    def read1(self, n: int, /) -> bytes: ...


def pieces(answer: Answer) -> Iterator[bytes]:
    """Yield what comes, as soon as it is there."""
    while piece := answer.read1(_PIECE):
        yield piece


def lines(answer: Answer) -> Iterator[bytes]:
    """Yield each line as soon as it is there."""
    rest = b""
    for piece in pieces(answer):
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole
    if rest:
        yield rest


def payloads(stream: Iterable[bytes]) -> Iterator[bytes]:
    """Take the frames of a stream apart: which stream in a byte, three of nothing, the length, the output."""
    head, left = b"", 0
    for rest in stream:
        while rest:
            if left:
                yield rest[:left]
                left, rest = max(0, left - len(rest)), rest[left:]
            else:
                head, rest = head + rest[: _HEAD - len(head)], rest[_HEAD - len(head) :]
                if len(head) == _HEAD:
                    left, head = int.from_bytes(head[4:], "big"), b""
