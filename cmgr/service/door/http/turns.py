"""Whose request is answered next: his of whom the fewest are being answered. Nobody waits for one who asks much.

No user but root has more than half of the threads, and on a unix socket root always finds one. While one of root's is
being answered no other is begun: all threads together have one processor (the GIL). Some answers wait long for others,
so that this is over after a moment.
"""

import math
import threading
import time
from collections import Counter, deque
from collections.abc import Hashable
from typing import Generic, TypeVar

ROOT = 0
HEAD_START = 0.5
"""Seconds that root's have alone: of the answers that wait for nobody the dearest takes a tenth of it."""

Item = TypeVar("Item")


class Turns(Generic[Item]):
    """Requests that wait for one of so many threads. `kept`: so many of them are root's alone. Any thread.

    `head_start`: nobody else's is begun for so many seconds from when root's are being answered.
    """

    def __init__(self, threads: int, kept: int = 0, head_start: float = HEAD_START) -> None:
        self._head_start = head_start
        self._others_from = -math.inf
        self._most = max(1, threads // 2)
        self._most_of_all = threads - kept
        self._waiting: dict[Hashable, deque[Item]] = {}
        self._begun: Counter[Hashable] = Counter()
        self._changed = threading.Condition()
        self._closed = False

    def put(self, whose: Hashable, item: Item) -> None:
        """Let it wait behind the others of this user. Does not block."""
        with self._changed:
            self._waiting.setdefault(whose, deque()).append(item)
            self._changed.notify()

    def take(self) -> Item | None:
        """Return what is next, and count it as begun until `done`; None when it is closed and nothing waits. Blocks."""
        with self._changed:
            while self._waiting or not self._closed:
                ahead = self._others_from - time.monotonic()
                able = [whose for whose in self._waiting if self._can_begin(whose, ahead)]
                if able:
                    return self._begin(min(able, key=self._begun.__getitem__))
                self._changed.wait(min(ahead, threading.TIMEOUT_MAX) if ahead > 0 else None)
        return None

    def done(self, whose: Hashable) -> None:
        """Say that one of this user's has been answered."""
        with self._changed:
            self._begun[whose] -= 1
            if not self._begun[ROOT]:
                self._others_from = -math.inf
            self._changed.notify_all()

    def close(self) -> None:
        """Give out what waits, and then nothing any more."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _can_begin(self, whose: Hashable, ahead: float) -> bool:
        others = self._begun.total() - self._begun[ROOT]
        return whose == ROOT or (ahead <= 0 and self._begun[whose] < self._most and others < self._most_of_all)

    def _begin(self, whose: Hashable) -> Item:
        if whose == ROOT and not self._begun[ROOT]:
            self._others_from = time.monotonic() + self._head_start
        self._begun[whose] += 1
        own = self._waiting.pop(whose)
        item = own.popleft()
        if own:  # Behind those of whom as many are being answered.
            self._waiting[whose] = own
        return item
