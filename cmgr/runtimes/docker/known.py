"""The memory of Docker's containers between two looks, so that listing many of them costs little.

A container's description is good for as long as Docker's events have flowed without a gap since it was read, none of
them spoke of the container, and the list says the same state. The wishes of a container never change: one that is
not cmgr's is never looked at again.
"""

import time
from datetime import UTC, datetime

from cmgr.frozen import replace
from cmgr.runtimes.docker.inspect import ENDING, Described
from cmgr.runtimes.memory import Memory, Ticket

_GOOD_FOR = 300.0
"""Seconds after which a description is read again all the same: an event may have been lost."""


class Known(Memory[str, Described]):
    """Descriptions by container id. Any thread."""

    def __init__(self) -> None:
        super().__init__()
        self._tickets: dict[str, Ticket] = {}
        self._read: dict[str, float] = {}
        self._others: set[str] = set()
        self._updates: dict[str, int] = {}
        self._ours: dict[str, int] = {}

    def updating(self, id_: str, by: int = 1) -> None:
        """Note that an update of ours is about to be sent; -1: that nothing came of it."""
        with self._lock:
            self._updates[id_] = max(0, self._updates.get(id_, 0) + by)

    def was_ours(self, id_: str) -> bool:
        """Return whether the update that an event tells of was ours. Looks from before it tell of no later one."""
        with self._lock:
            ours = self._updates.pop(id_, 0)
            if ours > 1:
                self._updates[id_] = ours - 1
            if ours:
                self._ours[id_] = self._number
            return ours > 0

    def put(self, id_: str, found: Described, ticket: Ticket) -> None:
        """Remember what a look found, unless a later one was faster. Whether it still holds, `fresh` tells."""
        with self._lock:
            if not found.concerns:
                self._others.add(id_)
                self._touched.pop(id_, None)
            elif ticket >= self._tickets.get(id_, ticket):
                self._last[id_], self._tickets[id_], self._read[id_] = found, ticket, time.monotonic()

    def dated(self, id_: str, found: Described) -> Described:
        """Return what a look found, without its health where that was not checked for longer than it may be.

        Docker below 23 runs no check on after a restart with live-restore, and repeats its last word (moby 41871).
        """
        checked, now, last = found.checked, time.monotonic(), self.last(id_)
        if checked is None:
            return found
        if last is None:  # Only once by the clock that can be set.
            since = now - max(0.0, (datetime.now(UTC) - checked.at).total_seconds())
        else:  # Of a container that was paused no check was to be run.
            since = last.checked.since if last.checked is not None and last.checked.at == checked.at else now
        container = found.container
        if now - since > checked.within:
            container = replace(container, health="", unchecked=checked.at)
        return replace(found, container=container, checked=replace(checked, since=since))

    def last_before(self, id_: str, moment: float) -> Described | None:
        """Return the last description, if it had been read by then (monotonic): a later one may have what came next.

        None, too, if it was read before the last update of ours.
        """
        with self._lock:
            if id_ not in self._last or self._read[id_] >= moment:
                return None
            return self._last[id_] if self._tickets[id_].number >= self._ours.get(id_, 0) else None

    def is_other(self, id_: str) -> bool:
        """Return whether the container is known not to be cmgr's."""
        return id_ in self._others

    def fresh(self, id_: str, state: str) -> Described | None:
        """Return the description if it still holds, given the state that the list says."""
        with self._lock:
            found, since = self._last.get(id_), self._flowing_since
            # Of the end of one that is being ended no event may tell.
            if found is None or since is None or found.state != state or state in ENDING:
                return None
            ticket = self._tickets[id_]
            checked = found.checked
            if checked is not None and time.monotonic() - checked.since > checked.within:
                return None
            good = self._holds(id_, ticket) and ticket.at >= since and time.monotonic() - ticket.at < _GOOD_FOR
            return found if good else None

    def is_followed(self, id_: str, state: str) -> bool:
        """Return whether it was read in this state, and events have flowed without a gap since."""
        with self._lock:
            found, since = self._last.get(id_), self._flowing_since
            return found is not None and found.state == state and since is not None and self._tickets[id_].at >= since

    def name(self, id_: str) -> str:
        """Return what a person calls the container."""
        found = self.last(id_)
        return found.container.name if found is not None else id_[:12]

    def _keys(self) -> set[str]:
        return super()._keys() | self._others

    def _forget(self, key: str) -> Described | None:
        self._others.discard(key)
        for told in (self._tickets, self._read, self._updates, self._ours):
            told.pop(key, None)
        return super()._forget(key)
