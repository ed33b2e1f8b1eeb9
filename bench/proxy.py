"""A unix socket in front of dockerd's that notes when each stop, start and list was asked for and answered."""

import heapq
import os
import re
import selectors
import socket
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from itertools import count

from bench.records import Call, Records

_ASKED = re.compile(rb"POST \S*/containers/([0-9a-f]+)/(stop|start)\b|GET \S*/containers/json\b")
_STATUS = re.compile(rb"HTTP/1\.[01] ([0-9]{3})")
_CHUNK = 256 * 1024


class _Pair:
    """A connection of the client's and the one to the daemon, and the call under way on it."""

    def __init__(self, client: socket.socket, daemon: socket.socket) -> None:
        self.client = client
        self.daemon = daemon
        self.kind = ""
        self.who = ""
        self.begin = 0.0


class Proxy:
    """Passes everything on unchanged, on one thread, from `start` to `close`. `names`: containers by their id.

    `delay`: so many seconds later does the daemon hear of what is asked from now on, as if each call took it longer.
    """

    def __init__(self, path: str, daemon: str, names: Mapping[str, str], records: Records) -> None:
        self.delay = 0.0
        self._late: list[tuple[float, int, _Pair, bytes]] = []
        """When what is passed on to whom: a heap."""
        self._serial = count()
        self._daemon = daemon
        self._names = names
        self._records = records
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(path)
        self._listening.listen(256)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listening, selectors.EVENT_READ)
        self._wake, self._woken = socket.socketpair()
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._pairs: set[_Pair] = set()
        self._thread = threading.Thread(target=self._run, name="proxy", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._wake.send(b".")
        self._thread.join(5)
        for pair in list(self._pairs):
            self._drop(pair)
        for each in (self._listening, self._wake, self._woken):
            each.close()
        self._selector.close()

    def _run(self) -> None:
        # A stopwatch that waits for a processor while runc has them all shows its own delay.
        with suppress(OSError):
            os.sched_setscheduler(threading.get_native_id(), os.SCHED_FIFO, os.sched_param(1))
        while True:
            for key, _ in self._selector.select(self._wait()):
                if key.fileobj is self._woken:
                    return
                if key.fileobj is self._listening:
                    self._accept()
                elif isinstance(key.data, _Pair) and isinstance(key.fileobj, socket.socket):
                    self._pass_on(key.data, key.fileobj)
            self._pass_on_late()

    def _wait(self) -> float | None:
        return max(0.0, self._late[0][0] - time.monotonic()) if self._late else None

    def _pass_on_late(self) -> None:
        while self._late and self._late[0][0] <= time.monotonic():
            _, _, pair, data = heapq.heappop(self._late)
            if pair in self._pairs:
                try:
                    pair.daemon.sendall(data)
                except OSError:
                    self._drop(pair)

    def _accept(self) -> None:
        client, _ = self._listening.accept()
        daemon = socket.socket(socket.AF_UNIX)
        try:
            daemon.connect(self._daemon)
        except OSError:
            client.close()
            daemon.close()
            return
        pair = _Pair(client, daemon)
        self._pairs.add(pair)
        for each in (client, daemon):
            self._selector.register(each, selectors.EVENT_READ, pair)

    def _pass_on(self, pair: _Pair, source: socket.socket) -> None:
        if pair not in self._pairs:
            return
        asking = source is pair.client
        try:
            data = source.recv(_CHUNK)
            at = time.monotonic()
            if data and asking and self.delay:
                heapq.heappush(self._late, (at + self.delay, next(self._serial), pair, data))
            elif data:
                (pair.daemon if asking else pair.client).sendall(data)
        except OSError:
            data = b""
        if not data:
            self._drop(pair)
        elif asking:
            self._asked(pair, data, at)
        else:
            self._answered(pair, data, at)

    def _asked(self, pair: _Pair, data: bytes, at: float) -> None:
        found = _ASKED.match(data)
        if found:
            id_ = (found[1] or b"").decode()
            pair.kind, pair.who, pair.begin = (found[2] or b"list").decode(), self._names.get(id_, id_), at

    def _answered(self, pair: _Pair, data: bytes, at: float) -> None:
        found = _STATUS.match(data)
        if pair.kind and found:
            self._records.add(Call(pair.kind, pair.who, pair.begin, at, int(found[1])))
            pair.kind = ""

    def _drop(self, pair: _Pair) -> None:
        self._pairs.discard(pair)
        for each in (pair.client, pair.daemon):
            with suppress(KeyError, ValueError):
                self._selector.unregister(each)
            each.close()
