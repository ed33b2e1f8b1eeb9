"""The command line's side of the service's socket. Standard library only: it is loaded for every `cmgr status`.

It speaks HTTP/1.0, so that an answer ends with its connection and is never cut into chunks: the standard library's own
client takes as long to load as Python itself.
"""

import contextlib
import json
import os
import select
import socket
import stat
import struct
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, NamedTuple, cast

from cmgr.errors import CmgrError, ConfigError, ServiceDown

if TYPE_CHECKING:
    from cmgr.view import shapes

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 30.0
ANSWER_LIMIT = 64 * 1024 * 1024

START_HINT = "start it: systemctl start cmgr; if it does not start: journalctl -u cmgr -e"
GROUP_HINT = "join group cmgr (usermod -aG cmgr USER) and log in again, or use sudo"

_LOOK_MILLISECONDS = 1000


class Patience(NamedTuple):
    """Seconds until somebody accepts, and until each part of the answer is there."""

    connect: float = CONNECT_SECONDS
    answer: float = ANSWER_SECONDS


USUAL = Patience()
BRIEFLY = Patience(0.25, 0.25)
"""For one who cannot wait."""


def get(path: str | os.PathLike[str], what: str, patience: Patience = USUAL) -> dict[str, object]:
    """Return what the service answers to GET /v1/WHAT. Blocks up to 35 s.

    Raises `ServiceDown` when nobody listens or answers, `ConfigError` or `CmgrError` with what the service says.
    """
    return _answer(path, _exchange(str(path), _request("GET", f"/v1/{what}"), patience))


def status(path: str | os.PathLike[str], patience: Patience = USUAL) -> "shapes.Status":
    """Return the whole picture. Blocks and raises as `get`."""
    return cast("shapes.Status", get(path, "status", patience))


def order(path: str | os.PathLike[str], do: str, **args: object) -> dict[str, object]:
    """Return what the service answers to this order. Blocks and raises as `get`."""
    return post(path, f"orders/{do}", **args)


def post(path: str | os.PathLike[str], what: str, **args: object) -> dict[str, object]:
    """Return what the service answers to POST /v1/WHAT. Blocks and raises as `get`."""
    return _answer(path, _exchange(str(path), _request("POST", f"/v1/{what}", args), USUAL))


def tell(path: str | os.PathLike[str], what: str, **args: object) -> dict[str, object]:
    """Return what the service answers to POST /v1/WHAT. Blocks and raises as `get`."""
    return _answer(path, _exchange(str(path), _request("POST", f"/v1/{what}", args), USUAL))


def document(path: str | os.PathLike[str], what: str) -> bytes:
    """Return the answer to GET /v1/WHAT as it is. Raises as `get`."""
    received = _exchange(str(path), _request("GET", f"/v1/{what}"), USUAL)
    head, _, body = received.partition(b"\r\n\r\n")
    if _status(head) != 200:
        _answer(path, received)
        raise _foreign(path)
    return body


def follow(path: str | os.PathLike[str], what: str) -> Generator[bytes | None, None, None]:
    """Yield the lines of GET /v1/WHAT as they come, and None after each second without one.

    The first None comes when the service follows. Raises as `get`, and `ServiceDown` when the service ends.
    """
    with _talking(str(path), USUAL) as connection:
        connection.sendall(_request("GET", f"/v1/{what}"))
        received = bytearray()
        while b"\r\n\r\n" not in received:
            received += _more(connection)
        head, _, rest = bytes(received).partition(b"\r\n\r\n")
        if _status(head) != 200:
            _answer(path, bytes(received) + _rest(connection))
        yield None
        pending = bytearray(rest)
        poll = select.poll()
        poll.register(connection, select.POLLIN)
        while True:
            *lines, last = pending.split(b"\n")
            yield from map(bytes, lines)
            pending = bytearray(last)
            if poll.poll(_LOOK_MILLISECONDS):
                pending += _more(connection)
            else:
                yield None


def _request(method: str, target: str, args: dict[str, object] | None = None) -> bytes:
    body = b"" if args is None else json.dumps(args).encode()
    about = f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n" if body else ""
    return f"{method} {target} HTTP/1.0\r\n{about}\r\n".encode() + body


