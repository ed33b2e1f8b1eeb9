"""One HTTP request that posts JSON: bounded in time as a whole, no redirect, TLS verified."""

import http.client
from contextlib import closing, suppress
from urllib.parse import urlsplit

from cmgr import __version__, network
from cmgr.config.receivers import secret_of
from cmgr.errors import CmgrError
from cmgr.frozen import dataclass
from cmgr.service.notices.channel import Channel, Rejected, TooFast
from cmgr.words import one_line

_WORTH_ANOTHER_TRY = frozenset({401, 403, 404, 408, 425, 429})
"""Refusals that somebody may mend at the other end, or in the configuration here."""

_MOST = 64 * 1024
"""So much of an answer is read."""


@dataclass(frozen=True, slots=True)
class Post:
    """A post: its body, its address, and how it is sent. `seconds`: how long all of it may take."""

    url: str
    body: bytes
    token: str = ""
    ca_file: str = ""
    proxy: str = ""
    seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer. `wait`: the seconds after which it may be asked again, where it says that."""

    status: int
    body: bytes
    wait: float | None

    @property
    def words(self) -> str:
        return f"it answers {self.status} {http.client.responses.get(self.status, '')}".rstrip()

    @property
    def said(self) -> str:
        """The beginning of what it says, on one line."""
        return one_line(self.body[:200].decode(errors="replace")).strip()


def posting(channel: Channel, url: str, body: bytes) -> Post:
    """Return the post to this receiver. Raises `ConfigError`."""
    receiver = channel.receiver
    return Post(url, body, secret_of(receiver.token_file), receiver.ca_file, receiver.proxy, channel.seconds)


def post(request: Post) -> Answer:
    """Post it and return the answer, whatever that is. Raises `CmgrError`. The token is in no message."""
    connection = _connection(request)
    with closing(connection), network.bounded(connection, request.seconds):
        connection.request("POST", _target(request.url), request.body, _headers(request))
        answer = connection.getresponse()
        wait, body = answer.headers.get("Retry-After", ""), b""
        # Whoever has said that it took the alarm is not told again because the rest did not come.
        with suppress(OSError, http.client.HTTPException):
            body = answer.read(_MOST)
        return Answer(answer.status, body, float(wait) if wait.isdecimal() else None)


def judge(answer: Answer, says: str = "") -> None:
    """Raise what a status that is no success means; `says` stands behind it."""
    status = answer.status
    if 200 <= status < 300:
        return
    if 300 <= status < 400:
        raise CmgrError(f"it answers {status}, and redirects are not followed")
    text = ": ".join(filter(None, (answer.words, says)))
    if status == http.client.TOO_MANY_REQUESTS and answer.wait is not None:
        raise TooFast(text, answer.wait)
    if 400 <= status < 500 and status not in _WORTH_ANOTHER_TRY:
        raise Rejected(text)
    raise CmgrError(text)


def _headers(request: Post) -> dict[str, str]:
    told = {"Content-Type": "application/json", "User-Agent": f"cmgr/{__version__}"}
    if request.token:
        # http.client's own message would have the token in it.
        if not (request.token.isascii() and request.token.isprintable()):
            raise CmgrError("the token has characters that a header cannot have")
        told["Authorization"] = f"Bearer {request.token}"
    return told


def _target(url: str) -> str:
    parts = urlsplit(url)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _connection(request: Post) -> http.client.HTTPConnection:
    parts = urlsplit(request.url)
    assert parts.hostname is not None
    if parts.scheme == "http" and request.proxy:
        raise CmgrError("only https goes through a proxy")
    if parts.scheme == "http":
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=request.seconds)
    context = network.trusting(request.ca_file)
    if not request.proxy:
        return http.client.HTTPSConnection(parts.hostname, parts.port, timeout=request.seconds, context=context)
    proxy = urlsplit(request.proxy)
    assert proxy.hostname is not None
    through = http.client.HTTPSConnection(proxy.hostname, proxy.port or 3128, timeout=request.seconds, context=context)
    through.set_tunnel(parts.hostname, parts.port or 443)
    return through
