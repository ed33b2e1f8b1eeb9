"""The command line's side of the service's socket. Standard library only: it is loaded for every `cmgr status`."""

import contextlib
import json
import os
import socket
import stat
import struct

from cmgr.errors import CmgrError, ConfigError, ServiceDown

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 30.0
BRIEFLY = 0.25
ANSWER_LIMIT = 64 * 1024 * 1024

START_HINT = "start it: systemctl start cmgr"
GROUP_HINT = "join group cmgr (usermod -aG cmgr USER) and log in again, or use sudo"


def ask(path: str | os.PathLike[str], do: str, **args: object) -> dict[str, object]:
    """Return the service's answer to one request. Blocks up to 35 s.

    Raises `ServiceDown` when nobody listens or answers, `ConfigError` or `CmgrError` with what the service says.
    """
    return _answer(path, _exchange(str(path), json.dumps({"do": do, "args": args}).encode() + b"\n"))


def ask_briefly(path: str | os.PathLike[str], do: str) -> dict[str, object]:
    """Do the same for one who cannot wait: blocks up to half a second."""
    return _answer(path, _exchange(str(path), json.dumps({"do": do, "args": {}}).encode() + b"\n", BRIEFLY, BRIEFLY))


def _answer(path: str | os.PathLike[str], line: bytes) -> dict[str, object]:
    try:
        reply = json.loads(line)
    except ValueError as error:
        raise CmgrError(f"cannot understand the answer from {path}", hint="is this cmgr's socket?") from error
    if not isinstance(reply, dict) or not isinstance(reply.get("ok"), bool):
        raise CmgrError(f"cannot understand the answer from {path}", hint="is this cmgr's socket?")
    if not reply["ok"]:
        raise _error(reply)
    answer = reply.get("answer")
    return answer if isinstance(answer, dict) else {}


def _error(reply: dict[str, object]) -> CmgrError:
    message, hint = str(reply.get("error", "cannot do it")), str(reply.get("hint", ""))
    mistakes = reply.get("mistakes")
    if isinstance(mistakes, list) and mistakes:
        return ConfigError(message, mistakes=tuple(map(str, mistakes)), hint=hint)
    return CmgrError(message, hint=hint)


def _exchange(path: str, request: bytes, connect: float = CONNECT_SECONDS, answer: float = ANSWER_SECONDS) -> bytes:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        _connect(connection, path, connect)
        connection.settimeout(answer)
        try:
            return _talk(connection, request)
        except TimeoutError as error:
            raise ServiceDown(
                f"cannot hear from the service: no answer on {path} within {answer:g} s",
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


def _talk(connection: socket.socket, request: bytes) -> bytes:
    # A service that refuses the request may end it early; what it said is still there to be read.
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        connection.sendall(request)
    received = bytearray()
    while b"\n" not in received and len(received) < ANSWER_LIMIT:
        more = connection.recv(65536)
        if not more:
            break
        received += more
    if b"\n" not in received:
        raise ConnectionResetError("the service closed the connection without an answer")
    return bytes(received.partition(b"\n")[0])
