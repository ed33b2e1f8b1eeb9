"""A receiver of alarms: a real HTTP server that remembers what it is sent, and misbehaves when told to."""

import json
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.support.waiting import PATIENCE, eventually


@dataclass(frozen=True, slots=True)
class Request:
    path: str
    headers: dict[str, str]
    body: Any


@dataclass(slots=True)
class Script:
    """How it answers: with this status; `hang`: not before it is let go; `drip`: a byte now and then, for ever."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    hang: bool = False
    drip: bool = False
    mute: bool = False
    body: bytes = b""


def respond(handler: BaseHTTPRequestHandler, status: int, body: bytes, headers: dict[str, str]) -> None:
    handler.send_response(status)
    for name, value in {**headers, "Content-Length": str(len(body))}.items():
        handler.send_header(name, value)
    handler.end_headers()
    handler.wfile.write(body)


class Receiver:
    """Listens on a free port of the loopback. `close` ends it."""

    def __init__(self, tls: ssl.SSLContext | None = None, port: int = 0) -> None:
        self.script = Script()
        self.requests: list[Request] = []
        self.go_on = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                data = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.requests.append(Request(self.path, dict(self.headers), json.loads(data)))
                receiver.answer(self)

            def do_GET(self) -> None:
                receiver.requests.append(Request(self.path, dict(self.headers), None))
                receiver.answer(self)

            def log_message(self, *_words: object) -> None:
                return None

        ThreadingHTTPServer.daemon_threads = True
        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port = int(self._server.server_address[1])
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        script = self.script
        if script.hang:
            self.go_on.wait(PATIENCE)
        if script.mute:
            return
        if script.drip:
            self._drip(handler)
            return
        respond(handler, script.status, script.body, script.headers)

    def _drip(self, handler: BaseHTTPRequestHandler) -> None:
        try:
            while not self.go_on.wait(0.05):
                handler.wfile.write(b"H")
                handler.wfile.flush()
        except OSError:
            return  # The other side has had enough.

    def bodies(self) -> list[Any]:
        return [request.body for request in list(self.requests)]

    def until(self, count: int) -> list[Any]:
        """Wait until so many requests have come, and return their bodies."""
        eventually(lambda: len(self.requests) >= count, why=f"{count} requests have come: {self.bodies()}")
        return self.bodies()

    def events(self) -> list[str]:
        return [body["event"] for body in self.bodies()]

    def until_event(self, event: str, times: int = 1) -> dict[str, Any]:
        """Wait until this event was told so often, and return the last of them."""
        eventually(lambda: self.events().count(event) >= times, why=f"{event} comes; there were {self.events()}")
        return [dict(body) for body in self.bodies() if body["event"] == event][-1]

    def close(self) -> None:
        self.go_on.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(PATIENCE)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    made = Receiver()
    yield made
    made.close()
