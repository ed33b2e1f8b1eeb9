"""Requests to etcd's gateway: to whichever node answers, and over in time whatever is wrong."""

import json
import select
import socket
import ssl
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection, IncompleteRead
from typing import TypeVar
from urllib.parse import urlsplit

from cmgr import __version__, network
from cmgr.errors import FleetError, Unsure
from cmgr.fleet import etcd_wire as wire
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import say

T = TypeVar("T")

PATIENCE = 2.8
"""Seconds that a request may take, all nodes together: less than the 7 after which etcd itself gives up."""

PORT = 2379

_LEAST_SHARE = 0.7
"""A node is given so many seconds, as long as there are any, before another one is asked."""

_PAUSE = 0.1
"""Seconds before all nodes are asked once more: an election takes longer than an answer that there is no leader."""

_SPARE = 4
"""So many idle connections are kept for each node."""

_SLOW = say("group.too-slow")

_LIVELY = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 5),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 3),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
)
"""Of a line on which nobody writes the kernel notices within 15 s that the machine at its end is gone."""


@dataclass(frozen=True, slots=True)
class Access:
    """The way to etcd. `tls` is asked at each connection and `password` at each login: another one counts at once.

    Both raise `FleetError`.
    """

    endpoints: tuple[str, ...]
    tls: Callable[[], ssl.SSLContext | None] = lambda: None
    user: str = ""
    password: Callable[[], str] = str


class Away(FleetError):
    """The node was not reached: it never got the request."""


class Untrusted(Away):
    """The certificate of the node, or ours, is not good."""


class Line:
    """One connection to a node, whose calls end in time, and which any thread can cut. One thread at a time calls."""

    def __init__(self, endpoint: str, tls: ssl.SSLContext | None) -> None:
        self.endpoint = endpoint
        self._asked = False
        parts = urlsplit(endpoint)
        host, port = parts.hostname or "", parts.port or PORT
        secure = parts.scheme == "https"
        self._connection = HTTPSConnection(host, port, context=tls) if secure else HTTPConnection(host, port)

    def is_open(self) -> bool:
        """Return whether the node has neither closed the connection since the last answer, nor said anything."""
        if self._connection.sock is None:
            return False
        waiting = select.poll()
        waiting.register(self._connection.sock, select.POLLIN)
        return not waiting.poll(0)

    def cut(self) -> None:
        """Make the call under way fail at once."""
        network.cut(self._connection)

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def bounded(self, seconds: float) -> Iterator[None]:
        """Let what is done within take at most so long. Raises `Away` or `Unsure`, in words."""
        try:
            with network.bounded(self._connection, seconds):
                yield
        except network.NoAnswer as error:
            kind = Unsure if self._asked else Untrusted if isinstance(error.why, ssl.SSLError) else Away
            why = _SLOW if isinstance(error.why, TimeoutError) else error.message
            raise kind(say("group.cannot-ask", endpoint=self.endpoint, why=why)) from None

    def send(self, path: str, body: bytes | None, headers: Mapping[str, str], seconds: float) -> HTTPResponse:
        """Post the body, or get what is there without one. Return the answer, of which the head is there.

        Raises those of `network.FAILURES`.
        """
        self._asked = False
        self._connection.timeout = seconds
        if self._connection.sock is None:
            self._connection.connect()
        for option in _LIVELY:
            self._connection.sock.setsockopt(*option)
        self._connection.sock.settimeout(seconds)
        self._asked = True
        self._connection.request("POST" if body is not None else "GET", path, body, headers)
        return self._connection.getresponse()

    def be_patient(self) -> None:
        """Wait for what comes without an end from now on."""
        self._connection.sock.settimeout(None)


