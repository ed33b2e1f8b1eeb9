"""A proxy that opens tunnels (RFC 9110, CONNECT), and remembers for whom."""

import socket
import threading
from contextlib import suppress


class Proxy:
    """Listens on a free port of the loopback. `asked`: the first lines of what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                peer, _ = self._listening.accept()
                threading.Thread(target=self._tunnel, args=(peer,), daemon=True).start()

    def _tunnel(self, peer: socket.socket) -> None:
        with peer, suppress(OSError):
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                if not (more := peer.recv(1)):
                    return
                head += more
            line = head.decode().split("\r\n")[0].removesuffix(" HTTP/1.1").removesuffix(" HTTP/1.0")
            self.asked.append(line)
            host, _, port = line.partition(" ")[2].rpartition(":")
            with socket.create_connection((host, int(port))) as other:
                peer.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                back = threading.Thread(target=_passed, args=(other, peer), daemon=True)
                back.start()
                _passed(peer, other)
                back.join()


def _passed(one: socket.socket, other: socket.socket) -> None:
    with suppress(OSError):
        while data := one.recv(65536):
            other.sendall(data)
        other.shutdown(socket.SHUT_WR)
