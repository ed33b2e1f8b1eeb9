"""Containers are asked by HTTP, TCP or a command, at their own addresses only, and every answer is bounded."""

import http.server
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from cmgr.errors import ContainerError, RuntimeAils
from cmgr.model.values.handling.questions import OWN_MACHINE, Network, busy_question, question
from cmgr.runtimes.sim.runtime import SimRuntime
from cmgr.service.parts.asking import Reply, ask
from tests.model.builders import container
from tests.service.work.test_last_words import Speaking

WEB = replace(container("web", 0, runtime="sim"), network=OWN_MACHINE)
SOON = 0.2
"""Seconds that one is waited for that says nothing; no test measures them."""


class Server(http.server.BaseHTTPRequestHandler):
    """A real server of the standard library's."""

    protocol_version = "HTTP/1.1"
    asked: ClassVar[list[tuple[str, str | None]]]

    def do_GET(self) -> None:
        type(self).asked.append((self.path, self.headers["Host"]))
        if self.path == "/moved":
            self.send_response(302)
            self.send_header("Location", "/health")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response({"/health": 200, "/models": 200, "/chunks": 200}.get(self.path, 503))
        if self.path == "/chunks":
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"8\r\nllama is\r\n7\r\n loaded\r\n0\r\n\r\n".replace(b"8\r\nllama is", b"8\r\nllama is"))
            return
        body = b'{"data": [{"id": "llama"}]}'
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(tls: ssl.SSLContext | None = None) -> Iterator[tuple[int, list[tuple[str, str | None]]]]:
    """Yield the port of a server, and what it has been asked."""

    class Handler(Server):
        asked: ClassVar[list[tuple[str, str | None]]] = []

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_port, Handler.asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def saying(talk: Callable[[socket.socket], object]) -> Iterator[int]:
    """Yield the port of a peer that says something of its own to one caller."""

    def serve() -> None:
        with closing(listener.accept()[0]) as line:
            try:
                line.recv(4096)
                talk(line)
            except OSError:
                pass  # Whoever asked has had enough.

    listener = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        thread.join()
        listener.close()


def http_reply(port: int, path: str, rest: str = "", seconds: float = 5.0) -> Reply:
    return ask(WEB, question(f"http://:{port}{path} {rest}".strip()), None, seconds)


def test_a_status_within_the_good_ones_is_a_good_answer() -> None:
    with serving() as (port, asked):
        assert http_reply(port, "/health") == Reply(True, "HTTP 200")
        assert http_reply(port, "/loading") == Reply(False, "HTTP 503")
        assert http_reply(port, "/loading", "status=500-503") == Reply(True, "HTTP 503")
        assert asked == [(path, f"localhost:{port}") for path in ("/health", "/loading", "/loading")]


def test_no_redirect_is_followed() -> None:
    with serving() as (port, asked):
        assert http_reply(port, "/moved") == Reply(False, "HTTP 302, and no redirect is followed")
        assert [path for path, _ in asked] == ["/moved"]


def test_no_proxy_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with serving() as (port, _):
        assert http_reply(port, "/health").good


@pytest.mark.parametrize("path", ["/models", "/chunks"])
def test_the_text_has_to_be_in_the_body(path: str) -> None:
    with serving() as (port, _):
        assert http_reply(port, path, "text=llama").good
        assert http_reply(port, path, "text=qwen") == Reply(False, "HTTP 200 without the text qwen")
        assert not http_reply(port, path, "text=Content-Type").good


