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
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from cmgr.errors import BadRequest, CmgrError, ConfigError, ServiceDown, ServiceHangs
from cmgr.sentences.sentence import in_language, language_of, say, sentence, targets
from cmgr.shortcut import locale

if TYPE_CHECKING:
    from cmgr.view import shapes

ANSWER_LIMIT = 64 * 1024 * 1024

_LOOK_MILLISECONDS = 1000
LOOKS = 10


class Patience(NamedTuple):
    """Seconds until it is told that the service is waited for; until it counts as one that hangs; and until it does
    so even where it answers others: some questions take long.
    """

    told: float = 2.0
    hangs: float = 10.0
    most: float = 30.0


USUAL = Patience()
ASIDE = Patience(1.0, 1.0, 1.0)
BRIEFLY = Patience(0.25, 0.25, 0.25)
"""For one who cannot wait, and is told nothing."""


def get(path: str | os.PathLike[str], what: str, patience: Patience = USUAL) -> dict[str, object]:
    """Return what the service answers to GET /v1/WHAT. Blocks for as long as `patience` says.

    Raises `ServiceDown` when nobody listens, `ServiceHangs` when nobody answers, `ConfigError` or `CmgrError` with what
    the service says.
    """
    return _answer(path, _exchange(str(path), _request("GET", f"/v1/{what}"), patience))


def told(path: str | os.PathLike[str], what: str) -> dict[str, object]:
    """Return the same with its sentences in the language of whoever types."""
    return _spoken(what, lambda target: get(path, target))


def status(path: str | os.PathLike[str], patience: Patience = USUAL) -> "shapes.Status":
    """Return the whole picture. Blocks and raises as `get`."""
    return cast("shapes.Status", get(path, "status", patience))


def order(path: str | os.PathLike[str], do: str, **args: object) -> dict[str, object]:
    """Return what the service answers to this order, in the language of whoever types. Blocks and raises as `get`."""
    return _spoken("reports" if do == "report" else f"orders/{do}", lambda target: post(path, target, **args))


def _spoken(target: str, ask: Callable[[str], dict[str, object]]) -> dict[str, object]:
    first, *others = targets(target, language_of(locale()))
    try:
        return ask(first)
    except BadRequest:
        for other in others:
            with contextlib.suppress(BadRequest):
                return ask(other)
        raise


def post(path: str | os.PathLike[str], what: str, **args: object) -> dict[str, object]:
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


def follow(path: str | os.PathLike[str], what: str, looks: int = LOOKS) -> Generator[bytes | None, None, None]:
    """Yield the lines of GET /v1/WHAT as they come, and None after each second without one.

    The first None comes when the service follows. Raises as `get`, and `ServiceDown` when the service ends. After so
    many `looks` without a line it is asked whether anybody is there.
    """
    with _talking(str(path), USUAL) as connection:
        connection.sendall(_request("GET", f"/v1/{what}"))
        _await(connection, str(path), USUAL)
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
        silent = 0
        while True:
            *lines, last = pending.split(b"\n")
            yield from map(bytes, lines)
            pending = bytearray(last)
            if poll.poll(_LOOK_MILLISECONDS):
                pending += _more(connection)
                silent = 0
                continue
            silent += 1
            if silent % looks == 0 and not _answers_others(str(path)):
                raise _hangs(_pid(connection), USUAL.hangs)
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
    except (ValueError, RecursionError) as error:
        raise _foreign(path) from error
    if status == 0 or not isinstance(told, dict):
        raise _foreign(path)
    # 503 may come with a document: the service answers, and says that it is not well.
    if status >= 400 and "error" in told:
        raise _error(status, told)
    return told


def _status(head: bytes) -> int:
    """Return the answer's status code, 0 for what is no answer of HTTP."""
    words = head.partition(b"\r\n")[0].split()
    return int(words[1]) if len(words) > 1 and words[0].startswith(b"HTTP/1.") and words[1].isdigit() else 0


def _foreign(path: str | os.PathLike[str]) -> CmgrError:
    return CmgrError(say("error.foreign", path=str(path)), hint=say("error.is-this-the-socket"))


