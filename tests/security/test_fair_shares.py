"""However many peers one user has, and whatever they do, root is answered, and in front of what they wait for."""

import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from cmgr.service.door.client import follow, get
from cmgr.service.door.control import ControlServer
from cmgr.service.door.http.reception import STREAMS
from cmgr.service.door.routes import LINES, Request, Route, Stream
from tests.security.fuzz import SECTION
from tests.support.figures import Figures
from tests.support.waiting import eventually

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")

GROUP = "daemon"
PEERS = 100
QUESTIONS = 18

# One process with many connections. It says when all are made, and ends with its input.
CROWD = """
import grp, os, select, socket, sys
path, count, kind, target = sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]
os.setgroups([]); os.setgid(grp.getgrnam("daemon").gr_gid); os.setuid(4242)
line = b"GET %b HTTP/1.1\\r\\nHost: x\\r\\n" % target.encode()
sent = {"slow": line, "asking": line + b"\\r\\n", "pipelining": (line + b"\\r\\n") * 1000}[kind]
poll, known = select.poll(), {}
def come():
    one = socket.socket(socket.AF_UNIX)
    one.connect(path)
    one.setblocking(False)
    known[one.fileno()] = one
    try:
        one.send(sent)
    except OSError:
        pass
    poll.register(one, select.POLLIN if sys.argv[5] == "reads" else 0)
for _ in range(count):
    come()
print("ready", flush=True)
poll.register(0, select.POLLIN | select.POLLHUP)
while True:
    for number, event in poll.poll():
        if number == 0:
            sys.exit()
        try:
            if event & ~select.POLLIN or not known[number].recv(65536):
                raise OSError
            known[number].send(sent)
        except BlockingIOError:
            pass
        except OSError:
            poll.unregister(number)
            known.pop(number).close()
            come()
"""


class Answers:
    """Answers at once, or, what is `held`, not before the test says so. `order` is whose were answered."""

    def __init__(self) -> None:
        self.order: list[int] = []
        self.begun: list[int] = []
        self.released = threading.Event()

    def __call__(self, request: Request) -> Mapping[str, object]:
        self.begun.append(request.uid)
        if request.do == "held":
            self.released.wait()
        self.order.append(request.uid)
        return {"much": "x" * 1_000_000} if request.do == "much" else {"uid": request.uid}


@pytest.fixture
def answers() -> Answers:
    return Answers()


@pytest.fixture
def path(answers: Answers) -> Iterator[Path]:
    routes = [Route("GET", f"/v1/{do}", do, answers, "") for do in ("much", "status", "held")]
    events = Route("GET", "/v1/events", "events", lambda _: Stream(), "", kind=LINES)
    with tempfile.TemporaryDirectory(prefix="cmgr-shares-") as folder:
        Path(folder).chmod(0o755)
        running = ControlServer(Path(folder, "cmgr.sock"), [*routes, events], group=GROUP)
        running.start()
        with closing(running):
            yield Path(folder, "cmgr.sock")
            answers.released.set()


@contextmanager
def crowd(path: Path, kind: str, do: str, count: int = PEERS, *, reads: bool = True) -> Iterator[None]:
    """Have as many connections of another user ask this, again and again."""
    command = [sys.executable, "-I", "-c", CROWD, str(path), str(count), kind, f"/v1/{do}"]
    command.append("reads" if reads else "deaf")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield
        process.communicate("")


@pytest.mark.parametrize(
    ("kind", "do", "reads"),
    [
        ("asking", "status", True),
        ("slow", "status", True),
        ("asking", "much", False),
        ("pipelining", "status", True),
        ("pipelining", "much", False),
    ],
    ids=["quick", "slow", "deaf", "pipelining", "deaf-pipelining"],
)
def test_root_is_answered_beside_a_hundred_peers_of_one_user(
    path: Path, figures: Figures, kind: str, do: str, *, reads: bool
) -> None:
    with crowd(path, kind, do, reads=reads):
        for _ in range(QUESTIONS):
            assert get(path, "status") == {"uid": 0}
    figures.add(SECTION, "questions of root answered beside a hundred peers of one user", QUESTIONS)


def test_root_is_answered_before_whatever_takes_long(path: Path, answers: Answers, figures: Figures) -> None:
    with crowd(path, "asking", "held"):
        eventually(lambda: 4242 in answers.begun)
        for _ in range(QUESTIONS):
            assert get(path, "status") == {"uid": 0}
        assert answers.order == [0] * QUESTIONS
        answers.released.set()
        eventually(lambda: answers.order.count(4242) >= PEERS, why="nobody's question is lost")
    figures.add(SECTION, "questions of root answered beside a hundred peers of one user", QUESTIONS)


def test_root_follows_events_where_another_has_taken_all_places(path: Path) -> None:
    with crowd(path, "asking", "events", STREAMS):
        reader = follow(path, "events")
        assert next(reader) is None, "it follows"
        reader.close()