def test_a_text_that_is_cut_by_the_form_of_the_answer_is_found() -> None:
    with serving() as (port, _):
        assert http_reply(port, "/chunks", "text='is loaded'").good


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a certificate that a container has made for itself, with its key."""
    file = tmp_path_factory.mktemp("tls") / "own.pem"
    words = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=somebody -keyout {0} -out {0}.crt"
    subprocess.run(words.format(file).split(), check=True, capture_output=True)
    file.write_text(file.read_text() + Path(f"{file}.crt").read_text())
    return file


def test_a_container_may_have_a_certificate_of_its_own(own: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(own)
    with serving(context) as (port, _):
        assert ask(WEB, question(f"https://:{port}/health text=llama"), None, 5.0) == Reply(True, "HTTP 200")


def test_a_port_is_open_or_it_is_not() -> None:
    with serving() as (port, _):
        assert ask(WEB, question(f"tcp://:{port}"), None, 5.0) == Reply(True, f"port {port} is open")
    assert ask(WEB, question(f"tcp://:{port}"), None, 5.0) == Reply(False, "connection refused")
    assert http_reply(port, "/health") == Reply(False, "connection refused")


def trickles(line: socket.socket) -> None:
    """Say something again and again, so that no single wait is long."""
    while True:
        line.sendall(b"HTTP/1.1 100 Continue"[:1])
        threading.Event().wait(SOON / 10)


def goes_on(line: socket.socket) -> None:
    """Begin a good answer, and do not end it."""
    line.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello")
    line.recv(1)


@pytest.mark.parametrize("talk", [lambda line: line.recv(1), trickles, goes_on])
def test_one_that_lets_wait_is_waited_for_no_longer_than_it_may_take(talk: Callable[[socket.socket], object]) -> None:
    with saying(talk) as port:
        assert http_reply(port, "/", "text=a", SOON) == Reply(False, f"no answer within {SOON} s", mute=True)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (b"", "it closed the connection"),
        (b"220 mail.example ESMTP\r\n", "what answers does not speak HTTP"),
        (b"\xff" * 70000, "what answers does not speak HTTP"),
        (b"HTTP/1.1 2000 OK\r\n", "what answers does not speak HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9999999999999\r\n\r\nhello", "HTTP 200 without the text a"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello", "HTTP 200 without the text a"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 500 + b"\r\nhello", "what answers does not speak HTTP"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"b" * 200000, "HTTP 200 without the text a"),
    ],
)
def test_whatever_answers_is_told_in_a_few_words(said: bytes, words: str) -> None:
    with saying(lambda line: line.sendall(said)) as port:
        assert http_reply(port, "/", "text=a") == Reply(False, words, mute=not said)


def test_one_without_an_address_is_not_looked_for_elsewhere() -> None:
    reply = ask(replace(WEB, network=Network()), question("http://:8000/"), None, 5.0)
    words = "cannot be asked: its runtime names no address of its port 8000; ask by exec"
    assert reply == Reply(False, words, mute=True)


def test_a_command_that_ends_with_0_is_a_good_answer() -> None:
    test = question("exec test -e /run/ready")
    runtime = Speaking(0, "whatever")
    assert ask(WEB, test, runtime, 3.0) == Reply(True, "test ended with code 0")
    assert runtime.asked == [(("test", "-e", "/run/ready"), 3.0)]
    bad = ask(WEB, test, Speaking(1, "not\nyet\x1b[2J"), 3.0)
    assert bad == Reply(False, "test ended with code 1: not | yet [2J")
    assert len(ask(WEB, test, Speaking(1, "x" * 4096), 3.0).words) < 200


@pytest.mark.parametrize("error", [ContainerError("cannot run test in web: no such program"), RuntimeAils("too long")])
def test_a_command_that_cannot_be_run_is_told(error: ContainerError) -> None:
    assert ask(WEB, question("exec test"), Speaking(error=error), 3.0) == Reply(
        False, error.message, mute=True, ended=not isinstance(error, RuntimeAils)
    )


@pytest.mark.parametrize(
    ("code", "reply"),
    [
        (0, Reply(True, "/run/saving is there")),
        (1, Reply(False, "/run/saving is not there")),
        (2, Reply(False, "test ended with code 2: test: not found", mute=True)),
        (127, Reply(False, "test ended with code 127: test: not found", mute=True)),
    ],
)
def test_whether_a_file_is_there_is_asked_in_the_container(code: int, reply: Reply) -> None:
    runtime = Speaking(code, "test: not found")
    assert ask(WEB, busy_question("/run/saving"), runtime, 3.0) == reply
    assert runtime.asked == [(("test", "-e", "/run/saving"), 3.0)]


def test_a_command_that_is_not_there_gives_no_answer() -> None:
    mute = {code: ask(WEB, question("exec idle"), Speaking(code), 3.0).mute for code in (0, 1, 2, 126, 127, 137)}
    assert mute == {0: False, 1: False, 2: False, 126: True, 127: True, 137: True}


def test_who_runs_no_commands_says_so() -> None:
    for runtime in (SimRuntime(), None):
        reply = ask(WEB, question("exec test"), runtime, 3.0)
        assert reply == Reply(False, "cannot be asked: sim runs no command in what it runs", mute=True)
