"""Local users without a session: what they cost the page and the service has a bound, and they keep nobody out."""

import json
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from cmgr.web.gate import WAITING
from cmgr.web.serve import STRANGERS
from tests.support.page import Site
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.alone

MEMORY = 128 * 1024 * 1024
"""Half of what the unit allows."""

HEAD = "POST /api/enter HTTP/1.1\r\nHost: {}\r\nContent-Type: application/json\r\n"


@contextmanager
def peers(site: Site, count: int, sent: bytes) -> Iterator[list[socket.socket]]:
    """Connect so often, and send this as far as it is taken; nothing is read."""
    with ExitStack() as stack:
        made = []
        for _ in range(count):
            made.append(stack.enter_context(socket.create_connection(("127.0.0.1", site.web.port), timeout=PATIENCE)))
            made[-1].setblocking(False)
            push(made[-1], sent)
        yield made


def push(peer: socket.socket, sent: bytes) -> None:
    try:
        while sent:
            sent = sent[peer.send(sent) :]
    except (BlockingIOError, ConnectionError):
        pass


def memory(site: Site) -> int:
    """Return the most memory that the page's process ever had."""
    assert site.web.process is not None
    told = Path(f"/proc/{site.web.process.pid}/status").read_text()
    return 1024 * int(next(line.split()[1] for line in told.splitlines() if line.startswith("VmHWM")))


def lines(site: Site, *more: str) -> bytes:
    return (HEAD.format(site.web.address) + "".join(f"{line}\r\n" for line in more) + "\r\n").encode()


def asking(site: Site, target: str) -> bytes:
    return f"GET {target} HTTP/1.1\r\nHost: {site.web.address}\r\n\r\n".encode()


def test_no_attack_keeps_a_person_out_or_fills_the_memory(running: Site) -> None:
    before = running.web.log.read_text()
    ticket, secret = running.link().partition("#t=")[2], running.enter()
    body = json.dumps({"ticket": "x" * 43}).encode()
    attacks = {
        "chunks beside a length": lines(running, "Content-Length: 9", "Transfer-Encoding: chunked")
        + b"ffffff\r\n" + b"x" * 8_000_000,
        "a body that is longer than it says": lines(running, "Content-Length: 16384") + b"x" * 8_000_000,
        "a head without an end": b"GET / HTTP/1.1\r\n" + b"x" * 8_000_000,
        "answers that nobody reads": asking(running, "/static/main.js") * 20_000,
        "wrong tickets": (lines(running, f"Content-Length: {len(body)}") + body) * 100,
        "wrong sessions": asking(running, "/api/chips") * 1000,
        "no HTTP": b"\x00\r\n\r\n" * 1000,
        "upgrades": b"GET / HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
        "silence": b"",
    }  # fmt: skip
    for what, sent in attacks.items():
        with peers(running, STRANGERS + WAITING, sent):
            assert running.web.ask("GET", "/").status == 200, what
            assert running.read(secret, "chips").status == 200, what
            assert memory(running) < MEMORY, what
    assert running.web.ask("POST", "/api/enter", {"ticket": ticket}).status == 200, "after wrong ones, too"
    assert running.web.log.read_text() == before, "strangers write nothing into the log"


def test_a_fresh_ticket_counts_while_wrong_ones_come(running: Site) -> None:
    body = json.dumps({"ticket": "x" * 43}).encode()
    with peers(running, STRANGERS // 2, (lines(running, f"Content-Length: {len(body)}") + body) * 100):
        assert running.read(running.enter(), "chips").status == 200


def test_no_stranger_takes_the_place_of_a_session_that_waits_for_the_service(running: Site) -> None:
    secret = running.enter()
    assert running.read(secret, "chips").status == 200
    asked = asking(running, "/api/chips").replace(b"\r\n\r\n", f"\r\nAuthorization: Bearer {secret}\r\n\r\n".encode())
    running.service.tell(signal.SIGSTOP)
    try:
        with peers(running, 1, asked) as (person,):
            assert running.web.ask("GET", "/").status == 200, "what came before it was heard"
            with peers(running, STRANGERS + 1, b""):
                assert running.web.ask("GET", "/").status == 200
                running.service.tell(signal.SIGCONT)
                person.settimeout(PATIENCE)
                assert person.recv(12) == b"HTTP/1.1 200"
    finally:
        running.service.tell(signal.SIGCONT)
