"""The peers who are answered, shown with processes that really belong to others."""

import grp
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from cmgr.service.door.routes import Request
from tests.security.fuzz import SECTION
from tests.security.peers import Who, asked_by
from tests.support.door import door
from tests.support.figures import Figures

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")

GROUP = "daemon"
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
    running = door(open_folder / "cmgr.sock", answer, GROUP)
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
        # More than Python's own getsockopt can tell of a peer: it is the kernel that lets them in.
        Who(STRANGER, STRANGER, (*range(50000, 50500), gid())),
        Who(STRANGER, STRANGER, (*range(50000, 65000), gid())),
        Who(STRANGER + 1, STRANGER, (gid(),), effective=True),
    ]
    for who in peers:
        assert asked_by(who, path) == {"uid": who.uid}
        figures.add(SECTION, "peers of other users let in as they should be")


def test_others_are_not_let_in(path: Path, figures: Figures) -> None:
    strangers = [
        Who(STRANGER, STRANGER),
        Who(STRANGER, 65534, (65534, STRANGER)),
        Who(STRANGER, STRANGER, range(50000, 50500)),
        Who(STRANGER, STRANGER, effective=True),
    ]
    for who in strangers:
        assert asked_by(who, path) == {"error": "not let in"}
        figures.add(SECTION, "peers of other users refused")


# A service that is not root's. It has all its modules before it becomes a stranger to the interpreter's folder.
SERVICE = """
import os, sys
from pathlib import Path
from tests.support.door import door
os.setgroups([]); os.setgid(4242); os.setuid(4242)
running = door(Path(sys.argv[1]), lambda request: {"uid": request.uid}, "daemon")
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
        assert asked_by(Who(STRANGER, STRANGER), path) == {"uid": STRANGER}
        assert asked_by(Who(0, 0), path) == {"uid": 0}
        # It may give its socket to no group, and another user is none of its own.
        assert asked_by(Who(STRANGER + 1, gid()), path) == {"error": "not let in"}
        service.communicate("")
    assert service.returncode == 0
    assert not path.exists()
