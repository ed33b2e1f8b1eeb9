"""`cmgr status --watch`: what it writes, when, and how it ends."""

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from datetime import UTC

import pytest

from cmgr.model.values.node import Node
from cmgr.model.values.troubles import Trouble, TroubleKind
from cmgr.service.door.routes import Request
from cmgr.view import status as view
from cmgr.view.text import reading, texts
from cmgr.view.text.render import Face
from tests.cli.conftest import Home
from tests.cli.look.watching import watching
from tests.cli.scenes import NOW, SERVICE, in_need, recovering, told
from tests.support.door import door
from tests.support.picture import key, machine, running
from tests.support.waiting import PATIENCE, rest


class Shown:
    """A service whose picture a test changes."""

    def __init__(self) -> None:
        self.node = machine()

    def __call__(self, request: Request) -> Mapping[str, object]:
        assert request.do == "status"
        return view.status(self.node, SERVICE, NOW)


@pytest.fixture
def shown(home: Home) -> Iterator[Shown]:
    picture = Shown()
    server = door(home.socket, picture)
    server.start()
    with closing(server):
        yield picture


def line(running: subprocess.Popen[str]) -> str:
    assert running.stdout is not None
    return running.stdout.readline().partition(" ")[2].strip()


def test_in_a_pipe_it_writes_a_line_for_each_change_and_nothing_else(home: Home, shown: Shown) -> None:
    with watching(home, "status", "--watch") as running:
        assert line(running) == "cmgr: ready"
        shown.node = recovering()
        assert line(running) == "ring 0: waiting: the reset is due in 60 s"
        assert line(running) == "container a: paused: ring 0 is in an episode (waiting)"
        assert line(running) == "chip 0: faulty: fault 80E24E00 (RestartNPU)"
        shown.node = machine()
        assert [line(running) for _ in range(3)] == [
            f"{subject}: {reading.WELL}" for subject in ("ring 0", "container a", "chip 0")
        ]
        running.send_signal(signal.SIGINT)
        out, err = rest(running)
    assert (running.returncode, out, err) == (0, "", "")


def test_as_json_each_change_is_one_line(home: Home, shown: Shown) -> None:
    with watching(home, "status", "--watch", "--json") as running:
        assert running.stdout is not None
        assert json.loads(running.stdout.readline())["chips"][0]["healthy"]
        shown.node = recovering()
        assert not json.loads(running.stdout.readline())["chips"][0]["healthy"]


@pytest.mark.usefixtures("shown")
def test_it_ends_when_nobody_reads_any_more_though_nothing_changes(home: Home) -> None:
    with watching(home, "status", "--watch") as running:
        assert line(running) == "cmgr: ready"
        assert running.stdout is not None
        running.stdout.close()
        assert running.wait(PATIENCE) in (0, 1)
        assert running.stderr is not None
        assert running.stderr.read() == ""


def test_a_service_that_goes_away_is_news_and_no_end(home: Home) -> None:
    picture = Shown()
    server = door(home.socket, picture)
    server.start()
    with watching(home, "status", "--watch") as running:
        assert line(running) == "cmgr: ready"
        server.close()
        assert line(running) == "cmgr: not to be reached"


def test_of_a_service_that_goes_away_nothing_is_called_over(home: Home) -> None:
    picture = Shown()
    picture.node = recovering()
    server = door(home.socket, picture)
    server.start()
    with watching(home, "status", "--watch") as running:
        told = [line(running)]
        while not told[-1].startswith("chip 0"):
            told.append(line(running))
        server.close()
        assert line(running) == "cmgr: not to be reached"
        again = door(home.socket, picture)
        again.start()
        with closing(again):
            assert line(running) == "cmgr: ready"


def test_without_service_and_database_there_is_nothing_to_watch(home: Home) -> None:
    with watching(home, "status", "--watch") as running:
        assert running.wait(PATIENCE) == 3


def test_on_a_terminal_the_whole_picture_is_redrawn_and_ctrl_c_ends_it(home: Home, shown: Shown) -> None:
    ours, theirs = pty.openpty()
    with watching(home, "status", "--watch", stdout=theirs) as running:
        os.close(theirs)
        seen = b""
        while b"Ctrl-C ends it" not in seen:
            seen += os.read(ours, 65536)
        assert seen.startswith(b"\x1b[H\x1b[J\x1b[1;32mall is well")
        shown.node = recovering()
        while b"\x1b[1;31mnot well: container a is down" not in seen:
            seen += os.read(ours, 65536)
        running.send_signal(signal.SIGINT)
        assert running.wait(PATIENCE) == 0
    os.close(ours)


def with_many_containers(node: Node) -> Node:
    return replace(node, containers={**node.containers, **{key(f"c{n}"): running(f"c{n}", 3) for n in range(60)}})


def test_on_a_small_terminal_what_matters_stays_in_sight() -> None:
    page = texts.Page(Face(NOW, UTC))
    assert texts.screen(told(recovering()), page, 20) == texts.status(told(recovering()), page)
    many = told(with_many_containers(recovering()))
    small = texts.screen(many, page, 20)
    assert len(small) <= 20
    assert "61 containers running, not shown here" in small
    assert any(line.startswith("a ") for line in small)
    tiny = texts.screen(many, page, 6)
    assert len(tiny) == 6
    assert tiny[-1].endswith(" more lines: cmgr status")


def test_what_to_do_stays_in_sight_however_small_the_terminal() -> None:
    page = texts.Page(Face(NOW, UTC))
    needy = told(with_many_containers(in_need()))
    whole = texts.screen(needy, page, 200)
    to_do = whole[whole.index("what to do:") :]
    assert len(to_do) > 3
    for height in range(len(to_do) + 1, 40):
        assert texts.screen(needy, page, height)[: len(to_do)] == to_do


def test_a_line_that_a_terminal_breaks_counts_as_several() -> None:
    long = replace(machine(), containers={key("x" * 200): running("x" * 200, 1)})
    page = texts.Page(Face(NOW, UTC))
    whole = texts.status(told(long), page)
    assert texts.screen(told(long), page, len(whole) + 2) == whole
    assert texts.screen(told(long), page, len(whole) + 1) != whole


def test_what_is_said_of_each_thing_names_trouble_runtime_and_container() -> None:
    found = reading.subjects(
        told(
            in_need(),
            replace(
                SERVICE,
                troubles=(Trouble(TroubleKind.DATABASE, "", "the database cannot be written", "full"),),
                state="degraded",
            ),
        )
    )
    assert found == {
        "cmgr": "degraded",
        "trouble": "cannot reach docker: connection refused; the database cannot be written: full",
        "container a": "failed: start failed 5 times: no such image: llm:7b",
        "container b": "paused: chip 2 is isolated: fault 8C084E00",
        "chip 2": "isolated: fault 8C084E00",
    }
