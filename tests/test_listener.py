"""Whether somebody listens on a unix socket."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from cmgr import listener
from tests.support.waiting import PATIENCE


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "s")


@pytest.fixture
def listening(path: str) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen(1)
        yield server


def test_a_connection_is_given_to_whoever_listens(path: str, listening: socket.socket) -> None:
    with listener.reached(path, PATIENCE) as connection:
        other, _ = listening.accept()
        with other:
            other.sendall(b"x")
            assert connection.recv(1) == b"x"


def test_nobody_listens_where_there_is_nothing_or_a_file_or_a_socket_that_was_left(path: str, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        listener.reached(path, PATIENCE)
    (tmp_path / "file").touch()
    for name in ("file", "file/s"):
        with pytest.raises((ConnectionRefusedError, NotADirectoryError)):
            listener.reached(str(tmp_path / name), PATIENCE)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(path)
    with pytest.raises(ConnectionRefusedError):
        listener.reached(path, PATIENCE)
    with pytest.raises(OSError, match="too long"):
        listener.reached("/" + "x" * 200, PATIENCE)


def test_one_who_accepts_nobody_is_not_waited_for_longer_than_said(path: str, listening: socket.socket) -> None:
    queued = [listener.reached(path, PATIENCE) for _ in range(2)]
    with pytest.raises((TimeoutError, BlockingIOError)):
        listener.reached(path, 0.05)
    for connection in queued:
        connection.close()
