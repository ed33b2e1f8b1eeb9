"""The metrics over HTTP: GET /metrics, and nothing else.

Rules:
1. Nothing here keeps the service from running: a port that is taken is tried again and again, and told until then.
2. Whatever a peer sends, or does not send, costs one of a few threads for a bounded time.
3. Nobody asks: nothing runs. The threads wait in accept().
"""

import contextlib
import socket
import threading
import time
from collections.abc import Callable

REQUEST_LIMIT = 8 * 1024
REQUEST_SECONDS = 2.0
ANSWER_SECONDS = 5.0
RETRY_SECONDS = 10.0
THREADS = 4
BACKLOG = 16

PATH = "/metrics"

_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_PLAIN = "text/plain; charset=utf-8"


class MetricsServer:
    """Serves `page` from `start` to `close`. A request must be there within `patience` seconds.

    `page` is called on several threads. On a thread of the server `warn` is told when the port cannot be had, and
    `report` of each exception that is a bug in `page`.
    """

    def __init__(
        self,
        listen: str,
        page: Callable[[], bytes],
        report: Callable[[str, BaseException], None],
        warn: Callable[[str], None],
        patience: float = REQUEST_SECONDS,
    ) -> None:
        self._listen = listen
        self._page = page
        self._report = report
        self._warn = warn
        self._patience = patience
        self._closing = threading.Event()
        self._listening: socket.socket | None = None
        self._trouble = ""

    def start(self, retry_seconds: float = RETRY_SECONDS) -> None:
        """Begin to listen as soon as that can be. Does not block."""
        # Not on this thread: looking up a name may take long.
        threading.Thread(target=self._begin, args=(retry_seconds,), name="metrics-0", daemon=True).start()

    def trouble(self) -> str:
        """Return why nobody can be served, or nothing. Any thread; does not block."""
        return self._trouble

    def close(self) -> None:
        """Stop listening. Does not block. Safe to repeat."""
        self._closing.set()
        listening = self._listening
        if listening is not None:
            # A blocked accept() is not woken by close(), but by shutdown().
            with contextlib.suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            listening.close()

    def _begin(self, retry_seconds: float) -> None:
        while not self._closing.is_set():
            try:
                self._listening = listening(self._listen)
                break
            except OSError as error:
                if not self._trouble:
                    self._trouble = f"cannot serve metrics on {self._listen}: {error.strerror or error}"
                    self._warn(f"{self._trouble}: it is tried again every {retry_seconds:g} s")
            self._closing.wait(retry_seconds)
        else:
            return
        if self._trouble:
            self._trouble = ""
            self._warn(f"metrics are served on {self._listen} now")
        if self._closing.is_set():
            self.close()
        for number in range(1, THREADS):
            threading.Thread(target=self._serve, name=f"metrics-{number}", daemon=True).start()
        self._serve()

    def _serve(self) -> None:
        assert self._listening is not None
        while not self._closing.is_set():
            try:
                connection, _ = self._listening.accept()
            except OSError:
                # Out of file descriptors passes; that the socket was shut down ends the loop.
                self._closing.wait(0.05)
                continue
            with connection, contextlib.suppress(OSError):
                reply = self._reply(_request_line(connection, self._patience))
                connection.settimeout(ANSWER_SECONDS)
                connection.sendall(reply)

    def _reply(self, line: bytes) -> bytes:
        words = line.split()
        if len(words) != 3 or not words[2].startswith(b"HTTP/1."):
            return _response("400 Bad Request", _PLAIN, b"this is not a request of HTTP/1.1\n")
        if words[1].partition(b"?")[0] != PATH.encode():
            return _response("404 Not Found", _PLAIN, f"there is {PATH} and nothing else\n".encode())
        if words[0] != b"GET":
            return _response("405 Method Not Allowed", _PLAIN, b"only GET is answered\n", "Allow: GET\r\n")
        try:
            return _response("200 OK", _TYPE, self._page())
        except Exception as error:
            # The thread must outlive a bug in one request, and the peer must hear of it.
            self._report("cannot tell the metrics: please report it", error)
            return _response("500 Internal Server Error", _PLAIN, b"internal error: see journalctl -u cmgr\n")


def _response(status: str, kind: str, body: bytes, more: str = "") -> bytes:
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}Connection: close\r\n\r\n"
    )
    return head.encode() + body


def _request_line(connection: socket.socket, patience: float) -> bytes:
    """Return the first line of a request that is there as a whole; nothing of one that is not, or too long."""
    until = time.monotonic() + patience
    received = bytearray()
    while b"\r\n\r\n" not in received:
        left = until - time.monotonic()
        if left <= 0 or len(received) > REQUEST_LIMIT:
            return b""
        connection.settimeout(left)
        try:
            more = connection.recv(REQUEST_LIMIT)
        except TimeoutError:
            return b""
        if not more:
            return b""
        received += more
    return bytes(received.partition(b"\r\n")[0])


def address(listen: str) -> tuple[str, int]:
    """Return host and port of the setting's text."""
    host, _, port = listen.rpartition(":")
    return host.strip("[]"), int(port)


def listening(listen: str) -> socket.socket:
    """Return a socket that listens there. Raises OSError; a name is looked up, which may take long."""
    made = bound(listen)
    try:
        made.listen(BACKLOG)
    except OSError:
        made.close()
        raise
    return made


def bound(listen: str) -> socket.socket:
    """Return a socket that has the address and does not listen yet. Raises OSError, as `listening`."""
    host, port = address(listen)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except UnicodeError as error:
        raise OSError(f"{host} is no name of a machine") from error
    family, kind, _, _, place = found[0]
    made = socket.socket(family, kind)
    try:
        # The connections of the last life, which the kernel keeps for a minute, are in nobody's way.
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(place)
    except OSError:
        made.close()
        raise
    return made
