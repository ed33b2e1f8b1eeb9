"""What is remembered of Docker's containers between two looks, so that listing many of them costs little.

A container's description is good for as long as Docker's events have flowed without a gap since it was read, none of
them spoke of the container, and the list says the same state. What a container asks for never changes: one that is
not cmgr's is never looked at again.
"""

import threading
import time
from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from cmgr.runtimes.docker.inspect import Described

_GOOD_FOR = 300.0
"""Seconds after which a description is read again all the same: an event may have been lost."""


class Ticket(NamedTuple):
    """Says when a look began: what it finds is older than everything that was noticed since."""

    number: int
    at: float


@dataclass(frozen=True, slots=True)
class _Entry:
    described: Described
    ticket: Ticket


class Known:
    """Descriptions by container id. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._number = 0
        self._touched: dict[str, int] = {}
        self._entries: dict[str, _Entry] = {}
        self._others: set[str] = set()
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

    def touch(self, id_: str) -> None:
        """Note that the container has just changed: looks that began before are old."""
        with self._lock:
            self._number += 1
            self._touched[id_] = self._number

    def put(self, id_: str, found: Described, ticket: Ticket) -> None:
        """Remember what a look found, unless something newer is known."""
        with self._lock:
            if not found.concerns:
                self._others.add(id_)
                self._touched.pop(id_, None)
            elif self._touched.get(id_, 0) <= ticket.number:
                self._entries[id_] = _Entry(found, ticket)

    def is_other(self, id_: str) -> bool:
        """Return whether the container is known not to be cmgr's."""
        return id_ in self._others

    def fresh(self, id_: str, state: str) -> Described | None:
        """Return the description if it still holds, given the state that the list says."""
        with self._lock:
            entry, since = self._entries.get(id_), self._flowing_since
            touched = self._touched.get(id_, 0)
        if entry is None or since is None or entry.described.state != state:
            return None
        number, at = entry.ticket
        good = number >= touched and at >= since and time.monotonic() - at < _GOOD_FOR
        return entry.described if good else None

    def last(self, id_: str) -> Described | None:
        """Return the last description, however old."""
        with self._lock:
            entry = self._entries.get(id_)
        return entry.described if entry is not None else None

    def name(self, id_: str) -> str:
        """Return what a person calls the container."""
        found = self.last(id_)
        return found.container.name if found is not None else id_[:12]

    def drop(self, id_: str) -> bool:
        """Forget a container that exists no more. Return whether it was cmgr's."""
        with self._lock:
            self._others.discard(id_)
            self._touched.pop(id_, None)
            return self._entries.pop(id_, None) is not None

    def keep(self, ids: Collection[str], ticket: Ticket) -> None:
        """Forget the containers that a list, begun at this ticket, did not name."""
        with self._lock:
            for id_ in {*self._entries, *self._others, *self._touched}.difference(ids):
                if self._touched.get(id_, 0) <= ticket.number:
                    self._entries.pop(id_, None)
                    self._others.discard(id_)
                    self._touched.pop(id_, None)
