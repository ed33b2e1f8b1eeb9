"""What the socket survives: peers that are slow, many, deaf or half gone. Nobody else waits for them."""

import json
import os
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmgr.service.client import ask
from cmgr.service.control import ControlServer, Request
from cmgr.service.reception import GUESTS, REQUEST_LIMIT
from tests.security.fuzz import SECTION, json_values, tries
from tests.support.figures import Figures
from tests.support.waiting import eventually

NO_GROUP = "no-such-group-of-cmgr"
MUCH = 2_000_000
"""More than fits into a socket's buffer."""


def answer(request: Request) -> Mapping[str, object]:
    return {"much": "x" * MUCH} if request.do == "much" else {"do": request.do}


@pytest.fixture
def reports() -> list[str]:
    return []


@pytest.fixture
def path(tmp_path: Path, reports: list[str]) -> Iterator[Path]:
    """A service's socket; nothing that a peer does may be a bug in it, or leave anything behind."""
    threads = threading.active_count()
    running = ControlServer(
        tmp_path / "cmgr.sock", answer, NO_GROUP, lambda text, error: reports.append(f"{text}: {error}"), patience=2
    )
    running.start()
    while_running, files = threading.active_count(), open_files()
    with closing(running):
        yield tmp_path / "cmgr.sock"
        assert ask(tmp_path / "cmgr.sock", "still well")["do"] == "still well"
        eventually(lambda: open_files() <= files, why="every connection is given back")
        assert threading.active_count() == while_running
    assert reports == []
    eventually(lambda: threading.active_count() == threads, why="every thread ends")


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def connected(path: Path, stack: ExitStack) -> socket.socket:
    connection = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
    # With a time limit the kernel would refuse what it cannot take at once, instead of waiting.
    connection.connect(str(path))
    connection.settimeout(30)
    return connection


def last_words(connection: socket.socket) -> str:
    """Return the error that the service tells before it ends the connection."""
    with connection.makefile("rb") as answers:
        told = json.loads(answers.readline())
    assert told["ok"] is False
    return str(told["error"])


@pytest.mark.parametrize("sent", [b"", b'{"do":', b"x" * 1000], ids=["silent", "begun", "garbage"])
def test_peers_that_never_end_their_request_keep_nobody_out(path: Path, sent: bytes, figures: Figures) -> None:
    with ExitStack() as stack:
        slow = []
        for _ in range(5 * GUESTS):
            slow.append(connected(path, stack))
            slow[-1].sendall(sent)
        for n in range(20):
            assert ask(path, f"between {n}")["do"] == f"between {n}"
        words = [last_words(connection) for connection in slow]
    assert {w.partition(": ")[2] for w in words} == {
        "too many connections came after it",
        "it did not end within 2 s",
    }
    figures.add(SECTION, "connections that never ended their request", len(slow))


def test_a_peer_that_drips_has_no_more_time_than_others(path: Path) -> None:
    ended = threading.Event()
    with ExitStack() as stack:
        connection = connected(path, stack)

        def drip() -> None:
            while not ended.wait(0.05):
                try:
                    connection.send(b" ")
                except OSError:
                    return

        thread = threading.Thread(target=drip)
        thread.start()
        with connection.makefile("rb") as answers:
            assert b"did not end within 2 s" in answers.readline()
        ended.set()
        thread.join()


def test_peers_that_do_not_read_what_they_asked_for_keep_nobody_out(path: Path, figures: Figures) -> None:
    with ExitStack() as stack:
        deaf = [connected(path, stack) for _ in range(GUESTS // 2)]
        for connection in deaf:
            connection.sendall(b'{"do": "much"}\n')
        for n in range(20):
            assert ask(path, f"between {n}")["do"] == f"between {n}"
        assert ask(path, "much") == {"much": "x" * MUCH}
    figures.add(SECTION, "connections that never read their answer", len(deaf))


def test_a_peer_that_has_sent_its_last_word_still_gets_its_answer(path: Path) -> None:
    for sent in (b'{"do": "half"}', b'{"do": "half"}\n', b'{"do": "half"}\n{"do": "more"}\n'):
        with ExitStack() as stack:
            connection = connected(path, stack)
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            assert json.loads(connection.makefile("rb").readline()) == {"ok": True, "answer": {"do": "half"}}


def test_peers_that_vanish_at_any_point_leave_nothing(path: Path, figures: Figures) -> None:
    requests = (b"", b'{"do"', b'{"do": "x"}\n', b'{"do": "much"}\n', b"\xff" * REQUEST_LIMIT)
    for n in range(200):
        with ExitStack() as stack:
            connection = connected(path, stack)
            sent = requests[n % len(requests)]
            try:
                connection.sendall(sent)
                if n % 3 == 0:
                    connection.shutdown(socket.SHUT_RD)
            except OSError:
                continue
    figures.add(SECTION, "connections that vanished", 200)


def test_a_request_that_is_too_long_is_ended_at_its_limit(path: Path) -> None:
    with ExitStack() as stack:
        connection = connected(path, stack)
        with pytest.raises(OSError, match=r"Broken pipe|reset"):
            connection.sendall(b"x" * (100 * REQUEST_LIMIT))
        assert b"it is longer than" in connection.recv(4096)


pieces = st.lists(
    st.binary(max_size=300)
    | json_values.map(lambda value: json.dumps(value).encode())
    | st.builds(lambda do, args: json.dumps({"do": do, "args": args}).encode() + b"\n", json_values, json_values),
    max_size=4,
)


@tries(400)
@given(sent=pieces, half=st.booleans())
def test_whatever_comes_is_answered_in_one_line_or_not_at_all(
    path: Path, figures: Figures, sent: list[bytes], *, half: bool
) -> None:
    with ExitStack() as stack:
        connection = connected(path, stack)
        try:
            for piece in sent:
                connection.sendall(piece)
            if half or b"\n" not in b"".join(sent):
                connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # It was answered, and ended, before the rest was sent.
        received = b""
        try:
            while more := connection.recv(65536):
                received += more
        except ConnectionResetError:
            pass  # What was sent after the request was thrown away.
        first, _, rest = received.partition(b"\n")
        assert rest == b""
        if first:
            assert json.loads(first)["ok"] in (True, False)
        else:
            assert b"".join(sent).partition(b"\n")[0] == b""
    figures.add(SECTION, "requests fuzzed")
