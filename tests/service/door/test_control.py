"""The service's socket: what is asked and answered there, what it survives, and what is said of what is wrong."""

import json
import os
import socket
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cmgr.errors import BadRequest, CmgrError, ConfigError, NotThere, StoreError, Unsure
from cmgr.model.values.troubles import Trouble, TroubleKind
from cmgr.sentences.sentence import CHINESE, in_language, say
from cmgr.service.door.client import get, order
from cmgr.service.door.control import THREADS, ControlServer
from cmgr.service.door.http.talk import BODY_LIMIT, HEAD_LIMIT
from cmgr.service.door.routes import Arg, Page, Request, Route, Unwell
from cmgr.service.log.setup import Log
from cmgr.view.status import Own
from tests.service.door.http import Unix, asked, connected, heard, replies
from tests.support.door import NO_GROUP, table
from tests.support.waiting import PATIENCE, eventually

ERRORS = {
    "refuse": CmgrError("cannot do that: not now", hint="try later"),
    "mistakes": ConfigError("cannot use it: 2 mistakes", mistakes=("one", "two")),
    "bad": BadRequest("cannot read the request: no"),
    "nothing": NotThere("cannot show it: there is none"),
    "store": StoreError("cannot read the database"),
    "unsure": Unsure("cannot tell whether it is done"),
}


def answer(request: Request) -> Mapping[str, object]:
    if request.do in ERRORS:
        raise ERRORS[request.do]
    return {"do": request.do, "args": dict(request.args), "uid": request.uid, "pid": request.pid}


def fails(_request: Request) -> Mapping[str, object]:
    raise ValueError("a bug")


class Picture:
    """Something that changes, and how often it was rendered."""

    def __init__(self) -> None:
        self.number = 0
        self.rendered = 0

    def answer(self, _request: Request) -> Mapping[str, object]:
        self.rendered += 1
        return {"number": self.number}

    def tag(self) -> str:
        return str(self.number)


ARGS = (Arg("n", "integer", "a number"), Arg("on", "boolean", "a switch"), Arg("text", "string", "a text"))


def routes(picture: Picture) -> list[Route]:
    def route(path: str, *args: Arg, method: str = "GET") -> Route:
        return Route(method, path, path.split("/")[-1], answer, "", args)

    return [
        *(route(f"/v1/{name}") for name in ERRORS),
        route("/v1/status", *ARGS),
        route("/v1/things/{text}", ARGS[2]),
        route("/v1/needs", Arg("n", "integer", "a number", required=True)),
        route("/v1/orders/echo", *ARGS, Arg("value", "object", "anything"), method="POST"),
        Route("GET", "/v1/bug", "bug", fails, ""),
        Route("GET", "/v1/unwritable", "unwritable", lambda _: {"value": object()}, ""),
        Route("GET", "/v1/page", "page", lambda _: Page(b"a page\n"), "", None, kind="text/plain"),
        Route("GET", "/v1/health", "health", lambda _: Unwell({"healthy": False}), ""),
        Route("GET", "/v1/picture", "picture", picture.answer, "", (), picture.tag),
    ]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "cmgr.sock"


@pytest.fixture
def reports() -> list[str]:
    return []


@pytest.fixture
def picture() -> Picture:
    return Picture()


@pytest.fixture
def server(path: Path, reports: list[str], picture: Picture) -> Iterator[ControlServer]:
    class Heard(Log):
        def bug(self, text: str, error: BaseException) -> None:
            reports.append(f"{text}: {error}")

    running = ControlServer(path, routes(picture), Heard(), NO_GROUP, patience=60)
    running.start()
    with closing(running):
        yield running


