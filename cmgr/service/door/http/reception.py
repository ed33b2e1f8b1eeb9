"""Taking requests in: one thread has all connections, and hands over what is whole.

Rules:
1. Whatever a peer sends, or does not send, or does not read, costs a file descriptor for a bounded time, and no thread.
2. When there are too many connections, the user who has the most loses the oldest that waits; those that are being
   answered count as his. Whose a connection is shows when it is taken in: so nobody is kept waiting outside.
3. Readers of a stream may stay as long as they read. They are few, and one that does not read is cut off. When there
   are too many, the user who has the most loses the oldest.
4. The answers that one user has not read have a limit together, too.
5. A peer without a role is refused before a byte of his is read, and takes nobody's place; a reader who loses his is
   cut off.
"""

import contextlib
import queue
import selectors
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable

from cmgr.errors import CmgrError, Denied
from cmgr.frozen import dataclass
from cmgr.listener import credentials
from cmgr.sentences.sentence import say
from cmgr.service.door.http.talk import Asked, Refused, Reply, Talk, refused

GUESTS = 64
"""Connections that wait for their request, or for their answer to be read."""

CROWD = 256
"""Connections, those that are being answered included."""

STREAMS = 16
UNSENT_LIMIT = 16 * 1024 * 1024
"""Bytes of answers that one user has not read, beyond what the kernel keeps for them."""

STREAM_LIMIT = 256 * 1024
"""Bytes that wait for a reader of a stream, beyond what the kernel keeps for it."""

_PIECE = 8192
_AT_ONCE = 16
"""Connections that are taken in before the others are heard: far fewer than may wait, so that the oldest was heard."""

_PAUSE = 0.05
"""Seconds until another connection is looked for, where one cannot be taken in."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A process, as it was when it connected; over TCP nobody knows which. `whose`: who shares its fate."""

    whose: Hashable
    uid: int = -1
    pid: int = 0
    groups: frozenset[int] = frozenset()


def peer_of(connection: socket.socket) -> Peer:
    """Return who is at the other end. Raises `OSError`."""
    if connection.family != socket.AF_UNIX:
        return Peer(connection.getpeername()[0])
    uid, pid, groups = credentials(connection)
    return Peer(uid, uid, pid, groups)


class Guest:
    """One connection."""

    def __init__(self, connection: socket.socket, peer: Peer, until: float) -> None:
        self.connection = connection
        self.peer = peer
        self.until = until
        self.talk = Talk()
        self.unsent = b""
        self.leaves = False
        """Whether the connection ends with what is unsent."""


Take = Callable[[Guest, Asked], None]
"""Is given each request that is whole. It must not block, and not raise."""


