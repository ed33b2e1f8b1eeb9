"""The names of strangers do not reach a terminal as anything but text, whichever command shows it."""

import json
import os
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given

from cmgr.cli import main
from cmgr.cli.text import out
from cmgr.model.values.chips import ChipId, ChipReport, Process
from cmgr.model.values.faults import Isolation
from cmgr.model.values.holds import Attempt, HoldState
from cmgr.model.values.messages.commands import Note, NoteKind
from cmgr.model.values.node import Node, RuntimeState
from cmgr.service.door.routes import Request
from cmgr.store import open_store
from cmgr.view import status as view
from tests.cli.scenes import NOW, SERVICE
from tests.security.fuzz import NASTY, SECTION, texts, tries
from tests.support.door import door
from tests.support.figures import Figures
from tests.support.picture import T0, faulty, held, hold, in_episode, isolated, key, machine

COMMANDS = (["status"], ["chips"], ["faults"], ["faults", "--all"], ["history"], ["history", "7"])


def node(nasty: str) -> Node:
    """Return a machine on which everything that is not cmgr's own word is this text."""
    node = isolated(held(faulty(in_episode(machine(), 0), 0), hold("a", HoldState.DOWN, 0, 1)), 2)
    promise = replace(node.holds[key("a")], name=nasty, state=HoldState.FAILED, attempt=Attempt(error=nasty, tries=5))
    down = replace(node.containers[key("a")], name=nasty, warnings=(nasty, nasty), restart_policy=nasty)
    busy = ChipReport(ChipId(1), processes=(Process(4242, nasty, 1, nasty),))
    silent = ChipReport(ChipId(3), error=nasty)
    return replace(
        node,
        holds={key("a"): promise},
        containers={**node.containers, key("a"): down},
        reports={**node.reports, ChipId(1): busy, ChipId(3): silent},
        isolations={ChipId(2): Isolation(ChipId(2), T0, "level", nasty)},
        runtimes={"docker": RuntimeState("docker", why_down=nasty)},
        rings={number: replace(ring, reason=nasty) for number, ring in node.rings.items()},
    )


def notes(nasty: str) -> tuple[Note, ...]:
    kinds = (NoteKind.OPENED, NoteKind.ACTION, NoteKind.WARNING, NoteKind.CLOSED)
    return tuple(Note(T0, kind, nasty, episode=7, container=key("a"), outcome=nasty) for kind in kinds)


class Home:
    """Where the commands look."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self._capture = capture

    def shown(self, *words: str) -> tuple[int, str]:
        """Return the exit code and what a command wrote; all of it must be harmless."""
        place = ("--state-dir", str(self.folder / "state"), "--socket", str(self.folder / "s"))
        self._capture.readouterr()
        code = main([*words, *place])
        told, remarks = self._capture.readouterr()
        harmless(told + remarks)
        return code, told


@pytest.fixture
def home(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Home:
    for name in [name for name in os.environ if name.startswith("CMGR_")]:
        monkeypatch.delenv(name)
    monkeypatch.setattr("cmgr.config.load.DEFAULT_PATH", str(tmp_path / "none.toml"))
    return Home(tmp_path, capsys)


def harmless(text: str) -> None:
    assert all(c.isprintable() or c == "\n" for c in text), ascii(text)


@pytest.mark.parametrize("nasty", [n for n in NASTY if n.encode("utf-8", "replace").decode() == n])
def test_what_the_database_tells_is_text_and_nothing_else(home: Home, nasty: str, figures: Figures) -> None:
    with closing(open_store(home.folder / "state" / "cmgr.db")) as store:
        store.save(node(nasty), (), notes(nasty))
    for words in COMMANDS:
        assert home.shown(*words)[0] == 0
        _, text = home.shown(*words, "--json")
        json.loads(text)
        figures.add(SECTION, "hostile names shown")


@pytest.mark.parametrize("nasty", NASTY)
def test_what_the_service_tells_is_text_and_nothing_else(home: Home, nasty: str, figures: Figures) -> None:
    # A service that cleans nothing: whatever answers on the socket, the command line keeps the terminal whole.
    shown = node(nasty)
    status = view.status(shown, SERVICE, NOW)
    rows = status["containers"]
    assert isinstance(rows, list)
    told: Mapping[str, Mapping[str, object]] = {
        "status": {**status, "containers": [{**row, "name": nasty, "reason": nasty} for row in rows]},
        "chips": {"chips": view.chips(shown)},
        "faults": {**view.faults(shown)},
    }

    def answer(request: Request) -> Mapping[str, object]:
        return told[request.do]

    server = door(home.folder / "s", answer)
    server.start()
    with closing(server):
        for words in (["status"], ["chips"], ["faults"]):
            for more in ([], ["--json"]):
                assert home.shown(*words, *more)[0] == 0
                figures.add(SECTION, "hostile names shown")


@pytest.mark.parametrize("nasty", [n for n in NASTY if "\0" not in n])
def test_what_is_typed_comes_back_as_text(home: Home, nasty: str) -> None:
    for words in (["explain", nasty], ["history", nasty], ["resume", nasty], ["status", "--config", nasty], [nasty]):
        assert home.shown(*words)[0] in (0, 1, 2, 3, 4)


@tries(200)
@given(text=texts)
def test_nothing_is_written_but_text(capsys: pytest.CaptureFixture[str], figures: Figures, text: str) -> None:
    out.lines([text])
    out.headline(text, well=True)
    out.remark(text)
    out.error(text)
    out.as_json({text: [text]})
    shown = capsys.readouterr()
    harmless(shown.out + shown.err)
    assert json.loads(_json_of(shown.out)) == {text: [text]}
    figures.add(SECTION, "hostile texts written")


def _json_of(text: str) -> str:
    return text[text.index("\n", text.index("\n") + 1) + 1 :]