@pytest.mark.usefixtures("server")
def test_a_request_is_answered_with_who_the_kernel_says_the_peer_is(path: Path) -> None:
    me = {"uid": os.getuid(), "pid": os.getpid()}
    assert get(path, "status?n=2") == {"do": "status", "args": {"n": 2}, **me}
    assert order(path, "echo", text="x") == {"do": "echo", "args": {"text": "x"}, **me}


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    ("target", "args"),
    [
        ("/v1/status?n=007&on=true&text=a%20b", {"n": 7, "on": True, "text": "a b"}),
        ("/v1/status?text=", {"text": ""}),
        ("/v1/things/blue%2Fllm", {"text": "blue/llm"}),
        ("http://localhost/v1/status?n=1", {"n": 1}),
    ],
)
def test_what_stands_in_the_path_and_behind_it_is_read(path: Path, target: str, args: dict[str, object]) -> None:
    assert asked(path, "GET", target).value["args"] == args


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    ("method", "target", "body", "status"),
    [
        ("GET", "/v1/refuse", b"", 409),
        ("GET", "/v1/mistakes", b"", 409),
        ("GET", "/v1/bad", b"", 400),
        ("GET", "/v1/nothing", b"", 404),
        ("GET", "/v1/store", b"", 503),
        ("GET", "/v1/unsure", b"", 504),
        ("GET", "/", b"", 404),
        ("GET", "/v1/status/", b"", 404),
        ("GET", "/v1/things/", b"", 404),
        ("GET", "/v1/../v1/status", b"", 404),
        ("GET", "*", b"", 404),
        ("POST", "/v1/status", b"", 405),
        ("GET", "/v1/orders/echo", b"", 405),
        ("TRACE", "/v1/status", b"", 405),
        ("GET", "/v1/needs", b"", 400),
        ("GET", "/v1/status?more=1", b"", 400),
        ("GET", "/v1/status?n=x", b"", 400),
        ("GET", "/v1/status?n=" + "9" * 5000, b"", 400),
        ("GET", "/v1/status?n=%D9%A3", b"", 400),
        ("GET", "/v1/status?on=1", b"", 400),
        ("POST", "/v1/orders/echo", b"status", 400),
        ("POST", "/v1/orders/echo", b"\xff\xfe", 400),
        ("POST", "/v1/orders/echo", b"[]", 400),
        ("POST", "/v1/orders/echo", b'{"more": 1}', 400),
        ("POST", "/v1/orders/echo", b"[" * 60_000, 400),
        ("POST", "/v1/orders/echo", b'{"n": ' + b"9" * 5000 + b"}", 400),
        ("POST", "/v1/orders/echo", b"x" * (BODY_LIMIT + 1), 413),
    ],
)
def test_what_is_refused_has_a_status_a_reason_and_a_hint(
    path: Path, method: str, target: str, body: bytes, status: int
) -> None:
    reply = asked(path, method, target, body)
    assert reply.status == status
    assert set(reply.value) - {"messages"} == {"error", "hint", "mistakes"}
    assert str(reply.value["error"]).startswith("cannot ")
    assert reply.headers["Content-Type"] == "application/json"
    assert get(path, "status")["do"] == "status"


@pytest.mark.usefixtures("server")
def test_a_wrong_method_is_told_the_right_ones(path: Path) -> None:
    assert asked(path, "PUT", "/v1/status").headers["Allow"] == "GET, HEAD"
    assert asked(path, "PUT", "/v1/orders/echo").headers["Allow"] == "POST"


@pytest.mark.usefixtures("server")
def test_a_bug_is_reported_and_told_without_its_details(path: Path, reports: list[str]) -> None:
    for name in ("bug", "unwritable"):
        reply = asked(path, "GET", f"/v1/{name}")
        assert reply.status == 500
        assert reply.value["error"] == "cannot answer: internal error of the service"
    assert reports[0] == "cannot answer GET /v1/bug: please report it: a bug"
    assert "not JSON serializable" in reports[1]
    assert get(path, "status")["do"] == "status"


@pytest.mark.usefixtures("server")
def test_an_answer_may_be_a_page_or_that_something_is_wrong(path: Path) -> None:
    page = asked(path, "GET", "/v1/page?whatever=1")
    assert (page.status, page.headers["Content-Type"], page.body) == (200, "text/plain", b"a page\n")
    health = asked(path, "GET", "/v1/health")
    assert (health.status, health.value) == (503, {"healthy": False})
    assert get(path, "health") == {"healthy": False}


def test_a_service_that_is_not_well_says_what_ails_it(path: Path) -> None:
    full = Trouble(TroubleKind.DATABASE, "", "the database cannot be written", "disk full")
    server = ControlServer(path, table(Own("degraded", "sim", (), troubles=(full,))), group=NO_GROUP)
    server.start()
    with closing(server):
        health = asked(path, "GET", "/v1/health")
    troubles = ["the database cannot be written: disk full"]
    assert (health.status, health.value) == (503, {"healthy": False, "state": "degraded", "troubles": troubles})


