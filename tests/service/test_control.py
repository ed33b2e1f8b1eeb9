"""The service's socket: who may use it, what it survives, and what both sides say when something is wrong."""

import json
import os
import socket
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cmgr.errors import CmgrError, ConfigError
from cmgr.service import control
from cmgr.service.client import ask
from cmgr.service.control import ControlServer, Request
from cmgr.service.reception import REQUEST_LIMIT

NO_GROUP = "no-such-group-of-cmgr"


def answer(request: Request) -> Mapping[str, object]:
    match request.do:
        case "refuse":
            raise CmgrError("cannot do that: not now", hint="try later") from OSError("device busy")
        case "mistakes":
            raise ConfigError("cannot use it: 2 mistakes", mistakes=("one", "two"))
        case "bug":
            raise ValueError("a bug")
        case "unwritable":
            return {"value": object()}
        case _:
            return {"do": request.do, "args": dict(request.args), "uid": request.uid, "pid": request.pid}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "cmgr.sock"


@pytest.fixture
def reports() -> list[str]:
    return []


@pytest.fixture
def server(path: Path, reports: list[str]) -> Iterator[ControlServer]:
    def report(message: str, error: BaseException) -> None:
        reports.append(f"{message}: {error}")

    running = ControlServer(path, answer, NO_GROUP, report)
    running.start()
    yield running
    running.close()


def exchange(path: Path, sent: bytes) -> dict[str, object]:
    """Send these bytes and the end of what is sent, and return what comes back."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(30)
        connection.connect(str(path))
        try:
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # A server that refuses what it has read so far may end the connection early.
        with connection.makefile("rb") as answers:
            received = answers.readline()
    assert received.endswith(b"\n")
    told: dict[str, object] = json.loads(received)
    return told


@pytest.mark.usefixtures("server")
def test_a_request_is_answered_with_who_the_kernel_says_the_peer_is(path: Path) -> None:
    assert ask(path, "status", depth=2) == {
        "do": "status",
        "args": {"depth": 2},
        "uid": os.getuid(),
        "pid": os.getpid(),
    }


@pytest.mark.usefixtures("server")
def test_a_bug_is_reported_and_told_without_its_details(path: Path, reports: list[str]) -> None:
    for do in ("bug", "unwritable"):
        with pytest.raises(CmgrError, match="internal error") as caught:
            ask(path, do)
        assert "a bug" not in caught.value.message
    assert reports[0] == "cannot answer 'bug': a bug"
    assert "not JSON serializable" in reports[1]
    assert ask(path, "status")["do"] == "status"


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    "sent",
    [
        b"status\n",
        b"\xff\xfe\n",
        b"[]\n",
        b'"status"\n',
        b'{"args": {}}\n',
        b'{"do": 1}\n',
        b'{"do": "status", "args": []}\n',
        b'{"do": "status", "more": 1}\n',
        b"[" * 60_000 + b"\n",
        b'{"do": "status", "args": {"n": ' + b"9" * 5000 + b"}}\n",
        b"x" * (REQUEST_LIMIT + 1),
    ],
)
def test_what_cannot_be_read_is_answered_so(path: Path, sent: bytes) -> None:
    told = exchange(path, sent)
    assert told["ok"] is False
    assert str(told["error"]).startswith("cannot read the request: ")
    assert ask(path, "status")["do"] == "status"


@pytest.mark.usefixtures("server")
def test_a_request_may_come_in_pieces_and_without_a_line_end(path: Path) -> None:
    assert exchange(path, b'{"do": "status"}')["ok"] is True
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(30)
        connection.connect(str(path))
        for byte in b'{"do": "status"}':
            connection.send(bytes((byte,)))
        connection.send(b'\n{"do": "ignored"}\n')
        assert connection.makefile("rb").readline().startswith(b'{"ok":true')


def test_a_slow_peer_is_ended_and_the_others_are_served(path: Path) -> None:
    running = ControlServer(path, answer, NO_GROUP, patience=0.2)
    running.start()
    with closing(running):
        slow = [socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) for _ in range(control.THREADS * 2)]
        for connection in slow:
            connection.settimeout(30)
            connection.connect(str(path))
            connection.send(b'{"do": ')
        assert ask(path, "status")["do"] == "status"
        for connection in slow:
            with connection:
                assert b"did not end within" in connection.recv(4096)


@pytest.mark.usefixtures("server")
def test_a_peer_that_says_nothing_and_leaves_is_no_trouble(path: Path) -> None:
    for _ in range(20):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(str(path))
    assert ask(path, "status")["do"] == "status"


@pytest.mark.usefixtures("server")
def test_many_clients_at_once_each_get_their_own_answer(path: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        told = list(pool.map(lambda n: ask(path, "echo", n=n)["args"], range(200)))
    assert told == [{"n": n} for n in range(200)]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(sent=st.binary(max_size=200) | JSON.map(lambda value: json.dumps(value).encode()))
def test_whatever_is_sent_is_answered_in_one_line(server: ControlServer, path: Path, sent: bytes) -> None:
    assert server is not None
    # Nothing before the line end is no request: the peer is taken to have left.
    told = exchange(path, b"{" + sent.replace(b"\n", b" ") + b"\n")
    assert told["ok"] in (True, False)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(args=st.dictionaries(st.text(min_size=1).filter(lambda k: k not in ("path", "do")), JSON, max_size=4))
def test_arguments_arrive_as_they_were_sent(server: ControlServer, path: Path, args: dict[str, object]) -> None:
    assert server is not None
    assert ask(path, "echo", **args)["args"] == args
