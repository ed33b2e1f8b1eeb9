"""Speaking HTTP/1.1 with a socket byte by byte, as clients do that are not cmgr's own."""

import http.client
import json
import socket
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.support.waiting import PATIENCE


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer. `value` is what its JSON says; nothing where it has none."""

    status: int
    headers: http.client.HTTPMessage
    body: bytes

    @property
    def value(self) -> dict[str, object]:
        found: dict[str, object] = json.loads(self.body)
        return found


class Unix(http.client.HTTPConnection):
    """The standard library's client, on a unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=PATIENCE)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        _connect(self.sock, self.path)

    def ask(self, method: str, target: str, body: bytes = b"", **headers: str) -> Reply:
        fields = {name.replace("_", "-"): text for name, text in headers.items()}
        # A server that refuses the request may end it early; what it said is still there to be read.
        with suppress(BrokenPipeError, ConnectionResetError):
            self.request(method, target, body or None, fields)
        answer = self.getresponse()
        return Reply(answer.status, answer.headers, answer.read())


def _connect(connection: socket.socket, path: Path) -> None:
    # With a time limit the kernel would refuse what it cannot take at once, instead of waiting.
    connection.connect(str(path))
    connection.settimeout(PATIENCE)


def asked(path: Path, method: str, target: str, body: bytes = b"", **headers: str) -> Reply:
    """Ask once, on a connection of its own."""
    connection = Unix(path)
    try:
        return connection.ask(method, target, body, **headers)
    finally:
        connection.close()


def connected(path: Path, stack: ExitStack) -> socket.socket:
    connection = stack.enter_context(socket.socket(socket.AF_UNIX))
    _connect(connection, path)
    return connection


def heard(connection: socket.socket) -> bytes:
    """Return all that comes until the other side ends the connection."""
    received = b""
    try:
        while more := connection.recv(65536):
            received += more
    except ConnectionResetError:
        pass  # Bytes that were sent and not read were thrown away.
    return received


def replies(received: bytes) -> list[tuple[int, dict[str, object]]]:
    """Return the status and the JSON of each answer in these bytes."""
    found = []
    while received:
        head, _, rest = received.partition(b"\r\n\r\n")
        length = next(int(h[15:]) for h in head.split(b"\r\n") if h.lower().startswith(b"content-length:"))
        found.append((int(head.split()[1]), json.loads(rest[:length])))
        received = rest[length:]
    return found