class Reception:
    """Takes connections in from `start` to `close`.

    `patience`: seconds for a request to be there, and to be read. `admits`: whether this peer may ask anything now.
    """

    def __init__(
        self, listening: socket.socket, take: Take, patience: float, name: str, admits: Callable[[Peer], bool]
    ) -> None:
        self._listening = listening
        self._take = take
        self._patience = patience
        self._admits = admits
        self.wrap: Callable[[socket.socket], socket.socket] = lambda connection: connection
        """Makes of a connection, which does not block, what is heard and answered. It may raise `OSError`."""

        self._selector = selectors.DefaultSelector()
        self._guests: dict[Guest, None] = {}
        self._streams: dict[Guest, None] = {}
        self._done: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._away: dict[Guest, None] = {}
        self._deaf_until = 0.0
        self._closed = False
        self._bell, self._rope = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

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

    def move(self, listening: socket.socket) -> None:
        """Take connections in there from now on, and not where it was until now. Does not block. Any thread."""
        listening.setblocking(False)
        self._tell(lambda: self._moved(listening))

    def answer(self, guest: Guest, reply: Reply) -> None:
        """Send this to a guest that was handed over. Does not block. Any thread."""
        guest.unsent = guest.talk.answer(reply, last=self._closed)
        guest.leaves = guest.talk.over
        if (_sent(guest) and guest.leaves) or self._closed:
            guest.unsent = b""
            guest.connection.close()
        self._tell(lambda: self._back(guest))

    def stream(self, guest: Guest, kind: str) -> None:
        """Let a guest that was handed over have all that `tell` is given from now on. Does not block. Any thread."""
        self._tell(lambda: self._begin_stream(guest, kind))

    def streams(self) -> int:
        """Return how many read a stream. Any thread."""
        return len(self._streams)

    def tell(self, data: bytes) -> None:
        """Send this to everybody who reads a stream. Does not block. Any thread."""
        self._tell(lambda: self._told(data))

    def _tell(self, what: Callable[[], None]) -> None:
        self._done.put(what)
        self._ring()

    def _ring(self) -> None:
        # A full pipe has rung already; a closed one means that nobody is there to hear.
        with contextlib.suppress(OSError):
            self._rope.send(b"!")

    def _rung(self) -> None:
        with contextlib.suppress(BlockingIOError):
            self._bell.recv(_PIECE)
        # Whatever is told meanwhile rings again: those who ask without end keep nobody waiting outside.
        for _ in range(self._done.qsize()):
            self._done.get()()

    def _run(self) -> None:
        try:
            while not self._closed:
                for key, _ in self._selector.select(self._wait()):
                    key.data()
                self._look_round()
        finally:
            self._end()

    def _end(self) -> None:
        # Everything that was told before the end is heard.
        self._rung()
        self._selector.close()
        for guest in self._streams:
            guest.unsent += guest.talk.end()
            _sent(guest)
        for guest in (*self._guests, *self._streams):
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
            self._dismiss(guest, Refused(f"it did not end within {self._patience:g} s", 408))
        if self._deaf_until and self._deaf_until <= now and not self._closed:
            self._deaf_until = 0.0
            self._selector.register(self._listening, selectors.EVENT_READ, self._accept)

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                connection, _ = self._listening.accept()
            except BlockingIOError:
                return
            except OSError:
                # Out of file descriptors: that passes, the sooner the fewer there are to wait for.
                self._make_room()
                self._turn_deaf()
                return
            self._take_in(connection)

    def _take_in(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        try:
            peer, connection = peer_of(connection), self.wrap(connection)
        except OSError:
            connection.close()
            return
        guest = Guest(connection, peer, 0.0)
        if not self._admits(peer):
            guest.unsent = guest.talk.answer(refused(403, Denied(say("error.no-role"))), last=True)
            _sent(guest)
            connection.close()
            return
        self._await_request(guest)
        if len(self._guests) > GUESTS or len(self._guests) + len(self._away) > CROWD:
            self._make_room()

    def _moved(self, listening: socket.socket) -> None:
        if not self._deaf_until:
            self._selector.unregister(self._listening)
            self._selector.register(listening, selectors.EVENT_READ, self._accept)
        self._listening.close()
        self._listening = listening

    def _turn_deaf(self) -> None:
        self._selector.unregister(self._listening)
        self._deaf_until = time.monotonic() + _PAUSE

    def _make_room(self) -> None:
        """End the oldest of who has the most, unless all of his are being answered."""
        most = _most(*self._guests, *self._away)
        oldest = next((guest for guest in self._guests if guest.peer.whose == most), None)
        if oldest is not None:
            self._dismiss(oldest, Refused("too many connections came after it", 503))

    def _await_request(self, guest: Guest) -> None:
        guest.until = time.monotonic() + self._patience
        self._guests[guest] = None
        self._selector.register(guest.connection, selectors.EVENT_READ, lambda: self._read(guest))

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
        self._go_on(guest, lambda: guest.talk.take(piece))

    def _go_on(self, guest: Guest, step: Callable[[], Asked | None]) -> None:
        """Hand over the request that this step of the talk completes, if it does."""
        try:
            asked = step()
        except Refused as why:
            self._dismiss(guest, why)
            return
        if asked is not None:
            self._let_go(guest)
            self._away[guest] = None
            self._take(guest, asked)
        elif guest.talk.left:
            self._forget(guest)
        elif guest.talk.unsent:
            # A few bytes to one who waits for them: a peer whose buffer is full of other things has not waited.
            with contextlib.suppress(OSError):
                guest.connection.send(guest.talk.unsent)
            guest.talk.unsent = b""

    def _back(self, guest: Guest) -> None:
        """Take back a guest that was answered."""
        del self._away[guest]
        if guest.connection.fileno() < 0:
            return
        if guest.unsent:
            self._await_sent(guest)
            self._limit_unsent(guest.peer)
        else:
            self._answered(guest)

    def _answered(self, guest: Guest) -> None:
        if guest.leaves:
            guest.connection.close()
            return
        guest.talk.again()
        self._await_request(guest)
        self._go_on(guest, guest.talk.next)

    def _dismiss(self, guest: Guest, why: Refused) -> None:
        """End a connection, and say why to one that has something to hear."""
        if guest.unsent or guest.talk.idle:
            self._forget(guest)
            return
        self._let_go(guest)
        guest.unsent = guest.talk.answer(refused(why.status, why), last=True)
        guest.leaves = True
        if _sent(guest):
            guest.connection.close()
        else:
            self._await_sent(guest)

    def _await_sent(self, guest: Guest) -> None:
        guest.until = time.monotonic() + self._patience
        self._guests[guest] = None
        self._selector.register(guest.connection, selectors.EVENT_WRITE, lambda: self._write(guest))

    def _limit_unsent(self, peer: Peer) -> None:
        """End the oldest of this user that do not read, but not the last one that was answered."""
        *deaf, last = (guest for guest in self._guests if guest.unsent and guest.peer.whose == peer.whose)
        kept = len(last.unsent)
        for guest in reversed(deaf):
            kept += len(guest.unsent)
            if kept > UNSENT_LIMIT:
                self._forget(guest)

    def _write(self, guest: Guest) -> None:
        if guest in self._guests and _sent(guest):
            self._let_go(guest)
            self._answered(guest)

    def _begin_stream(self, guest: Guest, kind: str) -> None:
        del self._away[guest]
        if len(self._streams) >= STREAMS and not self._make_room_beside(guest):
            full = CmgrError(say("error.too-many-follow", count=STREAMS), hint=say("error.end-one"))
            guest.unsent, guest.leaves = guest.talk.answer(refused(503, full), last=True), True
            self._await_sent(guest)
            return
        self._streams[guest] = None
        self._selector.register(guest.connection, selectors.EVENT_READ, lambda: self._look_at(guest))
        self._feed(guest, guest.talk.stream(kind))

    def _make_room_beside(self, guest: Guest) -> bool:
        """End the oldest stream of who reads the most, unless this guest is one of his. Return whether one was."""
        most = _most(guest, *self._streams)
        if guest.peer.whose == most:
            return False
        self._cut_off(next(each for each in self._streams if each.peer.whose == most))
        return True

    def _told(self, data: bytes) -> None:
        for guest in [*self._streams]:
            if self._admits(guest.peer):
                self._feed(guest, guest.talk.more(data))
            else:
                self._cut_off(guest)

    def _feed(self, guest: Guest, data: bytes) -> None:
        guest.unsent += data
        if not _sent(guest) and len(guest.unsent) > STREAM_LIMIT:
            self._cut_off(guest)
            return
        both = selectors.EVENT_READ | selectors.EVENT_WRITE
        wanted = both if guest.unsent else selectors.EVENT_READ
        self._selector.modify(guest.connection, wanted, lambda: self._look_at(guest))

    def _look_at(self, guest: Guest) -> None:
        """Go on with a stream: send what waits, and see whether anybody is there. Its words are not heard."""
        if guest not in self._streams:
            return
        try:
            left = not guest.connection.recv(_PIECE)
        except BlockingIOError:
            left = False
        except OSError:
            left = True
        if left:
            self._cut_off(guest)
        elif guest.unsent:
            self._feed(guest, b"")

    def _cut_off(self, guest: Guest) -> None:
        del self._streams[guest]
        self._selector.unregister(guest.connection)
        guest.connection.close()

    def _let_go(self, guest: Guest) -> None:
        del self._guests[guest]
        self._selector.unregister(guest.connection)

    def _forget(self, guest: Guest) -> None:
        self._let_go(guest)
        guest.connection.close()


def _most(*guests: Guest) -> Hashable:
    """Return whose the most of them are; of several who have as many, the one who came first."""
    return Counter(guest.peer.whose for guest in guests).most_common(1)[0][0] if guests else None


def _sent(guest: Guest) -> bool:
    """Send what goes now. Return whether that was the last of it, or nobody is there to read it."""
    if not guest.unsent:
        return True
    try:
        sent = guest.connection.send(guest.unsent)
    except BlockingIOError:
        return False
    except OSError:
        guest.unsent, guest.leaves = b"", True
        return True
    guest.unsent = guest.unsent[sent:]
    return not guest.unsent
