"""The control socket: a unix socket for root, group cmgr and whoever has a role, and what is answered there.

Rules:
1. The socket never exists with a wider mode than its last one: it is bound in a directory that only we can enter,
   and moved into place when owner and mode are right. Its mode is the lock: who connects is answered, unless there
   are roles. Those who have one are let in by name, and nobody else.
2. A socket on which somebody listens is never replaced; one that a dead service left is.
3. Where somebody has removed it, as cleaners of temporary files do, it is made again.
"""

import contextlib
import json
import os
import shutil
import socket
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from cmgr.config.settings import Config
from cmgr.errors import ConfigError, StoreError, system_words
from cmgr.model.values.messages.commands import Note
from cmgr.model.values.troubles import Trouble
from cmgr.sentences.sentence import chained, say
from cmgr.service.door.claim import GROUP, cannot_listen, gid_of, make_directory, refuse_if_live, refuse_weak
from cmgr.service.door.http.peer_roles import Roles
from cmgr.service.door.http.server import Server
from cmgr.service.door.records import line
from cmgr.service.door.routes import Route
from cmgr.service.log.setup import Log
from cmgr.service.part import Part, Step, degraded
from cmgr.store.files import Lock

REQUEST_SECONDS = 5.0
CLOSE_SECONDS = 2.0
THREADS = 4
BACKLOG = 256

_PATH_LIMIT = 107  # sockaddr_un has 108 bytes, the last one zero.


class ControlServer(Part):
    """Answers by these routes on this path, from `start` to `close`. `patience` is `Server`'s."""

    def __init__(
        self,
        path: str | os.PathLike[str],
        routes: Sequence[Route],
        log: Log | None = None,
        group: str = GROUP,
        patience: float = REQUEST_SECONDS,
    ) -> None:
        self._path = Path(path)
        self._group = gid_of(group)
        self._roles: Roles | None = None
        self._place: Lock | None = None
        self._log = log or Log()
        self._server = Server(routes, self._log.bug, patience)
        self._closed_to = ""
        self._gone = ""
        self._listening: socket.socket | None = None
        self._inode: tuple[int, int] | None = None

    def admit(self, roles: Roles, place: Lock | None = None) -> None:
        """Let those in, too, who have a role, to do what it allows. Before `start`.

        `place`: the right to listen here, which is taken again where it is removed with the socket.
        """
        self._roles = self._server.roles = roles
        self._place = place

    def start(self) -> None:
        """Listen. Raises `ConfigError` when the socket cannot be made, or another service listens on it."""
        self._server.start(self._listen(), "control", THREADS)

    def _listen(self) -> socket.socket:
        refuse_if_live(self._path)
        try:
            refuse_weak(self._path)
            self._listening, self._inode = _listen(self._path, self._group)
        except OSError as error:
            raise cannot_listen(self._path) from error
        self._let_in()
        return self._listening

    def look(self) -> None:
        """Listen anew where somebody has removed the socket."""
        if self._listening is None or _found(self._path) == self._inode:
            return
        try:
            if self._place is not None:
                make_directory(self._path, self._group)
                self._place.renew()
            self._server.move(self._listen())
        except (ConfigError, StoreError, OSError) as error:
            self._gone = chained(error)
            return
        self._gone = ""
        self._log.warn(f"somebody has removed {self._path}: it is there again")

    def configure(self, config: Config) -> None:
        if self._roles is not None:
            self._roles.take(config)
            self._let_in()

    def troubles(self) -> Iterable[Trouble]:
        if why := self._closed_to:
            yield degraded("roles", say("trouble.roles"), why)
        if why := self._gone:
            yield degraded(path := str(self._path), say("trouble.socket", path=path), why)

    def _let_in(self) -> None:
        self._closed_to = ""
        if self._roles is None or self._listening is None:
            return
        try:
            self._roles.let_in(self._path)
        except OSError as error:
            self._closed_to = say("start.access-list", path=str(self._path), why=system_words(error))

    def followed(self) -> bool:
        """Return whether somebody follows events. Any thread."""
        return self._server.followed()

    def observe(self, step: Step) -> None:
        self.tell(step.notes)

    def tell(self, notes: Sequence[Note]) -> None:
        """Tell these lines to everybody who follows events. Does not block; any thread."""
        if notes and self.followed():
            self._server.tell(b"".join(json.dumps(line(note)).encode() + b"\n" for note in notes))

    def close(self) -> None:
        """Stop listening and remove the socket if it is still ours. Blocks up to 2 s. Safe to repeat."""
        listening, self._listening = self._listening, None
        if listening is None:
            return
        with contextlib.suppress(OSError):
            if _found(self._path) == self._inode:
                self._path.unlink()
        self._server.close(CLOSE_SECONDS)
        listening.close()


def _listen(path: Path, group: int | None) -> tuple[socket.socket, tuple[int, int] | None]:
    make_directory(path, group)
    private = tempfile.mkdtemp(prefix=".", dir=path.parent)
    try:
        unready = Path(private) / "s"
        for name in (unready, path):
            if len(os.fsencode(name)) > _PATH_LIMIT:
                why = say("start.too-long", most=_PATH_LIMIT, path=str(name))
                hint = say("start.other-path", setting="socket")
                raise ConfigError(say("start.cannot-listen-for", path=str(path), why=why), hint=hint)
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listening.bind(str(unready))
            _guard(unready, group)
            listening.listen(BACKLOG)
            inode = _found(unready)
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


def _found(path: Path) -> tuple[int, int] | None:
    """Return what tells the file there from every other; None: it cannot be reached."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
