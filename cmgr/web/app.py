"""The answers of the page's process: the page itself to everybody, all that it reads and hands on to sessions only."""

import asyncio
import gzip
import json
import re
import time
from collections.abc import AsyncIterator, Callable, Mapping
from datetime import timedelta
from importlib import resources
from typing import Any, NamedTuple

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from cmgr.errors import CmgrError, ServiceDown, TooMany
from cmgr.sentences.sentence import ENGLISH, LANGUAGES, language_of, messages, say, translated
from cmgr.web.door import Door, Told, told_in
from cmgr.web.gate import Gate
from cmgr.web.guard import Guard
from cmgr.web.live import Live, event

JSON = "application/json"
KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}

READINGS = re.compile(
    rb"chips|slots|groups|fleet|faults|containers|downtime|history|episodes(/\d{1,18}(/picture)?)?|explain/[0-9A-Za-z%]{1,80}"
)
ORDERS = re.compile(r"[a-z]{1,20}(-[a-z]{1,20})?")

BODY_SECONDS = 5.0
AGAIN_SECONDS = 30.0
"""How often it is asked whether the session of one who only watches still stands."""

KNOWN = "cmgr.known"
"""In the scope of each request of a session that stands."""

MOST_KNOWN = 64
"""Sessions of which it is remembered that they stood when they were last asked for: these wait for no stranger."""


class Page:
    """On the loop's thread only. `quiet` is since when nobody has asked anything."""

    def __init__(self, door: Door, clock: Callable[[], float] = time.monotonic) -> None:
        self._door = door
        self._clock = clock
        self._live = {language: Live(door, language) for language in LANGUAGES}
        self._files = _files()
        self._gate = Gate()
        self._known: dict[str, None] = {}
        self._asked = clock()

    def idle_seconds(self) -> float:
        """Return for how long nobody has watched or asked."""
        if any(live.watched() for live in self._live.values()):
            self._asked = self._clock()
        return self._clock() - self._asked

    def app(self, hosts: frozenset[str]) -> Guard:
        """Return the whole as an ASGI application."""
        routes = [
            Route("/", self._file),
            Route("/static/{name}", self._file),
            Route("/api/enter", self._enter, methods=["POST"]),
            Route("/api/leave", self._leave, methods=["POST"]),
            Route("/api/session", self._session),
            Route("/api/events", self._events),
            Route("/api/series", self._series),
            Route("/api/orders/{do}", self._order, methods=["POST"]),
            Route("/api/{what:path}", self._reading),
        ]
        handlers: Mapping[Any, Any] = {CmgrError: _failed}
        return Guard(Starlette(routes=routes, exception_handlers=handlers), hosts)

    async def _file(self, request: Request) -> Response:
        self._asked = self._clock()
        name = str(request.path_params.get("name", "index.html"))
        found = self._files.get(name)
        if found is None:
            return _refused(request, 404, say("page.no-file"))
        kind = KINDS[name.rpartition(".")[2]]
        if "gzip" in str(request.headers.get("accept-encoding", "")):
            return Response(found.packed, media_type=kind, headers={"Content-Encoding": "gzip"})
        return Response(found.plain, media_type=kind)

    async def _enter(self, request: Request) -> Response:
        self._asked = self._clock()
        body = await _body(request)
        async with self._gate.turn():
            return _handed_on(await told_in(_language(request), "/v1/enter", lambda to: self._door.post(to, body)))

    async def _leave(self, request: Request) -> Response:
        return _handed_on(await self._said(self._whose(request), "/v1/leave"))

    async def _session(self, request: Request) -> Response:
        return _handed_on(await self._stands(request))

    async def _reading(self, request: Request) -> Response:
        known = await self._stands(request)
        if known.status != 200:
            return _handed_on(known)
        # As it was sent: the service takes it apart, and no letter of it can end the line that it is sent on in.
        what = bytes(request.scope["raw_path"]).removeprefix(b"/api/")
        if not READINGS.fullmatch(what):
            return _refused(request, 404, say("page.nothing-of-that-name"))
        pairs = bytes(request.scope["query_string"]).split(b"&")
        query = b"&".join(pair for pair in pairs if not pair.startswith(b"lang="))
        target = b"/v1/%b?%b".__mod__((what, query)).decode("latin-1")
        return _handed_on(await told_in(_language(request), target, self._door.get))

    async def _series(self, request: Request) -> Response:
        known = await self._stands(request)
        return _handed_on(known if known.status != 200 else Told(200, self._live_of(request).series()))

    async def _order(self, request: Request) -> Response:
        self._asked = self._clock()
        do = str(request.path_params["do"])
        if not ORDERS.fullmatch(do):
            return _refused(request, 404, say("page.no-order"))
        try:
            said = json.loads(await _body(request))
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict):
            return _refused(request, 400, say("page.body-no-object"))
        secret = self._whose(request)
        told = await told_in(_language(request), f"/v1/orders/{do}", lambda to: self._said(secret, to, said))
        return _handed_on(told)

    async def _events(self, request: Request) -> Response:
        known = await self._stands(request)
        if known.status != 200:
            return _handed_on(known)
        pieces = self._watched(self._live_of(request), _secret(request))
        return StreamingResponse(pieces, media_type="text/event-stream")

    def _live_of(self, request: Request) -> Live:
        return self._live[_language(request)]

    async def _watched(self, live: Live, secret: str) -> AsyncIterator[bytes]:
        asked = self._clock()
        pieces = live.watch()
        try:
            async for piece in pieces:
                yield piece
                if self._clock() > asked + AGAIN_SECONDS:
                    asked = self._clock()
                    if await self._is_over(secret):
                        yield event("over", b"{}")
                        return
        finally:
            await pieces.aclose()  # type: ignore[attr-defined]  # It is a generator.

    async def _is_over(self, secret: str) -> bool:
        try:
            return (await self._said(secret, "/v1/session")).status == 401
        except ServiceDown:
            return False  # That is told of by the stream itself.

    async def _stands(self, request: Request) -> Told:
        """Return what the service says of the session that this request is of."""
        self._asked = self._clock()
        secret = self._whose(request)
        told = await self._said(secret, "/v1/session")
        self._known.pop(secret, None)
        request.scope.pop(KNOWN, None)
        if told.status == 200:
            self._known[secret] = request.scope[KNOWN] = None
            if len(self._known) > MOST_KNOWN:
                del self._known[next(iter(self._known))]
        return told

    def _whose(self, request: Request) -> str:
        """Return the secret that the request shows; no stranger takes the place of one that stood a while ago."""
        secret = _secret(request)
        if secret in self._known:
            request.scope[KNOWN] = None
        return secret

    async def _said(self, secret: str, target: str, args: Mapping[str, object] | None = None) -> Told:
        """Return what the service says to this in the name of a session."""
        body = json.dumps({**(args or {}), "session": secret}).encode()
        if secret in self._known:
            return await self._door.post(target, body)
        async with self._gate.turn():
            return await self._door.post(target, body)


