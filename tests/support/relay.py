"""A relay on loopback between a client and a server, which can hold, drop, delay and cut, each way on its own."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from enum import Enum, auto

from tests.support.waiting import PATIENCE


class Way(Enum):
    """The fate of bytes that go one way."""

    PASS = auto()
    HOLD = auto()
    """They wait until they may pass."""
    DROP = auto()
    """They are gone, and the connection stays."""
    CUT = auto()
    """The connection ends when they come. Of answers: after the request had passed."""


class _Pair:
    """One connection through the relay: the line of the client, the one to the server, how it began."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client = client
        self.server = server
        self.first = b""
        self.deaf = False
        self.caught = False


class Relay:
    """Listens on `port`. `there` and `back`: the fate of requests and of answers from now on.

    `away`: whoever connects is cut off at once. `delay`: seconds that bytes wait, both ways.
    """

    def __init__(self, target: int) -> None:
        self.target = target
        self.away = False
        self.delay = 0.0
        self.passed = 0
        """How many pieces of requests have passed."""
        self._there = self._back = Way.PASS
        self._changed = threading.Condition()
        self._catching = b""
        self._caught: _Pair | None = None
        self._closed = False
        self._open: set[_Pair] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, name="relay", daemon=True).start()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def there(self) -> Way:
        return self._there

    @there.setter
    def there(self, way: Way) -> None:
        with self._changed:
            self._there = way
            self._changed.notify_all()

    @property
    def back(self) -> Way:
        return self._back

    @back.setter
    def back(self, way: Way) -> None:
        with self._changed:
            self._back = way
            self._changed.notify_all()

    def both(self, way: Way) -> None:
        self.there = self.back = way

    def cut(self, *, away: bool = True) -> None:
        """End every connection; nobody gets in while it is `away`."""
        self.away = away
        with self._changed:
            pairs = tuple(self._open)
        for pair in pairs:
            _end(pair.client)
            _end(pair.server)

    def deafen(self, began: bytes) -> None:
        """Let no answer come back any more on the connections that are open now and began so."""
        with self._changed:
            for pair in self._open:
                pair.deaf = pair.deaf or pair.first.startswith(began)

    @contextmanager
    def caught(self, began: bytes) -> Iterator[None]:
        """Hold the answer to the next request that begins so. Within, it is there and waits; then it may pass."""
        with self._changed:
            self._catching = began
            assert self._changed.wait_for(lambda: self._caught is not None, PATIENCE), began
        yield
        with self._changed:
            self._caught = None
            self._changed.notify_all()

    def heal(self) -> None:
        """Let everything pass again."""
        self.away, self.delay = False, 0.0
        self.both(Way.PASS)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        _end(self._listener)  # Closing it wakes nobody who waits in accept().
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while not self._closed:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self.away:
                client.close()
                continue
            try:
                server = socket.create_connection(("127.0.0.1", self.target), PATIENCE)
            except OSError:
                client.close()
                continue
            server.settimeout(None)
            pair = _Pair(client, server)
            with self._changed:
                self._open.add(pair)
            for is_request in (True, False):
                threading.Thread(target=self._carry, args=(pair, is_request), daemon=True).start()

    def _carry(self, pair: _Pair, is_request: bool) -> None:
        source, sink = (pair.client, pair.server) if is_request else (pair.server, pair.client)
        with suppress(OSError):
            while data := source.recv(65536):
                pair.first = pair.first or data
                self._catch(pair, data, is_request)
                if self.delay:
                    threading.Event().wait(self.delay)
                way = self._when_it_may_pass(is_request)
                if way is Way.CUT:
                    break
                if way is Way.PASS and (is_request or not pair.deaf):
                    self.passed += is_request
                    sink.sendall(data)
        for line in (source, sink):
            _end(line)
        with self._changed:
            self._open.discard(pair)
        source.close()

    def _catch(self, pair: _Pair, data: bytes, is_request: bool) -> None:
        with self._changed:
            if is_request and self._catching and data.startswith(self._catching):
                self._catching, pair.caught = b"", True
            elif not is_request and pair.caught:
                pair.caught, self._caught = False, pair
                self._changed.notify_all()
                self._changed.wait_for(lambda: self._closed or self._caught is not pair)

    def _when_it_may_pass(self, is_request: bool) -> Way:
        def way() -> Way:
            return self._there if is_request else self._back

        with self._changed:
            self._changed.wait_for(lambda: self._closed or way() is not Way.HOLD)
            return Way.CUT if self._closed else way()


def _end(line: socket.socket) -> None:
    with suppress(OSError):
        line.shutdown(socket.SHUT_RDWR)
