"""The door for scrapes: GET /metrics on TCP, and nothing else.

Nothing here keeps the service from running: a port that is taken is tried again and again, and told until then.
"""

import socket
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from cmgr.config.settings import Metrics
from cmgr.errors import CmgrError, system_words
from cmgr.model.values.troubles import Trouble
from cmgr.sentences.sentence import chained, say
from cmgr.service.door.http.server import Report, Server
from cmgr.service.door.routes import Page, Request, Route
from cmgr.service.part import Part, degraded

if TYPE_CHECKING:
    from cmgr.service.door.http.secured import Passwords, Tls

REQUEST_SECONDS = 5.0
RETRY_SECONDS = 10.0
THREADS = 2
BACKLOG = 64
CLOSE_SECONDS = 1.0

PATH = "/metrics"


class MetricsServer(Part):
    """Serves `page` from `start` to `close`. A request must be there within `patience` seconds.

    `page` is given the header Accept, and returns what it tells and of which type that is. It is called on several
    threads. On a thread of the server `warn` is told when the port cannot be had, and
    `report` of each exception that is a bug in `page`.
    """

    def __init__(
        self,
        settings: Metrics,
        page: Callable[[str], tuple[bytes, str]],
        report: Report,
        warn: Callable[[str], None],
        patience: float = REQUEST_SECONDS,
    ) -> None:
        self._listen = settings.listen
        self._warn = warn
        tls, passwords = _locks(settings)
        self._locks = [lock for lock in (tls, passwords) if lock is not None]
        says = "What Prometheus reads."

        def answer(request: Request) -> Page:
            if passwords is not None:
                passwords.check(request.authorization, request.whose)
            body, kind = page(request.accept)
            return Page(body, kind=kind)

        self._server = Server([Route("GET", PATH, "metrics", answer, says, args=None)], report, patience)
        if tls is not None:
            self._server.wrap = tls.wrap
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._listening: socket.socket | None = None
        self._trouble = ""

    def start(self, retry_seconds: float = RETRY_SECONDS) -> None:
        """Begin to listen as soon as that can be. Does not block."""
        # Not on this thread: looking up a name may take long.
        threading.Thread(target=self._begin, args=(retry_seconds,), name="metrics", daemon=True).start()

    def troubles(self) -> Iterable[Trouble]:
        if why := self._trouble:
            yield degraded("metrics", say("trouble.no-metrics"), why)

    def close(self) -> None:
        """Stop listening. Blocks up to 1 s. Safe to repeat."""
        self._closing.set()
        with self._lock:
            listening, self._listening = self._listening, None
        if listening is not None:
            self._server.close(CLOSE_SECONDS)
            listening.close()

    def _begin(self, retry_seconds: float) -> None:
        while (found := self._listen_now(retry_seconds)) is None:
            if self._closing.wait(retry_seconds):
                return
        if self._trouble:
            self._trouble = ""
            self._warn(f"metrics are served on {self._listen} now")
        with self._lock:
            if self._closing.is_set():
                found.close()
                return
            self._listening = found
            self._server.start(found, "metrics", THREADS)

    def _listen_now(self, retry_seconds: float) -> socket.socket | None:
        try:
            for lock in self._locks:
                lock.begin()
            return listening(self._listen)
        except (OSError, CmgrError) as error:
            if not self._trouble:
                why = chained(error) if isinstance(error, CmgrError) else system_words(error)
                self._trouble = say("start.no-metrics", listen=self._listen, why=why)
                self._warn(f"{self._trouble}: it is tried again every {retry_seconds:g} s")
            return None


def _locks(settings: Metrics) -> "tuple[Tls | None, Passwords | None]":
    if not settings.cert and not settings.password_file:
        return None, None
    from cmgr.service.door.http.secured import locks  # With it comes OpenSSL.

    return locks(settings)


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