class Stream:
    """An answer that goes on: its lines, until it ends or is cut."""

    def __init__(self, line: Line, response: HTTPResponse) -> None:
        self._line = line
        self._response = response

    @property
    def endpoint(self) -> str:
        return self._line.endpoint

    def lines(self) -> Iterator[bytes]:
        """Yield each line as it comes. It ends by `Away`, or `Malformed`."""
        try:
            while line := self._response.readline(wire.LONGEST + 1):
                if len(line) > wire.LONGEST:
                    raise wire.Malformed("cannot understand etcd: a line of its watch is endless")
                if line.strip():
                    yield line
            why: str = say("group.closed-watch")
        except network.FAILURES as error:
            why = network.plainly(error)
        finally:
            self._response.close()
            self._line.close()
        raise Away(say("group.cannot-follow", endpoint=self.endpoint, why=why))

    def cut(self) -> None:
        """End it. Any thread."""
        self._line.cut()


class Gateway:
    """Asks the nodes of one cluster, first the one that answered last. Any thread.

    `heard`: when each node answered last, by our clock, and what its own said.
    """

    def __init__(self, access: Access) -> None:
        self.heard: dict[str, tuple[float, str]] = {}
        self._access = access
        self._free: dict[str, deque[Line]] = {endpoint: deque() for endpoint in access.endpoints}
        self._first = access.endpoints[0]
        self._token = ""
        self._login = threading.Lock()
        self._closed = False

    @property
    def endpoints(self) -> tuple[str, ...]:
        return self._access.endpoints

    def ask(self, path: str, body: Mapping[str, object], seconds: float = PATIENCE) -> object:
        """Ask until a node answers, again and again: what is asked must be safe to repeat.

        Raises `Unsure` when nobody answered and the request may have been carried out, or may be yet; else
        `FleetError`, as `Refused` when etcd does not want it.
        """
        return self._of_any(seconds, lambda endpoint, share: self.ask_at(endpoint, path, body, share))

    def follow(self, path: str, body: Mapping[str, object], seconds: float = PATIENCE) -> Stream:
        """Open an answer that goes on. It ends when its node has no leader any more. Raises as `ask`."""
        return self._of_any(seconds, lambda endpoint, share: self._opened(endpoint, path, body, share))

    def ask_at(self, endpoint: str, path: str, body: Mapping[str, object], seconds: float = PATIENCE) -> object:
        """Ask this node, once. Raises as `ask`."""
        until = time.monotonic() + seconds
        token = self._token or self._log_in(endpoint, "", until)
        try:
            return self._asked(endpoint, path, body, token, until)
        except wire.Refused as error:
            if not error.wants_token or not self._access.user:
                raise
        return self._asked(endpoint, path, body, self._log_in(endpoint, token, until), until)

    def fetch_at(self, endpoint: str, path: str, seconds: float = PATIENCE) -> bytes:
        """Return the page that the node has there; nothing where there is none. Raises as `ask`."""
        status, data = self._carried(endpoint, path, None, self._token, time.monotonic() + seconds)
        return data if status == 200 else b""

    def suspect(self, endpoint: str) -> None:
        """Ask another node first from now on, if it is this one."""
        if self._first == endpoint:
            at = self.endpoints.index(endpoint)
            self._first = self.endpoints[(at + 1) % len(self.endpoints)]

    def close(self) -> None:
        """Close what is free. A call under way closes its own when it ends."""
        self._closed = True
        for free in self._free.values():
            while free:
                with suppress(IndexError):
                    free.pop().close()

    def _of_any(self, seconds: float, call: Callable[[str, float], T]) -> T:
        until = time.monotonic() + seconds
        perhaps = False
        no_time = say("group.cannot-ask", endpoint="etcd", why=say("group.no-time"))
        last: Unsure | FleetError = FleetError(no_time)
        while True:
            at = self.endpoints.index(self._first)
            order = self.endpoints[at:] + self.endpoints[:at]
            for number, endpoint in enumerate(order):
                left = max(0.0, until - time.monotonic())
                try:
                    return call(endpoint, max(left / (len(order) - number), min(left, _LEAST_SHARE)))
                except (Unsure, FleetError) as error:
                    is_open = error.is_open if isinstance(error, wire.Refused) else isinstance(error, Unsure)
                    # No other node would say anything else.
                    if isinstance(error, wire.Refused) and not is_open and not perhaps:
                        raise
                    perhaps = perhaps or is_open
                    # The last try may have had too little time to find out what the others did.
                    last = last if last.message != no_time and error.message.endswith(_SLOW) else error
                self.suspect(endpoint)
            if not perhaps or until - time.monotonic() < _PAUSE:
                break
            threading.Event().wait(_PAUSE)
        if perhaps and not isinstance(last, Unsure):
            raise Unsure(last.message, hint=last.hint)
        raise last

    def _log_in(self, endpoint: str, old: str, until: float) -> str:
        """Return a token that is not `old`; nothing where etcd has no users."""
        if not self._access.user or not self._login.acquire(timeout=max(0.0, until - time.monotonic())):
            return ""
        try:
            if self._token != old:
                return self._token
            body = {"name": self._access.user, "password": self._access.password()}
            self._token = wire.token(self._asked(endpoint, "/v3/auth/authenticate", body, "", until))
        except wire.Refused as error:
            if error.has_no_users:
                return ""
            if error.is_open:
                raise
            hint = "the password in fleet.password_file, or the user: etcdctl user get; docs/fleet.md"
            raise wire.Refused(
                f"cannot log in as {self._access.user}: {error.message}", error.code, hint=hint
            ) from None
        finally:
            self._login.release()
        return self._token

    def _asked(self, endpoint: str, path: str, body: Mapping[str, object], token: str, until: float) -> object:
        return _judged(endpoint, *self._carried(endpoint, path, json.dumps(body).encode(), token, until))

    def _carried(self, endpoint: str, path: str, body: bytes | None, token: str, until: float) -> tuple[int, bytes]:
        seconds = until - time.monotonic()
        if seconds <= 0:
            raise Away(say("group.cannot-ask", endpoint=endpoint, why=say("group.no-time")))
        line, kept = self._line(endpoint), False
        try:
            with line.bounded(seconds), closing(line.send(path, body, _headers(token), seconds)) as response:
                data = _whole(response)
            self.heard[endpoint] = time.time(), response.headers.get("Date", "")
            kept = line.is_open() and len(self._free[endpoint]) < _SPARE
        finally:
            if kept:
                self._free[endpoint].append(line)
            else:
                line.close()
            if self._closed:
                self.close()
        return response.status, data

    def _opened(self, endpoint: str, path: str, body: Mapping[str, object], seconds: float) -> Stream:
        until = time.monotonic() + seconds
        token = self._token or self._log_in(endpoint, "", until)
        line = Line(endpoint, self._access.tls())
        stream = None
        try:
            with line.bounded(max(0.01, until - time.monotonic())):
                # https://github.com/etcd-io/etcd/blob/main/server/etcdserver/api/v3rpc/interceptor.go: requireLeader.
                headers = {**_headers(token), "Grpc-Metadata-hasleader": "true"}
                response = line.send(path, json.dumps(body).encode(), headers, seconds)
                if response.status == 200 and not response.will_close:
                    line.be_patient()
                    stream = Stream(line, response)
                    return stream
                with closing(response):
                    data = _whole(response)
        finally:
            if stream is None:
                line.close()
        error = _judged(endpoint, response.status, data)
        raise FleetError(f"cannot follow {endpoint}: {error}")

    def _line(self, endpoint: str) -> Line:
        free = self._free[endpoint]
        while free:
            with suppress(IndexError):
                line = free.pop()
                if line.is_open():
                    return line
                line.close()
        return Line(endpoint, self._access.tls())


def _headers(token: str) -> dict[str, str]:
    told = {"Content-Type": "application/json", "User-Agent": f"cmgr/{__version__}"}
    return {**told, "Authorization": token} if token else told


def _whole(response: HTTPResponse) -> bytes:
    data = response.read(wire.LONGEST + 1)
    if len(data) > wire.LONGEST:
        raise Unsure(f"cannot understand etcd: its answer is longer than {wire.LONGEST} bytes")
    if response.length:
        raise IncompleteRead(data, response.length)
    return data


def _judged(endpoint: str, status: int, data: bytes) -> object:
    """Return what the node told. A request whose answer cannot be understood may have been carried out."""
    try:
        told = wire.read(data)
    except wire.Malformed:
        raise Unsure(f"cannot ask {endpoint}: it answers {status}, and not as etcd does") from None
    if status != 200:
        raise wire.refused(told, status)
    return told
