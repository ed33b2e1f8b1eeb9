"""The socket survives peers that are slow, many, deaf or half gone. Nobody else waits for them."""

import json
import os
import select
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cmgr.model.values.messages.commands import Note, NoteKind
from cmgr.service.door.client import follow, get
from cmgr.service.door.control import ControlServer
from cmgr.service.door.http.reception import GUESTS, STREAM_LIMIT, STREAMS, UNSENT_LIMIT
from cmgr.service.door.http.talk import BODY_LIMIT, HEAD_LIMIT
from cmgr.service.door.routes import LINES, Arg, Request, Route, Stream
from cmgr.service.log.setup import Log
from tests.cli.scenes import NOW
from tests.security.fuzz import SECTION, json_values, tries
from tests.service.door.http import connected, heard, replies
from tests.support.door import NO_GROUP
from tests.support.figures import Figures
from tests.support.waiting import eventually

MUCH = 2_000_000
"""More than fits into a socket's buffer."""


def answer(request: Request) -> Mapping[str, object]:
    return {"much": "x" * MUCH} if request.do == "much" else {"do": request.do}


ROUTES = (
    *(Route("GET", f"/v1/{do}", do, answer, "") for do in ("much", "status")),
    Route("POST", "/v1/orders/do", "do", answer, "", (Arg("do", "string", ""), Arg("args", "object", ""))),
    Route("GET", "/v1/events", "events", lambda _: Stream(), "", kind=LINES),
)
STATUS = b"GET /v1/status HTTP/1.1\r\nHost: x\r\n"
END = b"\r\n"


@pytest.fixture
def reports() -> list[str]:
    return []


@pytest.fixture
def server(tmp_path: Path, reports: list[str]) -> Iterator[ControlServer]:
    """A service's socket; nothing that a peer does may be a bug in it, or leave anything behind."""
    threads, path = own_threads(), tmp_path / "cmgr.sock"

    class Heard(Log):
        def bug(self, text: str, error: BaseException) -> None:
            reports.append(f"{text}: {error}")

    running = ControlServer(path, ROUTES, Heard(), NO_GROUP, patience=2)
    running.start()
    while_running, files = own_threads(), open_files()
    with closing(running):
        yield running
        assert get(path, "status") == {"do": "status"}
        eventually(lambda: open_files() <= files, why="every connection is given back")
        eventually(lambda: own_threads() <= while_running, why="who has answered ends when nobody asks any more")
    assert reports == []
    eventually(lambda: own_threads() <= threads, why="every thread ends")


@pytest.fixture
def path(tmp_path: Path, server: ControlServer) -> Path:
    assert server is not None
    return tmp_path / "cmgr.sock"


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def own_threads() -> int:
    """Return how many the kernel knows: Python 3.11 remembers those of `_thread` that have ended."""
    return len(os.listdir("/proc/self/task"))


@pytest.mark.parametrize(
    "sent",
    [b"", b"GET", STATUS, b"x" * 1000, b"POST /v1/orders/do HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"],
    ids=["silent", "begun", "half", "garbage", "no-body"],
)
def test_peers_that_never_end_their_request_keep_nobody_out(path: Path, sent: bytes, figures: Figures) -> None:
    with ExitStack() as stack:
        slow = []
        for _ in range(5 * GUESTS):
            slow.append(connected(path, stack))
            slow[-1].sendall(sent)
        for _ in range(20):
            assert get(path, "status") == {"do": "status"}
        words = {(status, str(value["error"])) for c in slow for status, value in replies(heard(c))}
    too_many = (503, "cannot read the request: too many connections came after it")
    late = (408, "cannot read the request: it did not end within 2 s")
    assert words == ({too_many, late} if sent else set()), "one that asks nothing is told nothing"
    figures.add(SECTION, "connections that never ended their request", len(slow))


def test_a_peer_that_drips_has_no_more_time_than_others(path: Path) -> None:
    ended = threading.Event()
    with ExitStack() as stack:
        connection = connected(path, stack)

        def drip() -> None:
            while not ended.wait(0.05):
                try:
                    connection.send(b"x")
                except OSError:
                    return

        thread = threading.Thread(target=drip)
        thread.start()
        ((status, _),) = replies(heard(connection))
        assert status == 408
        ended.set()
        thread.join()


