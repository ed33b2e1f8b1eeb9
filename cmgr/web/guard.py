"""The guard before every request: it must come from the page itself, and its answer tells the browser what it may do.

1. `Host` must be one of the page's own names: a foreign name that was made to point here (DNS rebinding) gets nothing.
2. A change is asked for by POST with JSON, from this origin: a form or a script of another page cannot send that.
3. No answer may be framed, kept, guessed at, or load anything from elsewhere. There are no cookies: a browser sends
   those for 127.0.0.1 to every port of it (RFC 6265, section 8.5).
"""

import ipaddress
import json
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from cmgr.errors import ConfigError
from cmgr.sentences.sentence import ENGLISH, language_of, say, translated

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

BODY_LIMIT = 16 * 1024

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types lit-html"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
    (b"cache-control", b"no-store"),
)

HOST = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
"""The forms of the header `Host`."""

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


def address(text: str) -> tuple[str, int]:
    """Return the address and the port that are meant. Raises `ConfigError`, for others than this machine's own too."""
    host, _, port = text.rpartition(":")
    try:
        if not (port.isascii() and port.isdigit() and int(port) < 65536):
            raise ValueError(port)
        host = "127.0.0.1" if host == "localhost" else host.strip("[]")
        own = ipaddress.ip_address(host).is_loopback
    except ValueError:
        hint = say("page.such-as", such="127.0.0.1:9478")
        raise ConfigError(say("page.no-address", listen=repr(text[:80])), hint=hint) from None
    if not own:
        hint = say("page.listen-here", own="127.0.0.1", command="ssh -L", page="docs/web.md")
        raise ConfigError(say("page.not-own", listen=text), hint=hint)
    return host, int(port)


def names(port: int, more: Iterable[str]) -> frozenset[str]:
    """Return every `Host` that is the page's own: loopback's with this port, and `more` as they are."""
    return frozenset([*(f"{name}:{port}" for name in LOOPBACK), *(name.lower() for name in more)])


def sent_by_browsers(names: Iterable[str]) -> None:
    """Raise `ConfigError` for what no browser sends as `Host`."""
    if bad := next((name for name in names if not HOST.fullmatch(name)), ""):
        hint = say("page.such-as", such="box.example:443")
        raise ConfigError(say("page.no-host", name=repr(bad[:80])), hint=hint)


class Guard:
    """ASGI middleware, around everything."""

    def __init__(self, app: "ASGIApp", hosts: frozenset[str]) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: "Scope", receive: "Receive", send: "Send") -> None:
        if scope["type"] != "http":
            return

        async def told(message: "Message") -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *HEADERS]
            await send(message)

        refused = self._refusal(str(scope["method"]), scope["headers"])
        if refused is None:
            await self._app(scope, receive, told)
            return
        status, why = refused
        said = {"error": say("page.refused", why=why), "hint": say("page.type", command="cmgr web"), "mistakes": []}
        wished = parse_qs(scope["query_string"].decode("latin-1")).get("lang", [ENGLISH])
        body = json.dumps(translated(said, language_of(wished[-1]))).encode()
        head = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await told({"type": "http.response.start", "status": status, "headers": head})
        await told({"type": "http.response.body", "body": body})

    def _refusal(self, method: str, headers: Iterable[tuple[bytes, bytes]]) -> tuple[int, str] | None:
        said: dict[str, list[str]] = {}
        for name, value in headers:
            said.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        host = said.get("host", [])
        if len(host) != 1 or host[0].lower() not in self._hosts:
            return 421, say("page.not-its-name")
        if "transfer-encoding" in said:
            return 411, say("page.in-chunks")
        if method in ("GET", "HEAD"):
            return None
        if method != "POST":
            return 405, say("page.get-and-post", methods=("GET", "POST"))
        # Browsers say the first, older ones at least the second; programs say neither, and have no one's session.
        if any(site != "same-origin" for site in said.get("sec-fetch-site", [])):
            return 403, say("page.from-another")
        if any(origin.lower().partition("://")[2] not in self._hosts for origin in said.get("origin", [])):
            return 403, say("page.from-another")
        if [kind.partition(";")[0].strip().lower() for kind in said.get("content-type", [])] != ["application/json"]:
            return 415, say("page.not-json")
        length = said.get("content-length", [])
        if len(length) != 1 or not length[0].isdigit():
            return 411, say("page.no-length")
        return (413, say("page.too-long", most=BODY_LIMIT)) if int(length[0]) > BODY_LIMIT else None
