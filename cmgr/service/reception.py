"""Taking requests in: one thread has all connections, and hands over what is whole.

Rules:
1. Whatever a peer sends, or does not send, or does not read, costs a file descriptor for a bounded time, and no thread.
2. When there are too many connections, the user who has the most loses the oldest: nobody shuts out others.
"""

import contextlib
import queue
import selectors
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from cmgr.errors import CmgrError
from cmgr.service.peers import Peer

REQUEST_LIMIT = 64 * 1024
GUESTS = 64

_PIECE = 8192
_PAUSE = 0.05
"""Seconds until another connection is looked for, where one cannot be taken in."""


_STRANGER = Peer(0, -1, frozenset())


@dataclass(frozen=True, slots=True)
class Host:
    """What a reception asks of the house. None of it may block, and only `greet` may raise.

    `greet` returns who has come, or raises `CmgrError` to turn it away; `take` is given a request that is whole;
    `refusal` returns what a peer is told of an error. `patience`: seconds for a request to be there, and for an answer
    to be read.
    """

    greet: Callable[[socket.socket], Peer]
    take: Callable[["Guest", bytes], None]
    refusal: Callable[[CmgrError], bytes]
    patience: float


class Guest:
    """One connection."""

    def __init__(self, connection: socket.socket, peer: Peer, until: float) -> None:
        self.connection = connection
        self.peer = peer
        self.until = until
        self.received = bytearray()
        self.unsent = b""


class Reception:
    """Takes connections in from `start` to `close`."""

    def __init__(self, listening: socket.socket, host: Host) -> None:
        self._listening = listening
        self._host = host
        self._selector = selectors.DefaultSelector()
        self._guests: dict[Guest, None] = {}
        self._answered: queue.SimpleQueue[Guest] = queue.SimpleQueue()
        self._away = 0
        self._deaf_until = 0.0
        self._closed = False
        self._bell, self._rope = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="control", daemon=True)

    def start(self) -> None:
        for each in (self._listening, self._bell, self._rope):
            each.setblocking(False)
        self._selector.register(self._bell, selectors.EVENT_READ, self._rung)
        self._selector.register(self._listening, selectors.EVENT_READ, self._accept)
        self._thread.start()

    def close(self, seconds: float) -> None:
        """Take nobody in any more, and end whoever is not being answered. Blocks up to so many seconds."""
        self._closed = True
        self._ring()
        self._thread.join(seconds)

    def answer(self, guest: Guest, reply: bytes) -> None:
        """Send this to a guest that was handed over, and end the connection. Does not block. Any thread."""
        guest.unsent = reply
        if _sent(guest) or self._closed:
            guest.unsent = b""
            guest.connection.close()
        self._answered.put(guest)
        self._ring()

    def _ring(self) -> None:
        # A full pipe has rung already; a closed one means that nobody is there to hear.
        with contextlib.suppress(OSError):
            self._rope.send(b"!")

    def _rung(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._bell.recv(_PIECE)
        while not self._answered.empty():
            guest = self._answered.get()
            self._away -= 1
            if guest.unsent:
                self._await_sent(guest)

    def _run(self) -> None:
        try:
            while not self._closed:
                for key, _ in self._selector.select(self._wait()):
                    key.data()
                self._look_round()
        finally:
            self._selector.close()
            for guest in self._guests:
                guest.connection.close()
            self._bell.close()
            self._rope.close()

    def _wait(self) -> float | None:
        moments = [guest.until for guest in self._guests]
        if self._deaf_until:
            moments.append(self._deaf_until)
        return max(0.0, min(moments) - time.monotonic()) if moments else None

    def _look_round(self) -> None:
        now = time.monotonic()
        for guest in [guest for guest in self._guests if guest.until <= now]:
            late = f"cannot read the request: it did not end within {self._host.patience:g} s"
            self._dismiss(guest, late)
        if self._deaf_until and self._deaf_until <= now and not self._closed:
            self._deaf_until = 0.0
            self._selector.register(self._listening, selectors.EVENT_READ, self._accept)

    def _accept(self) -> None:
        if len(self._guests) + self._away >= GUESTS and not self._make_room():
            self._turn_deaf()
            return
        try:
            connection, _ = self._listening.accept()
        except BlockingIOError:
            return
        except OSError:
            # Out of file descriptors: that passes, the sooner the fewer there are to wait for.
            self._make_room()
            self._turn_deaf()
            return
        connection.setblocking(False)
        try:
            guest = Guest(connection, self._host.greet(connection), time.monotonic() + self._host.patience)
        except OSError:
            connection.close()
        except CmgrError as error:
            self._finish(Guest(connection, _STRANGER, 0.0), self._host.refusal(error))
        else:
            self._guests[guest] = None
            self._selector.register(connection, selectors.EVENT_READ, lambda: self._read(guest))

    def _turn_deaf(self) -> None:
        self._selector.unregister(self._listening)
        self._deaf_until = time.monotonic() + _PAUSE

    def _make_room(self) -> bool:
        """End one connection. Return whether there was one to end."""
        if not self._guests:
            return False
        ((most, _),) = Counter(guest.peer.uid for guest in self._guests).most_common(1)
        oldest = next(guest for guest in self._guests if guest.peer.uid == most)
        self._dismiss(oldest, "cannot read the request: too many connections came after it")
        return True

    def _read(self, guest: Guest) -> None:
        # An event of the same moment may have ended it.
        if guest not in self._guests or guest.unsent:
            return
        try:
            piece = guest.connection.recv(_PIECE)
        except BlockingIOError:
            return
        except OSError:
            self._forget(guest)
            return
        guest.received += piece
        if len(guest.received) > REQUEST_LIMIT:
            self._dismiss(guest, f"cannot read the request: it is longer than {REQUEST_LIMIT} bytes")
        elif not piece and not guest.received:
            self._forget(guest)
        elif not piece or b"\n" in piece:
            self._let_go(guest)
            self._away += 1
            self._host.take(guest, bytes(guest.received.partition(b"\n")[0]))

    def _dismiss(self, guest: Guest, why: str) -> None:
        if guest.unsent:
            self._forget(guest)
            return
        self._let_go(guest)
        self._finish(guest, self._host.refusal(CmgrError(why)))

    def _finish(self, guest: Guest, reply: bytes) -> None:
        guest.unsent = reply
        if _sent(guest):
            guest.connection.close()
        else:
            self._await_sent(guest)

    def _await_sent(self, guest: Guest) -> None:
        guest.until = time.monotonic() + self._host.patience
        self._guests[guest] = None
        self._selector.register(guest.connection, selectors.EVENT_WRITE, lambda: self._write(guest))

    def _write(self, guest: Guest) -> None:
        if guest in self._guests and _sent(guest):
            self._forget(guest)

    def _let_go(self, guest: Guest) -> None:
        del self._guests[guest]
        self._selector.unregister(guest.connection)

    def _forget(self, guest: Guest) -> None:
        self._let_go(guest)
        guest.connection.close()


def _sent(guest: Guest) -> bool:
    """Send what goes now. Return whether that was the last of it, or nobody is there to read it."""
    try:
        sent = guest.connection.send(guest.unsent)
    except BlockingIOError:
        return False
    except OSError:
        return True
    guest.unsent = guest.unsent[sent:]
    return not guest.unsent
