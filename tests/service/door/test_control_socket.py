"""The socket as a file: who may use it, whom it replaces, and how it goes."""

import os
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest

from cmgr.config.settings import Config
from cmgr.errors import ConfigError, ServiceDown
from cmgr.listener import reached
from cmgr.service.door.claim import claim, listener
from cmgr.service.door.client import get
from cmgr.service.door.control import ControlServer
from cmgr.service.door.http.peer_roles import Roles
from cmgr.service.door.routes import Request
from tests.service.door.desk import Heard
from tests.support.door import NO_GROUP, answering, door
from tests.support.waiting import PATIENCE


def answer(request: Request) -> Mapping[str, object]:
    return {"do": request.do}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run" / "cmgr.sock"


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def server(path: Path, heard: Heard) -> Iterator[ControlServer]:
    running = ControlServer(path, answering(answer), heard, NO_GROUP)
    running.start()
    yield running
    running.close()


@pytest.mark.usefixtures("server")
def test_only_the_owner_reaches_the_socket_where_there_is_no_group(path: Path) -> None:
    mode = path.lstat().st_mode
    assert stat.S_ISSOCK(mode)
    assert stat.S_IMODE(mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files to a group")
def test_the_group_reaches_the_socket_where_there_is_one(path: Path) -> None:
    running = door(path, answer, "daemon")
    running.start()
    with closing(running):
        found = path.lstat()
        assert stat.S_IMODE(found.st_mode) == 0o660
        assert (found.st_uid, found.st_gid != 0) == (0, True)
        assert path.parent.stat().st_gid == found.st_gid


def test_a_socket_that_a_dead_service_left_is_replaced(path: Path) -> None:
    path.parent.mkdir()
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as dead:
        dead.bind(str(path))
    assert listener(path) is None
    running = door(path, answer)
    running.start()
    with closing(running):
        assert get(path, "status")["do"] == "status"


@pytest.mark.usefixtures("server")
def test_a_socket_on_which_somebody_listens_is_refused(path: Path) -> None:
    with pytest.raises(ConfigError, match="another service listens there"):
        door(path, answer).start()
    assert get(path, "status")["do"] == "status"


def test_a_file_that_is_no_socket_is_refused_and_left(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("precious")
    with pytest.raises(ConfigError, match="not a socket"):
        door(path, answer).start()
    assert path.read_text() == "precious"


def test_a_path_that_is_too_long_is_refused_and_named(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 120) / "cmgr.sock"
    with pytest.raises(ConfigError, match="cannot listen on") as caught:
        door(path, answer).start()
    assert "longer than 107 bytes" in str(caught.value)
    assert list(path.parent.iterdir()) == []


def test_close_removes_the_socket_and_may_be_repeated(path: Path) -> None:
    running = door(path, answer)
    running.start()
    running.close()
    running.close()
    assert not path.exists()
    with pytest.raises(ServiceDown):
        get(path, "status")


def test_close_leaves_the_socket_of_a_successor(path: Path, server: ControlServer) -> None:
    path.rename(path.with_name("old"))
    successor = door(path, answer)
    successor.start()
    with closing(successor):
        server.close()
        assert get(path, "status")["do"] == "status"


def test_one_that_somebody_removes_is_there_again_and_that_is_said(
    path: Path, server: ControlServer, heard: Heard
) -> None:
    with closing(HTTPConnection("localhost")) as before:
        before.sock = reached(str(path), PATIENCE)
        asked(before)
        for directory in (False, True):
            path.unlink()
            if directory:
                path.parent.rmdir()
            with pytest.raises(ServiceDown):
                get(path, "status")
            server.look()
            assert get(path, "status")["do"] == "status"
            assert stat.S_IMODE(path.lstat().st_mode) == 0o600
        asked(before)
    server.look()
    assert heard.warnings == [f"somebody has removed {path}: it is there again"] * 2
    assert not list(server.troubles())


@pytest.mark.parametrize("alone", [True, False])
def test_the_right_to_listen_is_taken_again_where_it_is_removed_with_the_socket(
    path: Path, server: ControlServer, alone: bool
) -> None:
    place = claim(path)
    server.admit(Roles(Config()), place)
    path.unlink()
    if not alone:
        path.with_name("cmgr.sock.lock").unlink()
        path.parent.rmdir()
    server.look()
    with pytest.raises(ConfigError, match="another service is about to"):
        claim(path)
    assert get(path, "status")["do"] == "status"
    place.release()
    claim(path).release()


def test_what_lies_where_the_socket_was_is_left_and_told_until_it_is_gone(path: Path, server: ControlServer) -> None:
    path.unlink()
    path.write_text("mine")
    server.look()
    (trouble,) = server.troubles()
    assert trouble.text == f"nobody new can ask the service: its socket {path} is not there"
    assert trouble.why == f"cannot listen on {path}: there is a file that is not a socket"
    assert path.read_text() == "mine"
    path.unlink()
    server.look()
    assert get(path, "status")["do"] == "status"
    assert not list(server.troubles())


def asked(connection: HTTPConnection) -> None:
    connection.request("GET", "/v1/status")
    assert b"status" in connection.getresponse().read()


def test_close_does_not_wait_for_ever_for_an_answer(path: Path) -> None:
    asked, released = threading.Event(), threading.Event()

    def stuck(_request: Request) -> Mapping[str, object]:
        asked.set()
        released.wait(PATIENCE)
        return {}

    running = door(path, stuck)
    running.start()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(get, path, "status")
        assert asked.wait(PATIENCE)
        running.close()
        assert not path.exists()
        released.set()
        assert waiting.result(PATIENCE) == {}


STRANGER = """
import os, socket, sys
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
connection = socket.socket(socket.AF_UNIX)
try:
    connection.connect(sys.argv[1])
    print("let in")
except PermissionError:
    print("not let in")
"""


def asked_by_a_stranger(path: Path) -> str:
    """Return what another user gets to hear."""
    # It becomes a stranger itself: the way to the interpreter may be closed to one.
    command = [sys.executable, "-I", "-c", STRANGER, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")
def test_a_stranger_is_not_let_in() -> None:
    # tmp_path is closed to strangers, and a service's directory need not be.
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "cmgr.sock")
        Path(directory).chmod(0o755)
        running = door(path, answer)
        running.start()
        with closing(running):
            assert asked_by_a_stranger(path) == "not let in\n"
