"""`--watch` of chips, faults, groups and the fleet: a table that stays up to date."""

import json
import os
import pty
import signal
from collections.abc import Iterator, Mapping
from contextlib import closing

import pytest

from cmgr.model.values.node import Node
from cmgr.service.door.routes import Request
from cmgr.view import status as view
from cmgr.view.groups import groups
from tests.cli.conftest import Home
from tests.cli.look.watching import watching
from tests.cli.scenes import recovering
from tests.support.door import door
from tests.support.picture import machine
from tests.support.waiting import PATIENCE, rest


class Shown:
    """A service whose tables a test changes."""

    def __init__(self) -> None:
        self.node: Node = machine()

    def __call__(self, request: Request) -> Mapping[str, object]:
        known: Mapping[str, Mapping[str, object]] = {
            "chips": {"chips": view.chips(self.node)},
            "faults": view.faults(self.node),
            "groups": {"groups": groups(self.node)},
            "fleet": {"name": "", "engine": None, "appliances": [], "remarks": []},
        }
        return known[request.do]


@pytest.fixture
def shown(home: Home) -> Iterator[Shown]:
    picture = Shown()
    server = door(home.socket, picture)
    server.start()
    with closing(server):
        yield picture


def test_in_a_pipe_the_table_comes_again_when_it_changes(home: Home, shown: Shown) -> None:
    with watching(home, "chips", "0", "--watch", "--no-headers") as running:
        assert running.stdout is not None
        assert "healthy" in running.stdout.readline()
        shown.node = recovering()
        assert "80E24E00" in running.stdout.readline()
        running.send_signal(signal.SIGINT)
        out, err = rest(running)
    assert (running.returncode, "healthy" in out, err) == (0, False, "")


def test_as_json_each_change_is_a_line(home: Home, shown: Shown) -> None:
    with watching(home, "faults", "-w", "--json") as running:
        assert running.stdout is not None
        assert json.loads(running.stdout.readline())["faults"] == []
        shown.node = recovering()
        assert json.loads(running.stdout.readline())["faults"][0]["code"] == "80E24E00"


@pytest.mark.usefixtures("shown")
@pytest.mark.parametrize("command", ["chips", "faults", "group", "fleet"])
def test_on_a_terminal_it_is_drawn_until_ctrl_c(home: Home, command: str) -> None:
    ours, theirs = pty.openpty()
    with watching(home, command, "--watch", stdout=theirs) as running:
        os.close(theirs)
        seen = b""
        while b"Ctrl-C ends it" not in seen:
            seen += os.read(ours, 65536)
        assert seen.startswith(b"\x1b[H\x1b[J")
        running.send_signal(signal.SIGINT)
        assert running.wait(PATIENCE) == 0
    os.close(ours)


@pytest.mark.parametrize(
    "words",
    [
        ("chips", "-w", "-o", "name"),
        ("chips", "-w", "--available"),
        ("fleet", "join", "x", "-w"),
        ("group", "cancel", "x", "-w"),
    ],
)
def test_what_does_not_go_together_is_wrong_usage(home: Home, words: tuple[str, ...]) -> None:
    assert home.here(*words).code == 2


def test_a_table_of_nobody_ends(home: Home) -> None:
    with watching(home, "group", "--watch") as running:
        assert running.wait(PATIENCE) == 3
