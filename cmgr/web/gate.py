"""Strangers, who have shown no session, are heard one after the other: that costs the service next to nothing."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from cmgr.errors import TooMany
from cmgr.sentences.sentence import say

PAUSE = 0.02
"""Seconds between two of them."""

WAITING = 64
"""Beyond so many the first who waits is sent away: his connection is the oldest, and is gone or the next to go."""


class Gate:
    """On the loop's thread only."""

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._taken = False

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait until it is one's turn, which lasts until a while after the end of the block. Raises `TooMany`."""
        loop = asyncio.get_running_loop()
        mine = loop.create_future()
        self._waiting.append(mine)
        if len(self._waiting) > WAITING:
            first = self._waiting.popleft()
            if not first.done():
                first.set_exception(TooMany(say("page.too-many-strangers"), hint=say("page.try-again")))
        self._next()
        try:
            await mine
            yield
        finally:
            if mine.done() and not mine.cancelled() and mine.exception() is None:
                loop.call_later(PAUSE, self._over)

    def _over(self) -> None:
        self._taken = False
        self._next()

    def _next(self) -> None:
        while self._waiting and not self._taken:
            mine = self._waiting.popleft()
            if not mine.done():
                self._taken = True
                mine.set_result(None)
