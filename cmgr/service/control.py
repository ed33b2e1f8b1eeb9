"""The service's unix socket: one JSON line in, one JSON line out, then the connection ends.

Rules:
1. The socket never exists with a wider mode than its last one: it is bound in a directory that only we can enter,
   and moved into place when owner and mode are right.
2. A socket on which somebody listens is never replaced; one that a dead service left is.
3. Whatever a peer sends, or does not send, costs one of a few threads for a bounded time.
"""

import contextlib
import json
import os
import shutil
import socket
import stat
import struct
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from cmgr.errors import CmgrError, ConfigError, chain
from cmgr.service.claim import GROUP, gid_of, make_directory

REQUEST_LIMIT = 64 * 1024
REQUEST_SECONDS = 5.0
ANSWER_SECONDS = 5.0
THREADS = 4
BACKLOG = 64

_PATH_LIMIT = 107  # sockaddr_un has 108 bytes, the last one zero.
_SO_PEERGROUPS = 59  # Linux 4.13 and later, asm-generic/socket.h; the socket module does not name it.
_PEER = struct.Struct("iII")


@dataclass(frozen=True, slots=True)
class Request:
    """What a peer asks, and who it is as the kernel says."""

    do: str
    args: Mapping[str, object]
    uid: int
    pid: int


Answer = Callable[[Request], Mapping[str, object]]
"""Is called on several threads. What it raises as `CmgrError` is told to the peer."""


@dataclass(frozen=True, slots=True)
class _Peer:
    pid: int
    uid: int
    gids: frozenset[int]


class ControlServer:
    """Answers requests from `start` to `close`.

    `report` is told, on a thread of the server, of each exception that is a bug in `answer`. A request must be there
    within `patience` seconds. Root, the service's own
    user and the members of `group` are answered, and nobody else.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        answer: Answer,
        group: str = GROUP,
        report: Callable[[str, BaseException], None] = lambda _message, _error: None,
        patience: float = REQUEST_SECONDS,
    ) -> None:
        self._path = Path(path)
        self._answer = answer
        self._group = gid_of(group)
        self._report = report
        self._patience = patience
        self._listening: socket.socket | None = None
        self._inode: tuple[int, int] | None = None
        self._threads: tuple[threading.Thread, ...] = ()

    def start(self) -> None:
        """Listen. Raises `ConfigError` when the socket cannot be made, or another service listens on it."""
        refuse_if_live(self._path)
        try:
            self._listening, self._inode = _listen(self._path, self._group)
        except OSError as error:
            raise ConfigError(
                f"cannot listen on {self._path}", hint="name another path with socket in the configuration"
            ) from error
        serve = self._serve
        listening = self._listening
        self._threads = tuple(
            threading.Thread(target=serve, args=(listening,), name=f"control-{n}", daemon=True) for n in range(THREADS)
        )
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """Stop listening and remove the socket if it is still ours. Blocks up to 2 s. Safe to repeat."""
        listening, self._listening = self._listening, None
        if listening is None:
            return
        with contextlib.suppress(OSError):
            if _inode(self._path) == self._inode:
                self._path.unlink()
        # A blocked accept() is not woken by close(), but by shutdown().
        with contextlib.suppress(OSError):
            listening.shutdown(socket.SHUT_RDWR)
        until = time.monotonic() + 2
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        listening.close()

    def _serve(self, listening: socket.socket) -> None:
        while self._listening is not None:
            try:
                connection, _ = listening.accept()
            except OSError:
                # Out of file descriptors passes; that the socket was shut down ends the loop.
                time.sleep(0.05)
                continue
            with connection, contextlib.suppress(OSError):
                self._converse(connection)

    def _converse(self, connection: socket.socket) -> None:
        peer = _peer(connection)
        if not permitted(peer.uid, peer.gids, os.geteuid(), self._group):
            reply = _refusal("cannot answer: you may not use this service", "join group cmgr")
        else:
            try:
                line = _line(connection, self._patience)
                if not line:
                    return
                reply = self._reply(_request(line, peer))
            except CmgrError as error:
                reply = _refused(error)
        connection.settimeout(ANSWER_SECONDS)
        connection.sendall(reply)

    def _reply(self, request: Request) -> bytes:
        try:
            return _encoded({"ok": True, "answer": dict(self._answer(request))})
        except CmgrError as error:
            return _refused(error)
        except Exception as error:
            # The thread must outlive a bug in one request, and the peer must hear of it.
            self._report(f"cannot answer {request.do[:40]!r}", error)
            return _refusal("cannot answer: internal error of the service", "see journalctl -u cmgr and report it")


def permitted(uid: int, gids: Collection[int], own: int, group: int | None) -> bool:
    """Return whether a peer with this user and these groups is answered by a service that runs as user `own`."""
    return uid in (0, own) or (group is not None and group in gids)


def refuse_if_live(path: Path) -> None:
    """Raise `ConfigError` when somebody listens on the path, or when what is there is not a socket."""
    with contextlib.suppress(FileNotFoundError):
        if not stat.S_ISSOCK(path.lstat().st_mode):
            raise ConfigError(f"cannot listen on {path}: there is a file that is not a socket", hint="move it away")
    pid = listener(path)
    if pid is not None:
        who = f" (pid {pid})" if pid else ""
        raise ConfigError(
            f"cannot listen on {path}: another service listens there{who}",
            hint="stop it (systemctl stop cmgr), or name another path with socket in the configuration",
        )


def listens(path: Path) -> bool:
    """Return whether a process accepts connections on this path."""
    return listener(path) is not None


def listener(path: Path) -> int | None:
    """Return the process that accepts connections on this path, 0 when it cannot be told which; None: there is none."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(str(path))
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
            return None
        except TimeoutError:
            return 0
        except OSError:
            return 0 if path.exists() else None
        return _peer(probe).pid


