"""One HTTP request that posts JSON: bounded in time as a whole, no redirect, TLS verified.

Not `urllib.request`, which follows redirects and proxies that the environment names: an alarm and its token go to the
address that the configuration names, and nowhere else.
"""

import http.client
import socket
import ssl
import threading
from contextlib import suppress
from urllib.parse import urlsplit

from cmgr import __version__, certificates
from cmgr.errors import CmgrError
from cmgr.frozen import dataclass

_WORTH_ANOTHER_TRY = frozenset({401, 403, 404, 408, 425, 429})
"""Refusals that somebody may mend at the other end, or in the configuration here."""


class Rejected(CmgrError):
    """The receiver will never take this request."""


@dataclass(frozen=True, slots=True)
class Post:
    """A post: its body, its address, and how it is sent. `seconds`: how long all of it may take."""

    url: str
    body: bytes
    token: str = ""
    ca_file: str = ""
    seconds: float = 5.0


def post(request: Post) -> None:
    """Post it. Raises `Rejected`, or `CmgrError` when another try may go better. The token is in no message."""
    connection = _connection(request)
    # A socket's own timeout is for each read: a receiver that sends a byte now and then would hold us for ever.
    guard = threading.Timer(request.seconds, _cut, (connection,))
    guard.daemon = True
    guard.start()
    try:
        connection.request("POST", _target(request.url), request.body, _headers(request))
        status = connection.getresponse().status
    except TimeoutError:
        raise CmgrError(f"no answer within {request.seconds:g} s") from None
    except ssl.SSLCertVerificationError as error:
        raise CmgrError(f"its certificate is not good: {error.verify_message}") from None
    except (OSError, http.client.HTTPException, ValueError) as error:
        if not guard.is_alive():
            raise CmgrError(f"no answer within {request.seconds:g} s") from None
        raise CmgrError(_plainly(error)) from None
    finally:
        guard.cancel()
        connection.close()
    _judge(status)


def _judge(status: int) -> None:
    if 200 <= status < 300:
        return
    if 300 <= status < 400:
        raise CmgrError(f"it answers {status}, and redirects are not followed")
    text = f"it answers {status} {http.client.responses.get(status, '')}".rstrip()
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
    if parts.scheme == "http":
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=request.seconds)
    context = certificates.trusting(request.ca_file)
    return http.client.HTTPSConnection(parts.hostname, parts.port, timeout=request.seconds, context=context)


def _cut(connection: http.client.HTTPConnection) -> None:
    # There is none before the connection is made, though its type says so; that has a timeout of its own.
    with suppress(OSError, AttributeError):
        connection.sock.shutdown(socket.SHUT_RDWR)


def _plainly(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"{type(error).__name__} {error}".strip()[:200]
