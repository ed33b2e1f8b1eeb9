"""Roles on the socket, shown with processes that really belong to others: look, report, operate, or nothing."""

import grp
import json
import os
import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from cmgr.config.reporters import Reporter, Reports
from cmgr.config.roles import Holder
from cmgr.config.settings import Config
from cmgr.service.door.control import ControlServer
from cmgr.service.door.http.peer_roles import Roles
from cmgr.service.door.routes import Request
from tests.security.fuzz import SECTION
from tests.security.peers import Who, asked_by
from tests.support.door import NO_GROUP, answering
from tests.support.figures import Figures

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")

GROUP = "daemon"
READER, OPERATOR, STORAGE, BOTH, STRANGER = 4242, 4243, 4244, 4245, 4299
NAMED = Config(
    roles=(
        Holder("look", READER),
        Holder("look", group=GROUP),
        Holder("operate", OPERATOR),
        Holder("look", BOTH, "bin"),
    ),
    reports=Reports(sources=(Reporter("storage", STORAGE), Reporter("disks", group="sys"))),
)
LOOK, REPORT = "GET /v1/status", "POST /v1/reports"
ORDERS = ("POST /v1/orders/isolate", "POST /v1/orders/reload", "POST /v1/web/end")
TICKET = "POST /v1/web/ticket"
ALL = (LOOK, REPORT, *ORDERS, TICKET)


def answer(request: Request) -> Mapping[str, object]:
    return {"role": request.role.name}


def gid(name: str) -> int:
    return grp.getgrnam(name).gr_gid


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ControlServer]:
    """A service whose directory systemd has made, which is closed to others."""
    with tempfile.TemporaryDirectory(prefix="cmgr-roles-") as folder:
        Path(folder).chmod(0o755)
        directory = Path(folder, "run")
        directory.mkdir(mode=0o750)
        monkeypatch.setenv("RUNTIME_DIRECTORY", str(directory))
        running = ControlServer(directory / "cmgr.sock", answering(answer), group=NO_GROUP)
        running.admit(Roles(NAMED))
        running.start()
        with closing(running):
            yield running


@pytest.fixture
def path(server: ControlServer) -> Path:
    return Path(os.environ["RUNTIME_DIRECTORY"], "cmgr.sock")


def asked(who: Who, path: Path, request: str) -> str:
    """Return the role that is answered with, or why nothing is."""
    # Arguments that nobody can read: rights come first.
    body = "{" if request.startswith("POST") else ""
    text = f"{request} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    told = asked_by(who, path, text)
    return str(told.get("role") or told["error"])


@pytest.mark.parametrize(
    ("who", "allowed"),
    [
        (Who(0, 0), ALL),
        (Who(OPERATOR, STRANGER), ALL),
        (Who(READER, STRANGER), (LOOK, TICKET)),
        (Who(STRANGER, gid(GROUP)), (LOOK, TICKET)),
        (Who(STRANGER, STRANGER, (gid(GROUP),)), (LOOK, TICKET)),
        (Who(STRANGER, STRANGER, (*range(50000, 50500), gid(GROUP))), (LOOK, TICKET)),
        (Who(BOTH, STRANGER, (gid("bin"),)), (LOOK, TICKET)),
        (Who(STORAGE, STRANGER), (LOOK, REPORT, TICKET)),
        (Who(STRANGER, STRANGER, (gid("sys"),)), (LOOK, REPORT, TICKET)),
    ],
    ids=lambda value: f"{value.uid}-{value.gid}-{len(value.groups)}" if isinstance(value, Who) else "",
)
def test_whoever_has_a_role_does_what_it_allows_and_nothing_else(
    path: Path, who: Who, allowed: tuple[str, ...], figures: Figures
) -> None:
    for request in ALL:
        told = asked(who, path, request)
        if request not in allowed:
            assert told.startswith(f"cannot {'report' if request == REPORT else ''}")
            assert "it takes the role" in told
        elif request == LOOK:
            assert told in ("LOOK", "REPORT", "OPERATE")
        else:
            assert "its body is not JSON" in told
        figures.add(SECTION, "requests of peers with and without a role")


def test_who_has_none_is_not_let_in_by_the_kernel(path: Path) -> None:
    for who in (Who(STRANGER, STRANGER), Who(STRANGER, gid("bin")), Who(READER + 100, STRANGER, range(50000, 50500))):
        assert asked_by(who, path) == {"error": "not let in"}


def test_who_lacks_the_group_of_his_role_is_refused_before_a_byte_is_read(path: Path) -> None:
    told = asked_by(Who(BOTH, STRANGER), path, "")
    assert "no role" in str(told["error"])


def test_a_configuration_gives_and_takes_roles_of_open_connections_too(server: ControlServer, path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as reading:
        os.seteuid(READER)
        try:
            reading.connect(str(path))
        finally:
            os.seteuid(0)
        assert _over(reading, LOOK) == {"role": "LOOK"}
        server.configure(Config(roles=(Holder("operate", READER),)))
        assert _over(reading, LOOK) == {"role": "OPERATE"}
        assert asked_by(Who(OPERATOR, STRANGER), path) == {"error": "not let in"}
        server.configure(Config())
        assert "no role" in str(_over(reading, LOOK)["error"]), "nobody is named: that makes no operator of a reader"
    assert asked_by(Who(READER, STRANGER), path) == {"error": "not let in"}
    assert asked_by(Who(0, 0), path) == {"role": "OPERATE"}
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o750


def _over(connection: socket.socket, request: str) -> dict[str, object]:
    connection.sendall(f"{request} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    head, _, body = connection.recv(65536).partition(b"\r\n\r\n")
    assert head
    told: dict[str, object] = json.loads(body)
    return told


def test_an_access_list_that_cannot_be_written_is_told(server: ControlServer, path: Path) -> None:
    assert list(server.troubles()) == []
    path.unlink()
    server.configure(NAMED)
    (told,) = server.troubles()
    assert told.text == "those who have roles cannot reach the socket"
