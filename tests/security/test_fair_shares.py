"""However many peers one user has, and whatever they do, root is answered, and in front of what they wait for."""

import os
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path

import pytest

from cmgr.service.door.client import follow, get
from cmgr.service.door.control import ControlServer
from cmgr.service.door.http.reception import STREAMS
from cmgr.service.door.routes import LINES, Request, Route, Stream
from tests.security.fuzz import SECTION
from tests.security.peers import GROUP, KINDS, PEERS, crowd
from tests.support.figures import Figures
from tests.support.waiting import eventually

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become somebody else")

QUESTIONS = 18


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


@pytest.mark.parametrize("kind", KINDS)
def test_root_is_answered_beside_a_hundred_peers_of_one_user(path: Path, figures: Figures, kind: str) -> None:
    with crowd(path, kind, "much" if "deaf" in kind else "status"):
        for _ in range(QUESTIONS):
            assert get(path, "status") == {"uid": 0}
    figures.add(SECTION, "questions of root answered beside a hundred peers of one user", QUESTIONS)


def test_root_is_answered_before_whatever_takes_long(path: Path, answers: Answers, figures: Figures) -> None:
    with crowd(path, "quick", "held"):
        eventually(lambda: 4242 in answers.begun)
        for _ in range(QUESTIONS):
            assert get(path, "status") == {"uid": 0}
        assert answers.order == [0] * QUESTIONS
        answers.released.set()
        eventually(lambda: answers.order.count(4242) >= PEERS, why="nobody's question is lost")
    figures.add(SECTION, "questions of root answered beside a hundred peers of one user", QUESTIONS)


def test_root_follows_events_where_another_has_taken_all_places(path: Path) -> None:
    with crowd(path, "quick", "events", STREAMS):
        reader = follow(path, "events")
        assert next(reader) is None, "it follows"
        reader.close()
