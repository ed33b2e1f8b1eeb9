"""Who is answered, shown with processes that really belong to others."""

import grp
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from cmgr.service.control import ControlServer, Request
from tests.security.fuzz import SECTION
from tests.security.peers import Who, asked_by
from tests.support.figures import Figures

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")

GROUP = "daemon"
NO_GROUP = "no-such-group-of-cmgr"
STRANGER = 4242


def answer(request: Request) -> Mapping[str, object]:
    return {"uid": request.uid}


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that everybody may enter; pytest's own are closed to strangers."""
    with tempfile.TemporaryDirectory(prefix="cmgr-peers-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture
def path(open_folder: Path) -> Iterator[Path]:
    """A service's socket that group `GROUP` may use."""
    running = ControlServer(open_folder / "cmgr.sock", answer, GROUP)
    running.start()
    with closing(running):
        yield open_folder / "cmgr.sock"


def gid() -> int:
    return grp.getgrnam(GROUP).gr_gid


def test_root_and_the_group_are_answered_and_told_apart_by_the_kernel(path: Path, figures: Figures) -> None:
    peers = [
        Who(0, 0),
        Who(STRANGER, gid()),
        Who(STRANGER, STRANGER, (gid(),)),
        # Python's own getsockopt returns 256 groups at most.
        Who(STRANGER, STRANGER, (*range(50000, 50500), gid())),
        Who(STRANGER, STRANGER, (*range(50000, 65000), gid())),
        Who(STRANGER + 1, STRANGER, (gid(),), effective=True),
    ]
    for who in peers:
        assert asked_by(who, path) == {"ok": True, "answer": {"uid": who.uid}}
        figures.add(SECTION, "peers of other users let in as they should be")


def test_others_are_not_let_in_and_where_the_mode_lets_them_they_are_refused(path: Path, figures: Figures) -> None:
    strangers = [
        Who(STRANGER, STRANGER),
        Who(STRANGER, 65534, (65534, STRANGER)),
        Who(STRANGER, STRANGER, range(50000, 50500)),
        Who(STRANGER, STRANGER, effective=True),
    ]
    for who in strangers:
        assert asked_by(who, path)["error"] == "not let in"
    path.chmod(0o666)
    for who in strangers:
        for request in ('{"do": "who"}\n', "x" * 100_000, "\n", ""):
            assert asked_by(who, path, request)["error"] == "cannot answer: you may not use this service"
            figures.add(SECTION, "peers of other users refused")


def test_what_a_stranger_sends_is_not_read(open_folder: Path) -> None:
    heard: list[str] = []

    def hear(request: Request) -> Mapping[str, object]:
        heard.append(request.do)
        return {}

    running = ControlServer(open_folder / "cmgr.sock", hear, NO_GROUP)
    running.start()
    with closing(running):
        (open_folder / "cmgr.sock").chmod(0o666)
        assert asked_by(Who(STRANGER, STRANGER), open_folder / "cmgr.sock")["ok"] is False
        assert asked_by(Who(0, 0), open_folder / "cmgr.sock")["ok"] is True
    assert heard == ["who"]


# A service that is not root's. What it imports it has before it becomes a stranger to the interpreter's folder.
SERVICE = """
import os, sys
from pathlib import Path
from cmgr.service.control import ControlServer
os.setgroups([]); os.setgid(4242); os.setuid(4242)
running = ControlServer(Path(sys.argv[1]), lambda request: {"uid": request.uid}, "daemon")
running.start()
print("ready", flush=True)
sys.stdin.read()
running.close()
"""


def test_a_service_of_another_user_answers_that_user_and_root(open_folder: Path) -> None:
    os.chown(open_folder, STRANGER, STRANGER)
    path = open_folder / "cmgr.sock"
    command = [sys.executable, "-c", SERVICE, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout is not None
        assert service.stdout.readline() == "ready\n"
        assert asked_by(Who(STRANGER, STRANGER), path)["ok"] is True
        assert asked_by(Who(0, 0), path)["ok"] is True
        # It may give its socket to no group, and another user is none of its own.
        assert asked_by(Who(STRANGER + 1, gid()), path)["error"] == "not let in"
        path.chmod(0o666)
        assert asked_by(Who(STRANGER + 1, STRANGER), path)["ok"] is False
        service.communicate("")
    assert service.returncode == 0
    assert not path.exists()
