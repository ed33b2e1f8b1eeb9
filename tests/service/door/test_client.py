"""The command line's side of the socket: what it says when something is wrong."""

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cmgr.errors import CmgrError, ConfigError, ServiceDown, ServiceHangs, chain
from cmgr.service.door.client import BRIEFLY, Patience, follow, get
from cmgr.service.door.control import ControlServer
from cmgr.service.door.routes import Request
from tests.support.door import door
from tests.support.waiting import PATIENCE


def refusing(request: Request) -> Mapping[str, object]:
    if request.do == "faults":
        raise ConfigError("cannot use it: 2 mistakes", mistakes=("one", "two"))
    raise CmgrError("cannot do that: not now", hint="try later") from OSError("device busy")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "cmgr.sock"


@pytest.fixture
def server(path: Path) -> Iterator[ControlServer]:
    running = door(path, refusing)
    running.start()
    yield running
    running.close()


@pytest.mark.usefixtures("server")
def test_what_the_service_refuses_reaches_the_client_with_cause_and_hint(path: Path) -> None:
    with pytest.raises(CmgrError) as caught:
        get(path, "status")
    assert (caught.value.message, caught.value.hint) == ("cannot do that: not now: device busy", "try later")


@pytest.mark.usefixtures("server")
def test_every_mistake_reaches_the_client(path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        get(path, "faults")
    assert caught.value.mistakes == ("one", "two")


def test_what_is_no_socket_is_called_that(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path):
        with pytest.raises(ServiceDown) as caught:
            get(path, "status")
        assert (str(caught.value), caught.value.hint) == (
            f"cannot reach the service: {path} is not a socket",
            "is the path right?",
        )


def test_nobody_listening_is_the_service_being_down(path: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for missing in (path, tmp_path / "file" / "sock"):
        with pytest.raises(ServiceDown) as caught:
            get(missing, "status")
        assert caught.value.exit_code == 3
        assert "systemctl start cmgr" in caught.value.hint


def _talks(path: Path, reply: bytes) -> Callable[[], None]:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(path))
    listening.listen(1)

    def once() -> None:
        with listening, listening.accept()[0] as connection:
            connection.recv(65536)
            connection.sendall(reply)

    return once


OK = b"HTTP/1.1 200 OK\r\n"


@pytest.mark.parametrize(
    "reply",
    [
        b"",
        b"no HTTP\n",
        b'{"ok": true, "answer": {}}\n',
        OK,
        OK + b"\r\nno JSON",
        OK + b"\r\n[]",
        OK + b"\r\n\xff",
        b"SSH-2.0-x\r\n\r\n{}",
        b"HTTP/1.1 ok\r\n\r\n{}",
    ],
)
def test_an_answer_that_is_none_is_an_error_and_no_traceback(tmp_path: Path, reply: bytes) -> None:
    path = tmp_path / "other.sock"
    with ThreadPoolExecutor(1) as pool:
        pool.submit(_talks(path, reply))
        with pytest.raises(CmgrError, match=r"^cannot "):
            get(path, "status")


def test_an_answer_that_is_cut_short_is_the_service_being_down(tmp_path: Path) -> None:
    path = tmp_path / "other.sock"
    with ThreadPoolExecutor(1) as pool:
        pool.submit(_talks(path, OK + b"Content-Length: 100\r\n\r\n{}"))
        with pytest.raises(ServiceDown) as caught:
            get(path, "status")
    assert chain(caught.value).endswith("the service closed the connection in the middle of its answer")


def test_lines_come_whole_however_they_are_cut_and_the_end_is_told(tmp_path: Path) -> None:
    path = tmp_path / "other.sock"
    with ThreadPoolExecutor(1) as pool:
        pool.submit(_talks(path, OK + b"\r\none\ntwo\nthr"))
        followed = (line for line in follow(path, "events") if line is not None)
        assert [next(followed), next(followed)] == [b"one", b"two"]
        with pytest.raises(ServiceDown) as caught:
            next(followed)
    assert chain(caught.value).endswith("it has ended the connection")


@pytest.mark.usefixtures("server")
def test_what_is_refused_is_not_followed(path: Path) -> None:
    with pytest.raises(CmgrError, match="cannot do that"):
        list(follow(path, "status"))


SOON = Patience(0.05, 0.1, 0.2)


def test_one_that_accepts_nobody_hangs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "full.sock")
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as guest:
        listening.bind(path)
        listening.listen(0)
        guest.connect(path)
        with pytest.raises(ServiceHangs, match=r"it has accepted nobody on .* for 100 ms") as caught:
            get(path, "status", SOON)
    assert caught.value.exit_code == 5
    assert "waiting: the service has accepted nobody" in capfd.readouterr().err


def test_whoever_is_in_a_hurry_is_told_nothing_before(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "deaf.sock")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen(1)
        with pytest.raises(ServiceHangs):
            get(path, "status", BRIEFLY)
    assert capfd.readouterr().err == ""


def test_one_that_answers_others_is_waited_for_longer(path: Path) -> None:
    others = threading.Event()

    def answer(request: Request) -> Mapping[str, object]:
        # This takes until somebody has asked something else.
        if request.do == "health":
            others.set()
        return {"waited": others.wait(PATIENCE)}

    running = door(path, answer)
    running.start()
    try:
        assert get(path, "check", Patience(0.05, 0.1, PATIENCE)) == {"waited": True}
    finally:
        running.close()


def test_lines_that_end_with_a_service_that_hangs_do_not_wait_for_ever(tmp_path: Path) -> None:
    path = tmp_path / "other.sock"
    over = threading.Event()

    def silent() -> None:
        with listening, listening.accept()[0] as connection:
            connection.recv(65536)
            connection.sendall(OK + b"\r\none\n")
            assert over.wait(PATIENCE)

    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.bind(str(path))
    listening.listen(1)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(silent)
        with pytest.raises(ServiceHangs):
            list(follow(path, "events", looks=1))
        over.set()