def _answer(path: str | os.PathLike[str], received: bytes) -> dict[str, object]:
    head, _, body = received.partition(b"\r\n\r\n")
    status = _status(head)
    try:
        told = json.loads(body)
    except ValueError as error:
        raise _foreign(path) from error
    if status == 0 or not isinstance(told, dict):
        raise _foreign(path)
    # 503 may come with a document: the service answers, and says that it is not well.
    if status >= 400 and "error" in told:
        raise _error(told)
    return told


def _status(head: bytes) -> int:
    """Return the answer's status code, 0 for what is no answer of HTTP."""
    words = head.partition(b"\r\n")[0].split()
    return int(words[1]) if len(words) > 1 and words[0].startswith(b"HTTP/1.") and words[1].isdigit() else 0


def _foreign(path: str | os.PathLike[str]) -> CmgrError:
    return CmgrError(f"cannot understand the answer from {path}", hint="is this cmgr's socket, and of this version?")


def _error(told: dict[str, object]) -> CmgrError:
    message, hint = str(told["error"]), str(told.get("hint", ""))
    mistakes = told.get("mistakes")
    if isinstance(mistakes, list) and mistakes:
        return ConfigError(message, mistakes=tuple(map(str, mistakes)), hint=hint)
    return CmgrError(message, hint=hint)


def _exchange(path: str, request: bytes, patience: Patience) -> bytes:
    with _talking(path, patience) as connection:
        # A service that refuses the request may end it early; what it said is still there to be read.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(request)
        return _whole(_rest(connection))


def _whole(received: bytes) -> bytes:
    """Return the same. Raises OSError when the connection ended before the answer did."""
    head, end, body = received.partition(b"\r\n\r\n")
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length" and value.strip().isdigit() and len(body) < int(value):
            raise ConnectionResetError("the service closed the connection in the middle of its answer")
    if not end:
        raise ConnectionResetError("the service closed the connection without an answer")
    return received


@contextlib.contextmanager
def _talking(path: str, patience: Patience) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        _connect(connection, path, patience.connect)
        connection.settimeout(patience.answer)
        try:
            yield connection
        except TimeoutError as error:
            raise ServiceDown(
                f"cannot hear from the service: no answer on {path} within {patience.answer:g} s",
                hint="see journalctl -u cmgr",
            ) from error
        except OSError as error:
            raise ServiceDown(f"cannot talk to the service on {path}", hint="see journalctl -u cmgr") from error


def _connect(connection: socket.socket, path: str, patience: float) -> None:
    # Not settimeout: where many have come at once the kernel then refuses (EAGAIN) instead of waiting (man 7 unix).
    seconds, part = divmod(patience, 1)
    limit = struct.pack("ll", int(seconds), int(part * 1_000_000))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
    try:
        connection.connect(path)
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
        # The system's own words for it say less, and frighten.
        if _is_something_else(path):
            raise ServiceDown(f"cannot reach the service: {path} is not a socket", hint="is the path right?") from None
        raise ServiceDown(f"cannot reach the service: nobody listens on {path}", hint=START_HINT) from None
    except PermissionError:
        raise CmgrError(f"cannot reach the service on {path}: permission denied", hint=GROUP_HINT) from None
    except BlockingIOError as error:
        raise ServiceDown(
            f"cannot reach the service: it does not accept on {path}", hint="see journalctl -u cmgr"
        ) from error
    except OSError as error:
        raise CmgrError(f"cannot reach the service on {path}", hint="is the path right?") from error


def _is_something_else(path: str) -> bool:
    try:
        return not stat.S_ISSOCK(os.stat(path).st_mode)
    except OSError:
        return False


def _rest(connection: socket.socket) -> bytes:
    """Return all that comes until the service ends the connection."""
    received = bytearray()
    # A service that has not read the whole request resets the connection behind its answer.
    with contextlib.suppress(ConnectionResetError):
        while len(received) < ANSWER_LIMIT and (more := connection.recv(65536)):
            received += more
    return bytes(received)


def _more(connection: socket.socket) -> bytes:
    more = connection.recv(65536)
    if not more:
        raise ConnectionResetError("it has ended the connection")
    return more