def _secret(request: Request) -> str:
    scheme, _, secret = str(request.headers.get("authorization", "")).partition(" ")
    return secret.strip() if scheme.lower() == "bearer" and secret.strip() else "none"


async def _body(request: Request) -> bytes:
    try:
        async with asyncio.timeout(BODY_SECONDS):
            return await request.body()
    except (TimeoutError, ClientDisconnect) as error:
        raise CmgrError(say("page.body-late", length=timedelta(seconds=BODY_SECONDS))) from error


def _handed_on(told: Told) -> Response:
    return Response(told.body, told.status, media_type=JSON)


def _language(request: Request) -> str:
    return language_of(request.query_params.get("lang", ENGLISH))


def _refused(request: Request, status: int, error: str, hint: str = "") -> Response:
    said = {"error": error, "hint": hint}
    told: dict[str, object] = {**translated(said, _language(request)), "mistakes": [], "messages": messages(**said)}
    return Response(json.dumps(told), status, media_type=JSON)


async def _failed(request: Request, error: Exception) -> Response:
    assert isinstance(error, CmgrError), "it is asked for these only"
    status = 503 if isinstance(error, ServiceDown) else 429 if isinstance(error, TooMany) else 408
    return _refused(request, status, error.message, error.hint)


class File(NamedTuple):
    """A file of the page, and the same packed: there is nothing secret in it."""

    plain: bytes
    packed: bytes


def _files() -> dict[str, File]:
    there = resources.files("cmgr.web") / "static"
    found = {file.name: file.read_bytes() for file in there.iterdir() if file.name.rpartition(".")[2] in KINDS}
    return {name: File(plain, gzip.compress(plain, mtime=0)) for name, plain in found.items()}
