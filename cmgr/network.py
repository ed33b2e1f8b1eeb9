"""Calls over the network: whom cmgr believes there, how long all of a call may take, and why it got no answer.

Not `urllib.request`, which follows redirects and proxies that the environment names: a password, an alarm and its token
go to the address that the configuration names, by the proxy that it names, and nowhere else.
"""

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol

from cmgr.errors import CmgrError
from cmgr.sentences.sentence import say
from cmgr.words import one_line

FAILURES = (OSError, http.client.HTTPException, ValueError)
"""The errors of a client of the standard library's that gets no answer, or one that cannot be read."""

_BUNDLES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
)
"""Where systems keep the certificates that they trust; a Python built elsewhere perhaps knows none."""


def trusting(ca_file: str) -> ssl.SSLContext:
    """Return what believes the certificates in this file alone, or those of the system. Raises `CmgrError`."""
    try:
        if ca_file:
            return ssl.create_default_context(cafile=ca_file)
        context = ssl.create_default_context()
        known = ssl.get_default_verify_paths()
        if not known.cafile and not known.capath:
            for path in (p for p in _BUNDLES if Path(p).exists()):
                context.load_verify_locations(cafile=path)
                break
        return context
    except OSError as error:
        why = error.strerror or f"{type(error).__name__} {error}".strip()[:200]
        raise CmgrError(_unread(ca_file, why)) from None


def _unread(ca_file: str, why: str) -> str:
    return say("start.certificates", path=ca_file, why=why) if ca_file else say("start.system-certificates", why=why)


class Client(Protocol):
    """A client of the standard library's; it has no socket before it is connected, though its type says so."""

    sock: socket.socket | None


class NoAnswer(CmgrError):
    """The words for why a call got no answer. `why`: the error itself, a `TimeoutError` where its time was over."""

    def __init__(self, message: str, why: Exception) -> None:
        super().__init__(message)
        self.why = why


class _Guard:
    """Ends calls that take too long, all of them on one thread; that ends when the last one's time is over.

    A thread for each call was most of what asking a service cost.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._ends: dict[object, tuple[float, Callable[[], None]]] = {}
        self._wakes = 0.0
        self._runs = False

    @contextmanager
    def over(self, seconds: float, end: Callable[[], None]) -> Iterator[None]:
        """Call `end`, which must not block, if what is done within takes longer; once it is done, never."""
        call, at = object(), time.monotonic() + seconds
        with self._changed:
            if not self._runs:
                self._wakes = at
                threading.Thread(target=self._run, name="guard", daemon=True).start()
                self._runs = True
            elif at < self._wakes:
                self._wakes = at
                self._changed.notify()
            self._ends[call] = at, end
        try:
            yield
        finally:
            with self._changed:
                self._ends.pop(call, None)

    def _run(self) -> None:
        with self._changed:
            while self._runs:
                if (left := self._wakes - time.monotonic()) > 0:
                    self._changed.wait(left)
                    continue
                for call in [call for call, (at, _) in self._ends.items() if at <= self._wakes]:
                    self._ends.pop(call)[1]()
                self._wakes = min((at for at, _ in self._ends.values()), default=0.0)
                self._runs = bool(self._ends)


_guard = _Guard()


@contextmanager
def bounded(client: Client, seconds: float) -> Iterator[threading.Event]:
    """Cut what is done within after so many seconds, and yield what is set by then. Raises `NoAnswer`."""
    # A socket's own timeout is for each read: whoever sends a byte now and then would hold us for ever.
    over = threading.Event()

    def end() -> None:
        over.set()  # Before whoever reads there wakes.
        cut(client)

    try:
        with _guard.over(seconds, end):
            yield over
    except FAILURES as error:
        if over.is_set() or isinstance(error, TimeoutError):
            raise NoAnswer(f"no answer within {seconds:g} s", TimeoutError()) from None
        raise NoAnswer(plainly(error), error) from None


def cut(client: Client) -> None:
    """Make the call under way fail at once. Any thread."""
    line = client.sock  # Whoever calls may close it meanwhile.
    with suppress(OSError):
        if line is not None:
            line.shutdown(socket.SHUT_RDWR)


def plainly(error: Exception) -> str:
    """Return why a call failed, on one line."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return say("error.certificate-not-good", why=error.verify_message)
    if isinstance(error, http.client.RemoteDisconnected):
        return say("error.closed-connection")
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return one_line(f"{type(error).__name__} {error}").strip()[:200]
