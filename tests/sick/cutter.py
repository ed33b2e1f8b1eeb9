"""A unix socket in front of a daemon's that can cut connections in the middle of what the daemon answers."""

import os
import socket
import threading
from contextlib import suppress
from pathlib import Path

_CHUNK = 65536


class Cutter:
    """Passes everything on, on threads of its own, until `close`. `after`: so many bytes of a connection's answers
    get through before it is cut; None: all.
    """

    def __init__(self, path: Path, daemon: str) -> None:
        self.path = path
        self.after: int | None = None
        self.cuts = 0
        self._daemon = daemon
        self._pairs: set[tuple[socket.socket, socket.socket]] = set()
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(path))
        self._listening.listen(64)
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_all(self) -> None:
        """End every connection that is open now."""
        for pair in tuple(self._pairs):
            self._end(pair)

    def close(self) -> None:
        # A blocked accept() is not woken by close(), but by shutdown().
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self.cut_all()
        os.unlink(self.path)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                self._join(client)

    def _join(self, client: socket.socket) -> None:
        daemon = socket.socket(socket.AF_UNIX)
        pair = (client, daemon)
        try:
            daemon.connect(self._daemon)
        except OSError:
            self._end(pair)
            return
        self._pairs.add(pair)
        threading.Thread(target=self._ask, args=(pair,), daemon=True).start()
        threading.Thread(target=self._answer, args=(pair,), daemon=True).start()

    def _ask(self, pair: tuple[socket.socket, socket.socket]) -> None:
        client, daemon = pair
        with suppress(OSError):
            while data := client.recv(_CHUNK):
                daemon.sendall(data)
        self._end(pair)

    def _answer(self, pair: tuple[socket.socket, socket.socket]) -> None:
        client, daemon = pair
        passed = 0
        with suppress(OSError):
            while data := daemon.recv(_CHUNK):
                left = len(data) if self.after is None else max(0, self.after - passed)
                client.sendall(data[:left])
                passed += len(data)
                if left < len(data):
                    self.cuts += 1
                    break
        self._end(pair)

    def _end(self, pair: tuple[socket.socket, socket.socket]) -> None:
        self._pairs.discard(pair)
        for each in pair:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for each in pair:
            each.close()