def _listen(path: Path, group: int | None) -> tuple[socket.socket, tuple[int, int]]:
    make_directory(path, group)
    private = tempfile.mkdtemp(prefix=".", dir=path.parent)
    try:
        unready = Path(private) / "s"
        for name in (unready, path):
            if len(os.fsencode(name)) > _PATH_LIMIT:
                raise OSError(f"the path is longer than {_PATH_LIMIT} bytes: {name}")
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listening.bind(str(unready))
            _guard(unready, group)
            listening.listen(BACKLOG)
            inode = _inode(unready)
            unready.rename(path)
        except BaseException:
            listening.close()
            raise
        return listening, inode
    finally:
        shutil.rmtree(private, ignore_errors=True)


def _guard(path: Path, group: int | None) -> None:
    if os.geteuid() == 0 and group is not None:
        os.chown(path, 0, group)
        path.chmod(0o660)
    else:
        path.chmod(0o600)


def _inode(path: Path) -> tuple[int, int]:
    found = path.lstat()
    return found.st_dev, found.st_ino


def _peer(connection: socket.socket) -> _Peer:
    raw = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    pid, uid, gid = _PEER.unpack(raw)
    try:
        groups = connection.getsockopt(socket.SOL_SOCKET, _SO_PEERGROUPS, 65536)
    except OSError:
        groups = b""
    supplementary = struct.unpack(f"{len(groups) // 4}I", groups)
    return _Peer(pid, uid, frozenset((gid, *supplementary)))


def _line(connection: socket.socket, patience: float) -> bytes:
    """Return what comes before the first line end, or before the end of what is sent."""
    until = time.monotonic() + patience
    received = bytearray()
    while b"\n" not in received:
        left = until - time.monotonic()
        if left <= 0:
            raise CmgrError(f"cannot read the request: it did not end within {patience:g} s")
        connection.settimeout(left)
        try:
            more = connection.recv(8192)
        except TimeoutError:
            continue
        if not more:
            break
        received += more
        if len(received) > REQUEST_LIMIT:
            raise CmgrError(f"cannot read the request: it is longer than {REQUEST_LIMIT} bytes")
    return bytes(received.partition(b"\n")[0])


def _request(line: bytes, peer: _Peer) -> Request:
    try:
        asked = json.loads(line.decode())
    except (ValueError, RecursionError) as error:
        raise CmgrError(
            "cannot read the request: it is not JSON", hint='send one line such as {"do": "status", "args": {}}'
        ) from error
    if not isinstance(asked, dict) or not asked.keys() <= {"do", "args"}:
        raise CmgrError("cannot read the request: it must be an object with do and args and nothing else")
    do, args = asked.get("do"), asked.get("args", {})
    if not isinstance(do, str) or not isinstance(args, dict):
        raise CmgrError("cannot read the request: do must be a text and args an object")
    return Request(do, args, peer.uid, peer.pid)


def _refused(error: CmgrError) -> bytes:
    return _refusal(chain(error), error.hint, error.mistakes if isinstance(error, ConfigError) else ())


def _refusal(error: str, hint: str, mistakes: tuple[str, ...] = ()) -> bytes:
    return _encoded({"ok": False, "error": error, "hint": hint, "mistakes": list(mistakes)})


def _encoded(reply: Mapping[str, object]) -> bytes:
    return json.dumps(reply, separators=(",", ":")).encode() + b"\n"
