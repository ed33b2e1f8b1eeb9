"""The lock of the door for scrapes: TLS, certificates of clients, passwords."""

import base64
import binascii
import contextlib
import hashlib
import hmac
import os
import socket
import ssl
import threading
import time
from collections.abc import Hashable

from cmgr import trust
from cmgr.config.settings import Metrics
from cmgr.errors import CmgrError, ConfigError, TooMany, system_words
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import say
from cmgr.service.door.routes import NoPassword

WRONG = 10
"""Wrong passwords of one address within a minute; more are refused unheard."""

_ADDRESSES = 256
_MINUTE = 60.0
_RECORD = 16 * 1024 + 512
"""As much as one record of TLS has: what is left of one inside of OpenSSL, nobody would be woken for."""


class _Line(ssl.SSLSocket):
    """A connection that does not block, as `Reception` knows those without TLS."""

    def recv(self, buflen: int = _RECORD, flags: int = 0) -> bytes:
        try:
            return super().recv(max(buflen, _RECORD), flags)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None

    def send(self, data: bytes, flags: int = 0) -> int:  # type: ignore[override]
        try:
            return super().send(data, flags)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise BlockingIOError from None


class Tls:
    """One thread. Certificates that are renewed are taken with the next connection; bad ones change nothing."""

    def __init__(self, settings: Metrics) -> None:
        self._settings = settings
        self._stamps: tuple[int, ...] = ()
        self._context: ssl.SSLContext | None = None

    def begin(self) -> None:
        """Read the files. Raises `CmgrError`."""
        paths = [path for path in (self._settings.cert, self._settings.key, self._settings.client_ca) if path]
        try:
            stamps = tuple(os.stat(path).st_mtime_ns for path in paths)
            if stamps != self._stamps or self._context is None:
                self._stamps = stamps  # Also of bad ones: they are looked at once.
                self._context = _context(self._settings)
        except OSError as error:
            why = error.strerror or type(error).__name__
            raise CmgrError(say("start.cannot-read", paths=paths, why=why)) from None

    def wrap(self, connection: socket.socket) -> socket.socket:
        """Return what speaks TLS over the connection; the handshake comes with the first bytes. Raises `OSError`."""
        with contextlib.suppress(CmgrError):  # The last ones go on. `cmgr check` reads them, too.
            self.begin()
        if self._context is None:
            raise OSError("there are no certificates")
        return self._context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)


def _context(settings: Metrics) -> ssl.SSLContext:
    trust.read(settings.key)  # It is refused where others can read or change it.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.sslsocket_class = _Line
    context.load_cert_chain(settings.cert, settings.key, password=lambda: "")  # It would ask at the terminal.
    if settings.client_ca:
        context.load_verify_locations(settings.client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


@dataclass(frozen=True, slots=True)
class _Kept:
    """A user's password, as the file keeps it: scrypt with N = 16384, r = 8, p = 1."""

    salt: bytes
    digest: bytes

    def fits(self, password: bytes) -> bool:
        made = hashlib.scrypt(password, salt=self.salt, n=16384, r=8, p=1, maxmem=64 << 20, dklen=len(self.digest))
        return hmac.compare_digest(made, self.digest)


class Passwords:
    """Any thread. Passwords that fit are remembered by a digest until the file changes: the hash is slow on purpose."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._stamp = -1
        self._users: dict[str, _Kept] = {}
        self._good: set[bytes] = set()
        self._wrong: dict[Hashable, list[float]] = {}

    def begin(self) -> None:
        """Read the file if it has changed. Raises `ConfigError`."""
        try:
            stamp = os.stat(self._path).st_mtime_ns
        except OSError as error:
            raise ConfigError(say("start.cannot-read", paths=[self._path], why=system_words(error))) from None
        if stamp != self._stamp:
            self._users, self._good = _users(self._path), set()
            self._stamp = stamp

    def check(self, authorization: str, whose: Hashable) -> None:
        """Raise `NoPassword` where this header has none that fits, `TooMany` where that comes too often."""
        told = hashlib.sha256(authorization.encode()).digest()
        with self._lock:
            self.begin()
            if told in self._good:
                return
            recent = [moment for moment in self._wrong.pop(whose, []) if moment > time.monotonic() - _MINUTE]
            self._wrong[whose] = recent
            if len(recent) >= WRONG:
                raise TooMany(say("start.wrong-passwords"), hint=say("error.wait-a-minute"))
            user, password = _said(authorization)
            kept = self._users.get(user)
            # A user who is not there takes as long.
            if (kept or next(iter(self._users.values()))).fits(password) and kept is not None:
                self._good.add(told)
                return
            self._wrong[whose] = [*recent, time.monotonic()]
            while len(self._wrong) > _ADDRESSES:
                del self._wrong[next(iter(self._wrong))]
        hint = say("start.has-users", setting="metrics.password_file")
        raise NoPassword(say("start.wants-password"), hint=hint)


def locks(settings: Metrics) -> tuple[Tls | None, Passwords | None]:
    """Return what keeps others out, as the settings wish it."""
    passwords = Passwords(settings.password_file) if settings.password_file else None
    return Tls(settings) if settings.cert else None, passwords


def _said(authorization: str) -> tuple[str, bytes]:
    scheme, _, rest = authorization.partition(" ")
    try:
        user, colon, password = base64.b64decode(rest, validate=True).partition(b":")
    except (binascii.Error, ValueError):
        user, colon, password = b"", b"", b""
    if scheme.lower() != "basic" or not colon:
        raise NoPassword(say("start.wants-password"), hint="curl -u USER")
    return user.decode(errors="replace"), password


def _users(path: str) -> dict[str, _Kept]:
    """Return what the file says. Raises `ConfigError`, which tells nothing of its content."""
    users, hint = {}, say("start.how-to-make", page="docs/metrics.md")
    for number, line in enumerate(trust.read(path).splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            user, kind, salt, digest = line.strip().split(":")
            users[user] = _Kept(bytes.fromhex(salt), bytes.fromhex(digest))
            sound = kind == "scrypt" and bool(user) and len(users[user].digest) >= 32
        except ValueError:
            sound = False
        if not sound:
            text = say("start.no-user-line", path=path, line=number, form="USER:scrypt:SALT:HASH")
            raise ConfigError(text, hint=hint)
    if not users:
        raise ConfigError(say("start.no-user", path=path), hint=hint)
    return users
