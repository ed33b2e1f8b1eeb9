"""The page's process from start to end: the socket that it was given, its limits, and its end when nobody looks."""

import asyncio
import contextlib
import logging
import os
import socket
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from cmgr.errors import ConfigError
from cmgr.sentences.sentence import say
from cmgr.web.app import KNOWN, Page
from cmgr.web.door import Door
from cmgr.web.guard import address, names, sent_by_browsers

if TYPE_CHECKING:
    from asyncio import TimerHandle, Transport

HURRY_SECONDS = 5.0
"""A request must be there within so many seconds, an answer read, and the next request begun after it."""

READ_SECONDS = 60.0
"""The same where the answer is one to a session: the way there may be slow."""

STRANGERS = 64
"""Connections that have shown no session, at most: then that ends for which nothing was done for longest."""

_AT_ONCE = struct.pack("ii", 1, 0)
"""A connection that ends so throws away what was not read of it (man 7 socket)."""

FIRST_FD = 3
"""sd_listen_fds(3)."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where the page is served. `names`: further names of it, with their port, as behind a proxy."""

    door: str
    listen: str
    names: tuple[str, ...] = ()
    idle_seconds: float = 300.0
    """It ends when nobody has asked for so long, where systemd would start it again."""


def run(place: Place, ready: Callable[[str], None]) -> int:
    """Serve until SIGTERM, or until nobody looks any more. Return the exit code. Raises `ConfigError`.

    `ready` is told the address, once, unless the socket is one of systemd's.
    """
    sent_by_browsers(place.names)
    given = _given()
    listening = given or [_bound(place.listen)]
    page = Page(Door(place.door))
    port = listening[0].getsockname()[1]
    hosts = names(port, place.names)
    if not given:
        ready(f"{place.listen.rpartition(':')[0]}:{port}")
    config = uvicorn.Config(
        page.app(hosts),
        http=HurriedProtocol,
        ws="none",
        lifespan="off",
        log_level="error",  # Its warnings are of requests that are none: strangers would fill the journal.
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=int(HURRY_SECONDS),
        timeout_graceful_shutdown=1,
        backlog=STRANGERS,
        h11_max_incomplete_event_size=16 * 1024,
    )
    # Whoever watches is cut off when the page's process ends, and comes again: that is no error.
    logging.getLogger("uvicorn.error").addFilter(lambda record: not record.getMessage().startswith("Cancel "))
    asyncio.run(_serve(uvicorn.Server(config), page, listening, place.idle_seconds if given else None))
    return 0


async def _serve(
    server: uvicorn.Server, page: Page, listening: Sequence[socket.socket], idle_seconds: float | None
) -> None:
    async def end_when_idle(limit: float) -> None:
        while page.idle_seconds() < limit:
            await asyncio.sleep(min(limit, 5.0))
        server.should_exit = True

    ending = None if idle_seconds is None else asyncio.create_task(end_when_idle(idle_seconds))
    try:
        await server.serve(sockets=list(listening))
    finally:
        if ending is not None:
            ending.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await ending


class HurriedProtocol(H11Protocol):
    """uvicorn's own, but nobody keeps a connection by saying nothing, half a request, or by not reading."""

    _all: "dict[HurriedProtocol, None]" = {}  # noqa: RUF012  # Of all connections, the longest idle first.
    _timer: "TimerHandle | None" = None

    def connection_made(self, transport: "Transport") -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._hurry()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait()
        self._all.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        # A head that is whole has a cycle; what comes behind a whole answer begins another head.
        if self._answering() and not self.flow.write_paused:
            self._wait()
        elif self._timer is None:
            self._hurry()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self._answering():
            self._hurry()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._hurry()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._answering():
            self._wait()

    def _answering(self) -> bool:
        cycle: Any = self.cycle  # None before the first request.
        return cycle is not None and not cycle.response_complete

    def _is_known(self) -> bool:
        scope: Any = self.scope  # As its cycle.
        return scope is not None and KNOWN in scope

    def _hurry(self) -> None:
        self._wait()
        self._timer = self.loop.call_later(READ_SECONDS if self._is_known() else HURRY_SECONDS, self._leave)
        self._all.pop(self, None)
        self._all[self] = None
        strangers = [each for each in self._all if not each._is_known()]
        if len(strangers) > STRANGERS:
            strangers[0]._leave()

    def _wait(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def _leave(self) -> None:
        self._wait()
        self._all.pop(self, None)
        if self.transport.get_write_buffer_size():
            # The kernel, too, would keep for long what it has for one who does not read.
            self.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        self.transport.abort()


def _given() -> list[socket.socket]:
    """Return the sockets that systemd listens on in our stead."""
    if os.environ.get("LISTEN_PID") != str(os.getpid()):
        return []
    count = int(os.environ.get("LISTEN_FDS", "0"))
    return [socket.socket(fileno=number) for number in range(FIRST_FD, FIRST_FD + count)]


def _bound(listen: str) -> socket.socket:
    host, port = address(listen)
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        raise ConfigError(say("page.cannot-listen", listen=listen), hint=say("page.runs-already")) from error