def _error(status: int, told: dict[str, object]) -> CmgrError:
    message, hint = restored(told, "error"), restored(told, "hint")
    if status == 504:
        return ServiceHangs(message, hint=hint)
    found = told.get("mistakes")
    texts = found if isinstance(found, list) else []
    mistakes = tuple(_told(told, f"mistakes[{n}]", str(text)) for n, text in enumerate(texts))
    if status == 400:
        return BadRequest(message, mistakes=mistakes, hint=hint)
    return ConfigError(message, mistakes=mistakes, hint=hint) if mistakes else CmgrError(message, hint=hint)


def restored(told: Mapping[str, Any], key: str) -> str:
    """Return a text of a document with its message, if that is there."""
    return _told(told, key, str(told.get(key, "")))


def _told(told: Mapping[str, Any], key: str, text: str) -> str:
    try:
        return sentence(text, told["messages"][key])
    except (LookupError, TypeError, AttributeError):
        return text


def _exchange(path: str, request: bytes, patience: Patience) -> bytes:
    with _talking(path, patience) as connection:
        # A service that refuses the request may end it early; what it said is still there to be read.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            connection.sendall(request)
        _await(connection, path, patience)
        return _whole(_rest(connection))


def _await(connection: socket.socket, path: str, patience: Patience) -> None:
    """Wait until the service says something. Raises `ServiceHangs`."""
    waited = 0.0
    for until in (patience.told, patience.hangs, patience.most):
        if _is_heard(connection, until - waited):
            return
        waited = until
        if until < patience.hangs:
            _say_waiting(say("error.not-answered", pid=_pid(connection), length=timedelta(seconds=until)))
        elif until < patience.most and not _answers_others(path):
            break
    raise _hangs(_pid(connection), waited)


def _is_heard(connection: socket.socket, seconds: float) -> bool:
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def _answers_others(path: str) -> bool:
    try:
        _exchange(path, _request("GET", "/v1/health"), ASIDE)
    except CmgrError:
        return False
    return True


def _say_waiting(why: str) -> None:
    told = in_language(say("error.waiting", why=why), language_of(locale()))
    sys.stderr.write(f"cmgr: {told}\n")
    sys.stderr.flush()


def _hangs(pid: int, seconds: float) -> ServiceHangs:
    hint = say("error.to-let-it-go-on", pid=pid) if _is_stopped(pid) else say("error.to-end-it")
    return ServiceHangs(say("error.hangs", pid=pid, length=timedelta(seconds=seconds)), hint=hint, pid=pid)


def _pid(connection: socket.socket) -> int:
    """Return the process that listens."""
    pid, _uid, _gid = struct.unpack("iII", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
    return int(pid)


def _is_stopped(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as told:
            return told.read().rpartition(")")[2].split()[0] == "T"
    except (OSError, IndexError):
        return False


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
        _connect(connection, path, patience)
        connection.settimeout(patience.hangs)
        try:
            yield connection
        except TimeoutError as error:
            raise _hangs(_pid(connection), patience.hangs) from error
        except OSError as error:
            raise ServiceDown(say("error.cannot-talk", path=path), hint=say("error.see-journal")) from error


def _connect(connection: socket.socket, path: str, patience: Patience) -> None:
    try:
        if _is_accepted(connection, path, patience.told):
            return
        if patience.told < patience.hangs:
            _say_waiting(say("error.accepts-nobody", path=path, length=timedelta(seconds=patience.told)))
            if _is_accepted(connection, path, patience.hangs - patience.told):
                return
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
        # The system's own words for it say less, and frighten.
        if _is_something_else(path):
            raise ServiceDown(say("error.is-no-socket", path=path), hint=say("error.is-the-path-right")) from None
        raise ServiceDown(say("error.nobody-listens", path=path), hint=say("error.to-start")) from None
    except PermissionError:
        raise CmgrError(say("error.not-permitted", path=path), hint=say("error.to-join-the-group")) from None
    except OSError as error:
        raise CmgrError(say("error.cannot-reach", path=path), hint=say("error.is-the-path-right")) from error
    nobody = say("error.hangs-before", path=path, length=timedelta(seconds=patience.hangs))
    raise ServiceHangs(nobody, hint=say("error.to-end-it"))


def _is_accepted(connection: socket.socket, path: str, seconds: float) -> bool:
    # Not settimeout: where many have come at once the kernel then refuses (EAGAIN) instead of waiting (man 7 unix).
    whole, part = divmod(seconds, 1)
    limit = struct.pack("ll", int(whole), int(part * 1_000_000))
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
    try:
        connection.connect(path)
    except BlockingIOError:
        return False
    return True


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