def test_peers_that_do_not_read_what_they_asked_for_keep_nobody_out(path: Path, figures: Figures) -> None:
    with ExitStack() as stack:
        deaf = [connected(path, stack) for _ in range(GUESTS // 2)]
        for connection in deaf:
            connection.sendall(b"GET /v1/much HTTP/1.1\r\nHost: x\r\n\r\n" * 3)
        for _ in range(20):
            assert get(path, "status") == {"do": "status"}
        assert get(path, "much") == {"much": "x" * MUCH}
    figures.add(SECTION, "connections that never read their answer", len(deaf))


def test_of_what_a_user_does_not_read_the_oldest_goes(path: Path) -> None:
    with ExitStack() as stack:
        deaf = [connected(path, stack) for _ in range(UNSENT_LIMIT // MUCH + 3)]
        for connection in deaf:
            connection.sendall(b"GET /v1/much HTTP/1.1\r\nHost: x\r\n\r\n")
            assert connection.recv(15) == b"HTTP/1.1 200 OK"
        eventually(lambda: has_ended(deaf[0]))
        assert not has_ended(deaf[-1])


def has_ended(connection: socket.socket) -> bool:
    poll = select.poll()
    poll.register(connection, 0)
    return bool(poll.poll(0))


def test_peers_that_pipeline_without_an_end_keep_nobody_out(path: Path, figures: Figures) -> None:
    with ExitStack() as stack:
        greedy = [connected(path, stack) for _ in range(GUESTS // 2)]
        for connection in greedy:
            connection.setblocking(False)
            # As much as the kernel takes of it: thousands of requests, of which none is waited for.
            assert connection.send((STATUS + END) * 1000) > 0
        for _ in range(20):
            assert get(path, "status") == {"do": "status"}
    figures.add(SECTION, "connections that pipelined requests without reading", len(greedy))


def test_a_peer_that_has_sent_its_last_word_still_gets_its_answer(path: Path) -> None:
    for sent, answers in ((STATUS + END, 1), ((STATUS + END) * 3, 3), (STATUS + b"Connection: close\r\n\r\n", 1)):
        with ExitStack() as stack:
            connection = connected(path, stack)
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            assert replies(heard(connection)) == [(200, {"do": "status"})] * answers


def test_peers_that_vanish_at_any_point_leave_nothing(path: Path, figures: Figures) -> None:
    much = b"GET /v1/much HTTP/1.1\r\nHost: x\r\n\r\n"
    events = b"GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n"
    requests = (b"", b"GET ", STATUS, STATUS + END, much, events, b"\xff" * BODY_LIMIT, (STATUS + END) * 50)
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


@pytest.mark.parametrize(
    "sent",
    [
        STATUS + b"More: " + b"x" * (100 * HEAD_LIMIT),
        b"POST /v1/orders/do HTTP/1.1\r\nHost: x\r\nContent-Length: 6400000\r\n\r\n" + b"x" * (100 * BODY_LIMIT),
        b"POST /v1/orders/do HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 1_000_000,
    ],
    ids=["head", "body", "chunks"],
)
def test_a_request_that_is_too_long_is_ended_at_its_limit(path: Path, sent: bytes) -> None:
    with ExitStack() as stack:
        connection = connected(path, stack)
        with pytest.raises(OSError, match=r"Broken pipe|reset"):
            connection.sendall(sent)
        ((status, _),) = replies(heard(connection))
        assert status in (411, 413, 431)


def note(text: str) -> Note:
    return Note(NOW, NoteKind.WARNING, text)


def test_a_reader_of_events_that_does_not_read_is_cut_off_and_the_others_are_told_all(
    server: ControlServer, path: Path, figures: Figures
) -> None:
    with ExitStack() as stack:
        deaf = connected(path, stack)
        deaf.sendall(b"GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n")
        assert deaf.recv(15) == b"HTTP/1.1 200 OK"
        reader = follow(path, "events")
        assert next(reader) is None, "it follows from here on"
        sent = 0
        # Each line is read before the next is told, so that this reader is never behind.
        while sent < 4 * STREAM_LIMIT:
            server.tell([note("x" * 10_000)])
            line = next(line for line in reader if line is not None)
            assert json.loads(line)["text"] == "x" * 10_000
            sent += len(line)
        assert len(heard(deaf)) < sent, "what is kept for one that does not read has an end"
        reader.close()
    figures.add(SECTION, "readers of events that did not read", 1)


def test_events_are_followed_by_a_few_and_requests_are_answered_beside_them(server: ControlServer, path: Path) -> None:
    with ExitStack() as stack:
        readers = [follow(path, "events") for _ in range(STREAMS)]
        for reader in readers:
            stack.callback(reader.close)
            assert next(reader) is None
        one_more = connected(path, stack)
        one_more.sendall(b"GET /v1/events HTTP/1.1\r\nHost: x\r\n\r\n")
        ((status, value),) = replies(heard(one_more))
        assert (status, str(value["error"])) == (503, f"cannot follow events: {STREAMS} others do")
        silent = [connected(path, stack) for _ in range(5 * GUESTS)]
        assert get(path, "status") == {"do": "status"}
        server.tell([note("one"), note("two")])
        for reader in readers:
            told = [json.loads(line)["text"] for line in [next(r for r in reader if r is not None) for _ in range(2)]]
            assert told == ["one", "two"]
        assert len(silent) == 5 * GUESTS


pieces = st.lists(
    st.binary(max_size=300)
    | st.sampled_from([STATUS, END, STATUS + END, b"GET ", b"Host: x\r\n", b"Content-Length: 3\r\n", b"0\r\n\r\n"])
    | st.sampled_from([b"Transfer-Encoding: chunked\r\n", b"Expect: 100-continue\r\n", b"POST /v1/orders/do HTTP/1.1"])
    | json_values.map(lambda value: json.dumps(value).encode())
    | st.builds(
        lambda do, args: (
            b"POST /v1/orders/do HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b"
            % (len(body := json.dumps({"do": do, "args": args}).encode()), body)
        ),
        json_values,
        json_values,
    ),
    max_size=6,
)


@tries(400)
@given(sent=pieces)
def test_whatever_comes_is_answered_by_http_or_not_at_all(path: Path, figures: Figures, sent: list[bytes]) -> None:
    with ExitStack() as stack:
        connection = connected(path, stack)
        try:
            for piece in sent:
                connection.sendall(piece)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # It was answered, and ended, before the rest was sent.
        received = heard(connection).replace(b"HTTP/1.1 100 Continue\r\n\r\n", b"")
    for status, value in replies(received):
        assert (status == 200) is ("error" not in value)
        assert status in (200, 400, 404, 405, 411, 413, 431, 501)
    figures.add(SECTION, "requests fuzzed")