def test_what_ails_it_is_said_in_the_language_that_is_asked_for(path: Path) -> None:
    ill = Trouble(TroubleKind.DATABASE, "", say("trouble.roles"))
    server = ControlServer(path, table(Own("degraded", "sim", (), troubles=(ill,))), group=NO_GROUP)
    server.start()
    with closing(server):
        told = [asked(path, "GET", f"/v1/health{query}").value["troubles"] for query in ("", "?lang=zh")]
    assert told == [[ill.text], [in_language(ill.text, CHINESE)]]
    assert told[0] != told[1]


@pytest.mark.usefixtures("server")
def test_head_is_get_without_the_body(path: Path) -> None:
    whole, head = asked(path, "GET", "/v1/page"), asked(path, "HEAD", "/v1/page")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["Content-Length"] == whole.headers["Content-Length"]


@pytest.mark.usefixtures("server")
def test_who_has_the_answer_already_is_told_so_and_nothing_is_rendered(path: Path, picture: Picture) -> None:
    first = asked(path, "GET", "/v1/picture")
    tag = first.headers["ETag"]
    assert (first.status, tag, picture.rendered) == (200, '"0"', 1)
    for known in (tag, f'"other", {tag}', f"W/{tag}"):
        again = asked(path, "GET", "/v1/picture", If_None_Match=known)
        assert (again.status, again.headers["ETag"], again.body, picture.rendered) == (304, tag, b"", 1)
    picture.number = 1
    changed = asked(path, "GET", "/v1/picture", If_None_Match=tag)
    assert (changed.status, changed.headers["ETag"], changed.value) == (200, '"1"', {"number": 1})


@pytest.mark.usefixtures("server")
def test_a_connection_serves_many_requests(path: Path) -> None:
    with closing(Unix(path)) as connection:
        for n in range(20):
            assert connection.ask("GET", f"/v1/status?n={n}").value["args"] == {"n": n}
            assert connection.ask("GET", "/v1/none").status == 404
            assert connection.ask("HEAD", "/v1/page").body == b""


@pytest.mark.usefixtures("server")
def test_pipelined_requests_are_answered_in_their_order(path: Path) -> None:
    with ExitStack() as stack:
        connection = connected(path, stack)
        sent = [f"GET /v1/status?n={n} HTTP/1.1\r\nHost: x\r\n\r\n".encode() for n in range(200)]
        connection.sendall(b"".join(sent) + b"GET /v1/none HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        told = replies(heard(connection))
    assert [value.get("args") for _, value in told[:-1]] == [{"n": n} for n in range(200)]
    assert told[-1][0] == 404


@pytest.mark.usefixtures("server")
def test_what_follows_a_request_that_is_answered_may_be_nonsense(path: Path) -> None:
    with ExitStack() as stack:
        connection = connected(path, stack)
        connection.sendall(b"GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\nnonsense\r\n\r\n")
        assert [status for status, _ in replies(heard(connection))] == [200, 400]


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400),
        (b"GET /v1/status HTTP/1.1\r\n\r\n", 400),
        (b"GET /v1/status HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400),
        (b"GET /v1/status HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx", 400),
        (b"POST /v1/orders/echo HTTP/1.1\r\nHost: x\r\nContent-Length: 9999999999\r\n\r\n", 413),
        (b"POST /v1/orders/echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        (b"POST /v1/orders/echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n", 411),
        (b"GET /v1/status HTTP/1.1\r\nHost: x\r\nMore: " + b"x" * (2 * HEAD_LIMIT) + b"\r\n\r\n", 431),
        (b"GET /" + b"x" * (2 * HEAD_LIMIT), 431),
        (b"GET /v1/status HTTP/1.1\r\n" + b"a: b\r\n" * HEAD_LIMIT, 431),
        (b'{"do": "status", "args": {}}\n', 400),
    ],
)
def test_what_is_no_request_is_told_so(path: Path, sent: bytes, status: int) -> None:
    with ExitStack() as stack:
        connection = connected(path, stack)
        try:
            connection.sendall(sent)
            connection.shutdown(1)
        except OSError:
            pass  # It was refused before all of it was sent.
        ((told, value),) = replies(heard(connection))
    assert told == status
    assert str(value["error"]).startswith("cannot read the request: ")
    assert get(path, "status")["do"] == "status"


