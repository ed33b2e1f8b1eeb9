"""The service's unix socket: one JSON line in, one JSON line out, then the connection ends.

Rules:
1. The socket never exists with a wider mode than its last one: it is bound in a directory that only we can enter,
   and moved into place when owner and mode are right.
2. A socket on which somebody listens is never replaced; one that a dead service left is.
3. Who may not use the service is told so, and nothing that it sends is read.
"""

import contextlib
import json
import os
import queue
import shutil
import socket
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from cmgr.config import places
from cmgr.errors import CmgrError, ConfigError, chain
from cmgr.service.door.claim import GROUP, gid_of, make_directory
from cmgr.service.peers import Peer, peer_of
from cmgr.service.reception import Guest, Host, Reception

REQUEST_SECONDS = 5.0
THREADS = 4
BACKLOG = 256

_PATH_LIMIT = 107  # sockaddr_un has 108 bytes, the last one zero.


@dataclass(frozen=True, slots=True)
class Request:
    """What a peer asks, and who it is as the kernel says."""

    do: str
    args: Mapping[str, object]
    uid: int
    pid: int


Answer = Callable[[Request], Mapping[str, object]]
"""Is called on several threads. What it raises as `CmgrError` is told to the peer."""


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
        self._reception: Reception | None = None
        self._requests: queue.SimpleQueue[tuple[Guest, bytes] | None] = queue.SimpleQueue()
        self._threads: tuple[threading.Thread, ...] = ()

    def start(self) -> None:
        """Listen. Raises `ConfigError` when the socket cannot be made, or another service listens on it."""
        refuse_if_live(self._path)
        try:
            _refuse_place(self._path)
            self._listening, self._inode = _listen(self._path, self._group)
        except OSError as error:
            raise ConfigError(
                f"cannot listen on {self._path}", hint="name another path with socket in the configuration"
            ) from error
        host = Host(self._greet, lambda guest, line: self._requests.put((guest, line)), _refused, self._patience)
        reception = self._reception = Reception(self._listening, host)
        self._threads = tuple(
            threading.Thread(target=self._serve, args=(reception,), name=f"answer-{n}", daemon=True)
            for n in range(THREADS)
        )
        for thread in self._threads:
            thread.start()
        reception.start()

    def close(self) -> None:
        """Stop listening and remove the socket if it is still ours. Blocks up to 2 s. Safe to repeat."""
        listening, self._listening = self._listening, None
        if listening is None or self._reception is None:
            return
        with contextlib.suppress(OSError):
            if _inode(self._path) == self._inode:
                self._path.unlink()
        until = time.monotonic() + 2
        self._reception.close(2)
        listening.close()
        for _ in self._threads:
            self._requests.put(None)
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def _greet(self, connection: socket.socket) -> Peer:
        peer = peer_of(connection)
        if not permitted(peer.uid, peer.gids, os.geteuid(), self._group):
            raise CmgrError("cannot answer: you may not use this service", hint="join group cmgr")
        return peer

    def _serve(self, reception: Reception) -> None:
        while (item := self._requests.get()) is not None:
            guest, line = item
            try:
                reply = self._reply(_request(line, guest.peer))
            except CmgrError as error:
                reply = _refused(error)
            reception.answer(guest, reply)

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
        return peer_of(probe).pid


def _refuse_place(path: Path) -> None:
    found = places.weakness(path)
    if found is not None:
        # Whoever can replace the socket can tell the command line anything.
        raise ConfigError(f"cannot listen on {path}: {found.reason}", hint=found.hint)


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


def _request(line: bytes, peer: Peer) -> Request:
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
