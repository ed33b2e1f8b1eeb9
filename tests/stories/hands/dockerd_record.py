"""The words of a Docker daemon about its containers, for as long as it is watched: when each served, and when not."""

import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

from docker.errors import DockerException
from requests.exceptions import RequestException

from tests.support.daemons.dockerd import Dockerd

SERVES = {"start": True, "unpause": True, "die": False, "pause": False, "destroy": False}
"""Whether a container serves from this event on."""

LOST = (DockerException, RequestException, OSError, ValueError)
"""The errors that the clients of a daemon meet when it ends."""

Change = tuple[float, bool | None]
"""On the monotonic clock: from then on it serves, does not, or nobody knows, for the daemon cannot be asked."""


class DockerdRecord:
    """Written by a thread of its own until `close`; times are those of the news' arrival. Read by any thread."""

    def __init__(self, dockerd: Dockerd) -> None:
        self._dockerd = dockerd
        self._changes: dict[str, list[Change]] = defaultdict(list)
        self._there: set[str] = set()
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._listen, name="dockerd-record", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._over.set()
        self._thread.join()

    def changes(self) -> Mapping[str, list[Change]]:
        """Return what became of each container, by its id."""
        with self._lock:
            return {id_: list(changes) for id_, changes in self._changes.items()}

    def exists(self, id_: str) -> bool:
        with self._lock:
            return id_ in self._there

    def serves(self, id_: str) -> bool | None:
        with self._lock:
            return self._changes[id_][-1][1] if self._changes[id_] else False

    def _listen(self) -> None:
        while not self._over.is_set():
            if not self._is_there():
                self._over.wait(0.05)
                continue
            try:
                with closing(self._dockerd.client()) as client:
                    client.timeout = 1
                    self._hear(client)
            except LOST:
                with self._lock:
                    for id_ in self._there:
                        self._add(id_, None)

    def _is_there(self) -> bool:
        # The SDK leaves a socket open when it cannot connect.
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(self._dockerd.socket) == 0

    def _hear(self, client: Any) -> None:
        since = f"{time.time():.6f}"
        self._take(lambda: {row["Id"]: row["State"] == "running" for row in client.containers(all=True)})
        while not self._over.is_set():
            # A stream that says nothing for a second ends by itself; none is missed: each begins where the last ended.
            until = f"{time.time() + 1:.6f}"
            for event in client.events(since=since, until=until, filters={"type": "container"}, decode=True):
                self._note(event["Actor"]["ID"], event["Action"])
            since = until

    def _take(self, listed: Callable[[], Mapping[str, bool]]) -> None:
        found = listed()
        with self._lock:
            self._there = set(found)
            for id_ in self._changes.keys() | found:
                self._add(id_, found.get(id_, False))

    def _note(self, id_: str, action: str) -> None:
        with self._lock:
            if action == "create":
                self._there.add(id_)
            if action == "destroy":
                self._there.discard(id_)
            if action in SERVES:
                self._add(id_, SERVES[action])

    def _add(self, id_: str, serves: bool | None) -> None:
        self._changes[id_].append((time.monotonic(), serves))