@pytest.mark.usefixtures("server")
def test_a_request_may_come_in_pieces_and_after_a_question(path: Path) -> None:
    with ExitStack() as stack:
        connection = connected(path, stack)
        for byte in b"GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n":
            connection.send(bytes((byte,)))
        head = b"POST /v1/orders/echo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 8\r\n"
        connection.sendall(head + b"Connection: close\r\n\r\n")
        received = b""
        while b" 100 Continue\r\n\r\n" not in received:
            received += connection.recv(65536)
        connection.sendall(b'{"n": 4}')
        received = received.replace(b"HTTP/1.1 100 Continue\r\n\r\n", b"") + heard(connection)
    assert [value["args"] for _, value in replies(received)] == [{}, {"n": 4}]


def test_a_slow_peer_is_ended_and_the_others_are_served(path: Path) -> None:
    running = ControlServer(path, routes(Picture()), group=NO_GROUP, patience=1)
    running.start()
    with closing(running), ExitStack() as stack:
        slow = [connected(path, stack) for _ in range(THREADS * 2)]
        for connection in slow:
            connection.send(b"GET /v1")
        assert get(path, "status")["do"] == "status"
        for connection in slow:
            ((status, value),) = replies(heard(connection))
            assert (status, value["error"]) == (408, "cannot read the request: it did not end within 1 s")
        silent = connected(path, stack)
        assert heard(silent) == b"", "one that asks nothing is told nothing"


@pytest.mark.usefixtures("server")
def test_a_peer_that_says_nothing_and_leaves_is_no_trouble(path: Path) -> None:
    for _ in range(20):
        with ExitStack() as stack:
            connected(path, stack)
    assert get(path, "status")["do"] == "status"


@pytest.mark.usefixtures("server")
def test_many_clients_at_once_each_get_their_own_answer(path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        told = list(pool.map(lambda n: order(path, "echo", n=n)["args"], range(200)))
    assert told == [{"n": n} for n in range(200)]


def test_a_thread_that_answers_ends_when_nobody_asks_any_more(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cmgr.service.work.pool.IDLE", 0.01)
    running = ControlServer(
        path, [Route("GET", "/v1/thread", "thread", lambda _: {"is": threading.get_native_id()}, "")], group=NO_GROUP
    )
    running.start()
    with closing(running):
        for _ in range(2):
            thread = Path(f"/proc/self/task/{get(path, 'thread')['is']}")
            eventually(lambda thread=thread: not thread.exists())  # type: ignore[misc]


@pytest.mark.usefixtures("server")
def test_where_no_thread_can_be_begun_the_one_that_takes_requests_in_answers(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("_thread.start_new_thread", none)
    for _ in range(2):
        assert get(path, "status")["do"] == "status"
    monkeypatch.undo()
    assert get(path, "status")["do"] == "status"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=JSON)
def test_arguments_arrive_as_they_were_sent(server: ControlServer, path: Path, value: object) -> None:
    assert server is not None
    assert order(path, "echo", value=value)["args"] == {"value": value}
    assert json.loads(asked(path, "POST", "/v1/orders/echo", json.dumps({"value": value}).encode()).body)


def test_what_nobody_waits_for_any_more_is_not_done(path: Path) -> None:
    # `printf … | nc -U` says that it sends no more, and waits.
    begun, go_on = list[object](), threading.Event()

    def answer(request: Request) -> Mapping[str, object]:
        begun.append(request.args["text"])
        assert go_on.wait(PATIENCE)
        return {}

    running = ControlServer(path, [Route("POST", "/v1/orders/echo", "echo", answer, "", ARGS)], group=NO_GROUP)
    running.start()
    with closing(running), ExitStack() as stack:
        # No user but root has more than half of them.
        busy = THREADS if os.geteuid() == 0 else THREADS // 2
        for n in range(busy):
            _orders(stack, path, f"busy {n}")
        eventually(lambda: len(begun) == busy, why="all who answer are busy")
        left, waits = _orders(stack, path, "left"), _orders(stack, path, "waits")
        waits.shutdown(socket.SHUT_WR)
        left.close()
        go_on.set()
        assert replies(heard(waits)) == [(200, {})]
    assert sorted(map(str, begun)) == [*(f"busy {n}" for n in range(busy)), "waits"]


def _orders(stack: ExitStack, path: Path, text: str) -> socket.socket:
    connection, body = connected(path, stack), json.dumps({"text": text}).encode()
    connection.sendall(b"POST /v1/orders/echo HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
    return connection
