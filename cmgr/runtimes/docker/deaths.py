"""Whether a container's end was asked for, as far as the runtime's events tell.

A daemon that is stopped ends its containers, one that was killed does so when it comes back and finds them running.
The events of that, if there are any (Docker 20.10 tells them, 28 closes the stream before), look like a person's order.
"""

import threading
from collections.abc import Collection
from dataclasses import replace

from cmgr.model.values.services.containers import Container


class Deaths:
    """Remembers, for each container's present or last life, whether anybody told it to end. Any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._told: set[str] = set()
        self._ended: dict[str, bool | None] = {}

    def started(self, id_: str) -> None:
        """A new life: nobody has told it anything."""
        with self._lock:
            self._told.discard(id_)
            self._ended.pop(id_, None)

    def told(self, id_: str) -> None:
        """It was told to end."""
        with self._lock:
            self._told.add(id_)

    def died(self, id_: str, *, all_seen: bool) -> None:
        """It ended. `all_seen`: had anybody told it to, we would know."""
        with self._lock:
            self._ended[id_] = True if id_ in self._told else False if all_seen else None

    def swept(self, id_: str) -> None:
        """The daemon ended it as it went or came, when nobody could ask for that."""
        self.started(id_)

    def asked(self, id_: str) -> bool | None:
        """Return what `Exit.asked` is for the container's last end."""
        with self._lock:
            return True if id_ in self._told else self._ended.get(id_)

    def completed(self, container: Container) -> Container:
        """Return the container with `exit.asked` filled in."""
        if container.exit is None:
            return container
        id_ = container.key.id
        asked = self.asked(id_)
        with self._lock:
            missed = asked is None and id_ not in self._ended
        return replace(container, exit=replace(container.exit, asked=asked, missed=missed))

    def keep(self, ids: Collection[str]) -> None:
        """Forget all containers but these."""
        with self._lock:
            self._told.intersection_update(ids)
            for id_ in self._ended.keys() - set(ids):
                del self._ended[id_]

    def drop(self, id_: str) -> None:
        """Forget a container that exists no more."""
        self.started(id_)
