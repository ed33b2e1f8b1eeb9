"""A Docker daemon that misbehaves to order: HTTP on a real unix socket, for what a real daemon will not do."""

import json
import os
import socket
import socketserver
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from queue import SimpleQueue
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.support.stand_in import standing_in

Answer = Callable[["Request"], None]

_END = object()


class Request(BaseHTTPRequestHandler):
    """One request. Whatever answers it calls one of the methods below."""

    protocol_version = "HTTP/1.1"
    server: "_Server"

    @property
    def route(self) -> str:
        """The address without the version in front: `/containers/c1/stop`."""
        path = urlsplit(self.path).path
        return "/" + path.split("/", 2)[2] if path.startswith("/v1.") else path

    @property
    def query(self) -> Mapping[str, str]:
        return {name: values[-1] for name, values in parse_qs(urlsplit(self.path).query).items()}

    def give(self, value: object, status: int = 200) -> None:
        """Answer with JSON."""
        self.give_text(json.dumps(value), status)

    def give_text(self, text: str, status: int = 200) -> None:
        data = text.encode()
        self.send_response(status)
        if status not in (204, 304):
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if status not in (204, 304):
            self.wfile.write(data)

    def refuse(self, status: int, message: str) -> None:
        self.give({"message": message}, status)

    def close_midway(self) -> None:
        """Promise an answer, begin it, and hang up."""
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b'{"Id": "')
        self.close_connection = True

    def hang_up(self) -> None:
        self.close_connection = True

    def hang(self) -> None:
        """Never answer."""
        self.server.ends.wait()
        self.close_connection = True

    def trickle(self) -> None:
        """Answer for ever, a byte at a time, so that no single read takes long."""
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        while not self.server.ends.wait(0.02):
            self.wfile.write(b" ")
            self.wfile.flush()

    def flood(self, text: bytes = b"[" * 65536) -> None:
        """Answer for ever, as fast as it is read."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while not self.server.ends.is_set():
            self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text))

    def stream(self, lines: "SimpleQueue[Any]") -> None:
        """Answer with what is put into the queue, a chunk for each line, until `FakeDockerd.END` comes."""
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while (line := lines.get()) is not _END:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
            self.wfile.flush()
        self.close_connection = True

    def handle_one_request(self) -> None:
        with suppress(OSError):
            super().handle_one_request()

    def _serve(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        daemon = self.server.daemon
        daemon.requests.append((f"{self.command} {self.route}", body.decode()))
        daemon.paths.append(self.path)
        with suppress(OSError):
            daemon.answer(self)

    do_GET = do_POST = _serve  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""


class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, daemon: "FakeDockerd") -> None:
        self.daemon = daemon
        self.ends = threading.Event()
        self._open: set[socket.socket] = set()
        super().__init__(daemon.socket, Request)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def hang_up(self) -> None:
        """End every connection, as the end of a process does."""
        for connection in tuple(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        with suppress(OSError):
            super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients are expected to go away."""


class FakeDockerd:
    """Answers as a healthy, empty daemon, but for what `on` was told.

    `requests` are those it got: method and address, and the body. `containers` by id are inspect documents, which it
    lists too. `images` by id are the labels of images.
    """

    END = _END

    def __init__(self, folder: Path) -> None:
        self.socket = str(folder / "fake.sock")
        self.version = "1.41"
        self.requests: list[tuple[str, str]] = []
        self.paths: list[str] = []
        self.containers: dict[str, dict[str, Any]] = {}
        self.images: dict[str, dict[str, str]] = {}
        self.past: list[bytes] = []
        self.events: SimpleQueue[Any] = SimpleQueue()
        self._answers: dict[str, Answer] = {}
        self._server: _Server | None = None

    def on(self, request: str, answer: Answer) -> None:
        """Answer this request (`POST /containers/c1/stop`) so from now on."""
        self._answers[request] = answer

    def asked(self, start: str) -> int:
        """Return how many requests began so."""
        return sum(1 for request, _ in self.requests if request.startswith(start))

    def tell(self, event: object) -> None:
        """Send an event to whoever follows them."""
        line = event if isinstance(event, bytes) else json.dumps(event).encode()
        self.events.put(line + b"\n")

    def up(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self.socket)
        server = self._server = _Server(self)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()

    def deafen(self) -> None:
        """Take no new connections, as a daemon that is being stopped; those that are open go on."""
        os.unlink(self.socket)

    def down(self) -> None:
        """Go away: the socket and whoever follows the events. Those who wait for an answer are hung up on."""
        if self._server is None:
            return
        self._server.ends.set()
        self.events.put(_END)
        self._server.shutdown()
        self._server.hang_up()
        self._server.server_close()
        self._server = None
        self.events = SimpleQueue()
        with suppress(FileNotFoundError):
            os.unlink(self.socket)

    def answer(self, request: Request) -> None:
        special = self._answers.get(f"{request.command} {request.route}") or self._of_image(request)
        if special is not None:
            special(request)
            return
        match request.route.strip("/").split("/"):
            case ["_ping"]:
                request.give_text("OK")
            case ["version"]:
                request.give({"ApiVersion": self.version, "Version": "fake"})
            case ["events"] if "until" in request.query:
                request.give_text("".join(line.decode() + "\n" for line in self.past))
            case ["events"]:
                request.stream(self.events)
            case ["containers", "json"]:
                request.give([_row(d) for d in self.containers.values()])
            case ["containers", id_, *_] if id_ not in self.containers:
                request.refuse(404, f"No such container: {id_}")
            case ["containers", id_, "json"]:
                request.give(self.containers[id_])
            case ["containers", _, "update"]:
                request.give({"Warnings": []})
            case _:
                request.give_text("", 204)

    def _of_image(self, request: Request) -> Answer | None:
        """Return what answers a question about an image; None where it is none."""
        id_ = request.route.removeprefix("/images/").removesuffix("/json")
        if id_ in self.images:
            return lambda request: request.give({"Id": id_, "Config": {"Labels": self.images[id_]}})
        return (lambda request: request.refuse(404, "No such image")) if "/images/" in request.route else None


def _row(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return what Docker's list says of a container."""
    labels, names = document["Config"].get("Labels") or {}, [document["Name"]]
    return {"Id": document["Id"], "Names": names, "Labels": labels, "State": document["State"]["Status"]}


def fake_dockerd() -> AbstractContextManager[FakeDockerd]:
    """A fake daemon that is up."""
    return standing_in(FakeDockerd)


def document(id_: str, *, status: str = "running", run: str = "2024-05-01T10:00:00.5Z", **more: Any) -> dict[str, Any]:
    """Return what inspecting a container gives. `more` goes into its `Config`."""
    down = status in ("exited", "created")
    return {
        "Id": id_,
        "Name": f"/{id_}-name",
        "State": {
            "Status": status,
            "Running": not down,
            "StartedAt": run,
            "FinishedAt": "2024-05-01T11:00:00Z" if down else "0001-01-01T00:00:00Z",
            "ExitCode": 3 if down else 0,
        },
        "Config": {"Env": ["ASCEND_VISIBLE_DEVICES=0"], "Labels": {}} | more,
        "HostConfig": {"RestartPolicy": {"Name": "no", "MaximumRetryCount": 0}},
    }


def event(action: str, id_: str, at: int, **attributes: str) -> dict[str, Any]:
    """Return an event of Docker's stream."""
    return {"Type": "container", "Action": action, "Actor": {"ID": id_, "Attributes": attributes}, "timeNano": at}
