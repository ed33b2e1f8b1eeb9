"""The page's way to the service: its door, a unix socket. Whatever the service says is handed on unread."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass

from cmgr.errors import ServiceDown, ServiceHangs
from cmgr.sentences.sentence import say, targets

SECONDS = 10.0
LIMIT = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Told:
    """An answer of the service. `tag` names it, where it has one."""

    status: int
    body: bytes
    tag: str = ""


class Door:
    """Each call has a connection of its own, and raises `ServiceDown`, or `ServiceHangs` where nobody answers."""

    def __init__(self, path: str) -> None:
        self._path = path

    async def get(self, target: str, tag: str = "", seconds: float = SECONDS) -> Told:
        """Return what is said to GET; with the tag of an answer that is here already, perhaps 304 without a body."""
        return await self._ask("GET", target, b"", f"If-None-Match: {tag}\r\n" if tag else "", seconds)

    async def post(self, target: str, body: bytes) -> Told:
        """Return what is said to POST with this JSON."""
        return await self._ask("POST", target, body, f"Content-Length: {len(body)}\r\n")

    async def lines(self, target: str) -> AsyncIterator[bytes]:
        """Yield an empty line when the service has begun to answer, and then each line that it sends."""
        with self._translated():
            reader, writer = await self._reach("GET", target, b"", "")
            try:
                async with asyncio.timeout(SECONDS):
                    status, _ = _head(await reader.readuntil(b"\r\n\r\n"))
                if status != 200:
                    raise ServiceDown(say("page.too-many-follow"), hint=say("page.tried-again"))
                yield b""
                while line := await reader.readline():
                    yield line.rstrip(b"\n")
            finally:
                writer.close()

    async def _ask(self, method: str, target: str, body: bytes, headers: str, seconds: float = SECONDS) -> Told:
        with self._translated():
            async with asyncio.timeout(seconds):
                reader, writer = await self._reach(method, target, body, headers)
                try:
                    status, fields = _head(await reader.readuntil(b"\r\n\r\n"))
                    length = int(fields.get(b"content-length", b"0"))
                    return Told(status, await reader.readexactly(length), fields.get(b"etag", b"").decode("latin-1"))
                finally:
                    writer.close()

    async def _reach(
        self, method: str, target: str, body: bytes, headers: str
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_unix_connection(self._path, limit=1024 * 1024)
        # HTTP/1.0: an answer ends with its connection, and is never cut into chunks.
        writer.write(f"{method} {target} HTTP/1.0\r\n{headers}\r\n".encode("latin-1") + body)
        return reader, writer

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except TimeoutError as error:
            raise ServiceHangs(say("page.service-silent"), hint="cmgr status") from error
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError) as error:
            raise ServiceDown(say("page.service-away"), hint=say("page.to-start")) from error


async def told_in(language: str, target: str, ask: Callable[[str], Awaitable[Told]]) -> Told:
    """Return the answer in this language."""
    first, *others = targets(target, language)
    told = await ask(first)
    again = [await ask(other) for other in others] if told.status == 400 else []
    return next((other for other in again if other.status != 400), told)


def _head(received: bytes) -> tuple[int, dict[bytes, bytes]]:
    first, *lines = received.split(b"\r\n")
    pairs = (line.partition(b":") for line in lines)
    return int(first.split()[1]), {name.lower(): value.strip() for name, _, value in pairs}
