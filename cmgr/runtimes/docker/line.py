"""One connection to Docker's socket whose calls end in time, whose answers end, and which another thread can cut; and
how answers that come piece by piece are taken apart.

A socket's own limit is for each read and not for the whole call, and nothing bounds what an answer takes of the memory.
HTTP is h11's, which the service has for its own door: `http.client` loads all of OpenSSL and of email, 6 MB for good.
"""

import math
import select
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

import h11

from cmgr.errors import system_words

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
        self._socket: _Socket | None = None

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

    def connect(self) -> "_Socket":
        """Return a fresh connection."""
        self.refused = ""
        try:
            fresh = _Socket(self)
            self._reach(fresh)
        except OSError as exc:
            self.refused = system_words(exc)
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
    def __init__(self, line: Line) -> None:
        super().__init__(socket.AF_UNIX, socket.SOCK_STREAM)
        self._line = line

    def take(self) -> bytes:
        """Return what comes next; nothing: its end."""
        self.settimeout(self._line.left())
        piece = self.recv(_PIECE)
        self._line.took(len(piece))
        return piece

    def give(self, data: bytes) -> None:
        self.settimeout(self._line.left())
        self.sendall(data)
        then, self._line.after_sending = self._line.after_sending, _nothing
        then()


class Answer:
    """An answer whose head is there, and its body, to be taken once: as a whole, or by its pieces as they come."""

    def __init__(self, status: int, body: Iterator[bytes]) -> None:
        self.status = status
        self._body = body

    def __iter__(self) -> Iterator[bytes]:
        return self._body

    def read(self) -> bytes:
        return b"".join(self._body)


class Connection:
    """Speaks HTTP on the line, one request after the answer to the last one; connects, also anew, where it must.

    Raises `OSError`, and `h11.ProtocolError` of an answer that breaks off, or is none.
    """

    def __init__(self, line: Line) -> None:
        self._line = line
        self._socket: _Socket | None = None
        self._http = h11.Connection(h11.CLIENT)

    def asked(self, method: str, target: str, body: bytes | None = None) -> Answer:
        """Ask, and return the answer as soon as it begins. `body`: JSON."""
        line = self._ready()
        headers = [("Host", "docker")]
        if body is not None:
            headers += [("Content-Type", "application/json")]
        if body is not None or method == "POST":
            headers += [("Content-Length", str(len(body or b"")))]
        told = [h11.Request(method=method, target=target, headers=headers), h11.Data(body or b""), h11.EndOfMessage()]
        line.give(b"".join(self._http.send(each) or b"" for each in told))
        while not isinstance(head := self._next(line), h11.Response):
            pass  # That it has begun to work on it.
        return Answer(head.status_code, self._body(line))

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _ready(self) -> _Socket:
        """Return a connection on which a request can be sent."""
        if self._socket is not None and (self._http.our_state is not h11.IDLE or self._is_left(self._socket)):
            self.close()
        if self._socket is None:
            self._socket, self._http = self._line.connect(), h11.Connection(h11.CLIENT)
        return self._socket

    def _is_left(self, line: socket.socket) -> bool:
        """Return whether the daemon has closed it since it was used last."""
        waiting = select.poll()
        waiting.register(line, select.POLLIN)
        return bool(waiting.poll(0))

    def _body(self, line: _Socket) -> Iterator[bytes]:
        while isinstance(event := self._next(line), h11.Data):
            yield bytes(event.data)
        if self._http.our_state is self._http.their_state is h11.DONE:
            self._http.start_next_cycle()

    def _next(self, line: _Socket) -> h11.Event:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(line.take())
        if isinstance(event, h11.Event):
            return event
        raise h11.RemoteProtocolError("it answers with another protocol, or not at all")


def lines(answer: Iterable[bytes]) -> Iterator[bytes]:
    """Yield each line as soon as it is there."""
    rest = b""
    for piece in answer:
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
