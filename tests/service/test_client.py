"""The command line's side of the socket: what it says when something is wrong."""

import socket
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cmgr.errors import CmgrError, ConfigError, ServiceDown
from cmgr.service.client import ask
from cmgr.service.control import ControlServer, Request


def refusing(request: Request) -> Mapping[str, object]:
    if request.do == "mistakes":
        raise ConfigError("cannot use it: 2 mistakes", mistakes=("one", "two"))
    raise CmgrError("cannot do that: not now", hint="try later") from OSError("device busy")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "cmgr.sock"


@pytest.fixture
def server(path: Path) -> Iterator[ControlServer]:
    running = ControlServer(path, refusing, "no-such-group-of-cmgr")
    running.start()
    yield running
    running.close()


@pytest.mark.usefixtures("server")
def test_what_the_service_refuses_reaches_the_client_with_cause_and_hint(path: Path) -> None:
    with pytest.raises(CmgrError) as caught:
        ask(path, "refuse")
    assert (caught.value.message, caught.value.hint) == ("cannot do that: not now: device busy", "try later")


@pytest.mark.usefixtures("server")
def test_every_mistake_reaches_the_client(path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        ask(path, "mistakes")
    assert caught.value.mistakes == ("one", "two")


def test_what_is_no_socket_is_called_that(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path):
        with pytest.raises(ServiceDown) as caught:
            ask(path, "status")
        assert (str(caught.value), caught.value.hint) == (
            f"cannot reach the service: {path} is not a socket",
            "is the path right?",
        )


def test_nobody_listening_is_the_service_being_down(path: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for missing in (path, tmp_path / "file" / "sock"):
        with pytest.raises(ServiceDown) as caught:
            ask(missing, "status")
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


@pytest.mark.parametrize("reply", [b"", b"no JSON\n", b"[]\n", b'{"ok": 1}\n', b'{"ok": true'])
def test_an_answer_that_is_none_is_an_error_and_no_traceback(tmp_path: Path, reply: bytes) -> None:
    path = tmp_path / "other.sock"
    with ThreadPoolExecutor(1) as pool:
        pool.submit(_talks(path, reply))
        with pytest.raises(CmgrError, match=r"^cannot "):
            ask(path, "status")
