"""Live news for whoever watches: one reader of the door for all of one language, which reads only while one watches."""

import asyncio
import contextlib
import json
import time
from collections import deque
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from functools import partial

from cmgr.errors import CmgrError, ServiceDown
from cmgr.sentences.sentence import ENGLISH, translated
from cmgr.web.door import Door, told_in

BEAT_SECONDS = 2.0
"""So often each page hears that it is shown news: what is silent for longer counts as gone (main.js)."""

LOOK_SECONDS = 2.0
"""How often it is asked whether anything is new that no line tells of: each question costs the service a millisecond.
That the service has ended is heard at once.
"""

AGAIN_SECONDS = 1.0
"""Until it is tried again to hear of what happens, after that has ended."""

LEAST_SECONDS = 0.15
"""Between two looks, however much happens: each whole picture costs the service milliseconds."""

ANSWER_SECONDS = 2.5
"""A service that does not answer for so long is told as away, within 5 s."""

MEASURE_SECONDS = 10.0
KEPT_SECONDS = 60.0
HOUR = 60
"""Chips are measured so often while somebody watches; one measurement a minute is kept, for an hour."""

VIEWERS = 32
MOST_NOTES = 500
"""Lines that wait for one viewer; one that is further behind comes anew."""


class Viewer:
    """Somebody who watches: gets the newest picture, and every line, each as a piece of the stream."""

    def __init__(self) -> None:
        self.picture = b""
        self.lines: deque[bytes] = deque()
        self.bell = asyncio.Event()

    def show(self, picture: bytes) -> None:
        self.picture = picture
        self.bell.set()

    def tell(self, line: bytes) -> None:
        self.lines.append(line)
        self.bell.set()


class Live:
    """On the loop's thread only."""

    def __init__(self, door: Door, language: str = ENGLISH) -> None:
        self._door = door
        self._language = language
        self._viewers: set[Viewer] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._picture = b""
        self._tag = ""
        self._told = datetime.now(UTC)
        self._news = asyncio.Event()
        self._kept: deque[tuple[float, dict[str, object]]] = deque(maxlen=HOUR)

    def watched(self) -> bool:
        return bool(self._viewers)

    async def watch(self) -> AsyncIterator[bytes]:
        """Yield pieces of an event stream for as long as they are asked for. Raises `CmgrError`: too many watch."""
        if len(self._viewers) >= VIEWERS:
            raise CmgrError(f"cannot watch: {VIEWERS} others do", hint="close a page")
        viewer = Viewer()
        self._begin(viewer)
        try:
            yield b"retry: 1000\n\n"
            while len(viewer.lines) <= MOST_NOTES:
                await _rings(viewer.bell, BEAT_SECONDS)
                viewer.bell.clear()
                picture, viewer.picture = viewer.picture, b""
                # The lines first: a picture is never older than what was told before it.
                pieces = [viewer.lines.popleft() for _ in range(len(viewer.lines))]
                yield b"".join([*pieces, picture]) or b": beat\n\n"
        finally:
            await self._end(viewer)

    def _begin(self, viewer: Viewer) -> None:
        if self._picture:
            viewer.show(self._picture)
        self._viewers.add(viewer)
        if not self._tasks:
            self._tasks = [asyncio.create_task(work()) for work in (self._look, self._follow, self._measure)]

    async def _end(self, viewer: Viewer) -> None:
        self._viewers.discard(viewer)
        if not self._viewers:
            tasks, self._tasks = self._tasks, []
            # Whoever comes next is shown nothing old.
            self._picture, self._tag = b"", ""
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _look(self) -> None:
        while True:
            self._news.clear()
            # That nothing is new costs nobody anything, and must not keep the next news waiting.
            if await self._looked():
                await asyncio.sleep(LEAST_SECONDS)
            await _rings(self._news, LOOK_SECONDS)

    async def _looked(self) -> bool:
        """Show how things are. Return whether the service had to make a picture for that."""
        try:
            ask = partial(self._door.get, tag=self._tag, seconds=ANSWER_SECONDS)
            told = await told_in(self._language, "/v1/status", ask)
        except ServiceDown as error:
            self._tag = ""
            away = {"error": error.message, "hint": error.hint, "since": self._told.isoformat()}
            self._show(event("away", json.dumps(translated(away, self._language)).encode()))
            return False
        self._told = datetime.now(UTC)
        if told.status == 200:
            self._tag = told.tag
            self._show(event("status", told.body.strip()))
        return told.status == 200

    async def _follow(self) -> None:
        while True:
            with contextlib.suppress(ServiceDown):
                async for line in self._door.lines("/v1/events"):
                    self._news.set()
                    if line:
                        for viewer in self._viewers:
                            viewer.tell(event("note", line))
            self._news.set()
            await asyncio.sleep(AGAIN_SECONDS)

    async def _measure(self) -> None:
        while True:
            with contextlib.suppress(ServiceDown):
                told = await self._door.get("/v1/chips")
                if told.status == 200:
                    self._keep(told.body)
                    for viewer in self._viewers:
                        viewer.tell(event("chips", told.body.strip()))
            await asyncio.sleep(MEASURE_SECONDS)

    def _keep(self, body: bytes) -> None:
        now = time.time()
        if not self._kept or now >= self._kept[-1][0] + KEPT_SECONDS:
            self._kept.append((now, {str(chip["id"]): chip.get("measured", {}) for chip in json.loads(body)["chips"]}))

    def series(self) -> bytes:
        """Return what was measured within the last hour, as JSON: `at` in milliseconds of Unix time."""
        kept = [{"at": round(at * 1000), "chips": chips} for at, chips in self._kept if at > time.time() - 3600]
        return json.dumps({"series": kept}).encode()

    def _show(self, picture: bytes) -> None:
        if picture == self._picture:
            return
        self._picture = picture
        for viewer in self._viewers:
            viewer.show(picture)


async def _rings(bell: asyncio.Event, seconds: float) -> None:
    """Wait for it, at most so long."""
    # `asyncio.wait_for` of Python 3.11 swallows an end that comes in the moment in which the bell rings.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await bell.wait()


def event(name: str, data: bytes) -> bytes:
    """Return a piece of an event stream. `data` is one line."""
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"
