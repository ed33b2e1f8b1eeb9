"""The memory of a runtime's containers between two looks, and what in it is newer than what.

A look says nothing of what happened after it began. So it begins with a ticket, and whatever is noticed later, by an
event or by an order of ours, is newer than what it finds.
"""

import threading
import time
from collections.abc import Collection, Hashable
from datetime import UTC, datetime, timedelta
from typing import Generic, NamedTuple, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


_LATE = 60.0
"""Seconds by which events about a container may come after a list that no longer names it, and far more."""


_LITTLE = 2.0


def order_lasts(grace: timedelta) -> float:
    """Return for how many seconds an order to end counts, of a container that has this grace.

    A process that outlives it has taken it for something else, or was let live: nobody has asked for its later death.
    """
    return grace.total_seconds() + _LITTLE


def by_the_clock(monotonic: float) -> datetime:
    """Return the time of the day at which the monotonic clock said that."""
    return datetime.now(UTC) - timedelta(seconds=time.monotonic() - monotonic)


class Ticket(NamedTuple):
    """Says when a look began."""

    number: int
    at: float


class Memory(Generic[Key, Value]):
    """The last that is known of each container. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._number = 0
        self._touched: dict[Key, int] = {}
        self._last: dict[Key, Value] = {}
        self._missed: dict[Key, float] = {}
        self._flowing_since: float | None = None

    @property
    def flowing(self) -> bool:
        """Return whether events tell of every change."""
        return self._flowing_since is not None

    def flow(self, flowing: bool) -> None:
        """Note that events flow from now on, or no longer do."""
        with self._lock:
            self._flowing_since = time.monotonic() if flowing else None

    def ticket(self) -> Ticket:
        """Return what goes with a look that begins now."""
        with self._lock:
            return Ticket(self._number, time.monotonic())

    def touch(self, key: Key) -> None:
        """Note that the container has just changed: looks that began before are old."""
        with self._lock:
            self._number += 1
            self._touched[key] = self._number

    def last(self, key: Key) -> Value | None:
        """Return the last that is known, however old."""
        with self._lock:
            return self._last.get(key)

    def ids(self) -> set[Key]:
        """Return those of whom something is known."""
        with self._lock:
            return {*self._last}

    def drop(self, key: Key) -> Value | None:
        """Forget a container that exists no more. Return what was known of it."""
        with self._lock:
            return self._forget(key)

    def keep(self, keys: Collection[Key], ticket: Ticket) -> set[Key]:
        """Forget the containers that a list, begun at this ticket, did not name. Return all that are remembered.

        While events flow one is remembered for a while more. Its end may be told yet, and only what is known of it
        says whose end that is: a container with `--rm` is removed as soon as it has ended.
        """
        with self._lock:
            missed = {key for key in self._keys().difference(keys) if self._holds(key, ticket)}
            self._missed = {key: self._missed.get(key, ticket.at) for key in missed}
            for key in missed:
                if self._flowing_since is None or ticket.at - self._missed[key] >= _LATE:
                    self._forget(key)
            return self._keys().union(keys)

    # Under the lock:

    def _holds(self, key: Key, ticket: Ticket) -> bool:
        """Return whether nothing newer is known than a look that began at this ticket."""
        return self._touched.get(key, 0) <= ticket.number

    def _keys(self) -> set[Key]:
        return {*self._last, *self._touched}

    def _forget(self, key: Key) -> Value | None:
        self._touched.pop(key, None)
        self._missed.pop(key, None)
        return self._last.pop(key, None)
