"""`cmgr events`: a line for each decision as it is made, until somebody or something ends it."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace

import pytest

from cmgr.model.values.messages.commands import Note
from cmgr.sentences.sentence import CHINESE, in_language, say
from cmgr.service.door.control import ControlServer
from cmgr.service.door.routes import LINES, Route, Stream
from tests.cli.conftest import Home, answers
from tests.cli.scenes import NOTES, recovering
from tests.support.door import NO_GROUP
from tests.support.waiting import PATIENCE, eventually, rest


@pytest.fixture
def server(home: Home) -> Iterator[ControlServer]:
    made = ControlServer(
        home.socket, [Route("GET", "/v1/events", "events", lambda _: Stream(), "", kind=LINES)], group=NO_GROUP
    )
    made.start()
    with closing(made):
        yield made


@contextmanager
def following(home: Home, *words: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-m", "cmgr", "events", *words, "--config", str(home.config)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8") as running:
        try:
            yield running
        finally:
            running.kill()


def heard(running: subprocess.Popen[str], server: ControlServer, notes: list[Note]) -> list[str]:
    """Tell these as soon as somebody follows, and return a line for each."""
    eventually(server.followed)
    server.tell(notes)
    assert running.stdout is not None
    return [running.stdout.readline() for _ in notes]


def test_each_line_says_when_what_and_of_which_episode(home: Home, server: ControlServer) -> None:
    with following(home) as running:
        lines = heard(running, server, list(NOTES))
        running.send_signal(signal.SIGINT)
        assert rest(running) == ("", "")
    assert running.returncode == 0
    for line, note in zip(lines, NOTES, strict=True):
        of = f"episode {note.episode}: " if note.episode else ""
        assert line.endswith(f" {note.kind}: {of}{note.text}\n")


def test_who_reads_chinese_is_told_in_chinese_what_has_a_message(
    home: Home, server: ControlServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    said = replace(NOTES[0], text=say("chip.is-isolated", chip=3, reason="no such device"))
    with following(home) as running:
        told, foreign = heard(running, server, [said, NOTES[0]])
    assert told.endswith(f"：恢复过程 {said.episode}：{in_language(said.text, CHINESE)}\n")
    assert foreign.endswith(f"：恢复过程 {said.episode}：{NOTES[0].text}\n")


def test_as_json_each_line_is_a_row_of_history(home: Home, server: ControlServer) -> None:
    with following(home, "--json") as running:
        rows = [json.loads(line) for line in heard(running, server, list(NOTES))]
    assert [row["text"] for row in rows] == [note.text for note in NOTES]
    about = {"kind", "text", "chip", "container", "card", "device", "code", "level", "handling", "assertion"}
    assert set(rows[0]) == {"at", "ring", "episode", *about}


def test_it_ends_when_nobody_reads_any_more_though_nothing_happens(home: Home, server: ControlServer) -> None:
    with following(home) as running:
        heard(running, server, list(NOTES[:1]))
        assert running.stdout is not None
        running.stdout.close()
        assert running.wait(PATIENCE) in (0, 1)
        assert running.stderr is not None
        assert running.stderr.read() == ""


def test_it_ends_with_3_when_the_service_ends_or_is_not_there(home: Home, server: ControlServer) -> None:
    with following(home) as running:
        heard(running, server, list(NOTES[:1]))
        server.close()
        out, err = rest(running)
    assert (running.returncode, out) == (3, "")
    assert err.startswith("cmgr: cannot talk to the service")
    assert home.here("events").code == 3


def test_only_the_lines_that_concern_what_is_asked_for_are_shown(home: Home) -> None:
    shown = answers(recovering(), [])
    made = ControlServer(
        home.socket,
        [
            Route("GET", "/v1/events", "events", lambda _: Stream(), "", kind=LINES),
            Route("GET", "/v1/status", "status", shown, ""),
        ],
        group=NO_GROUP,
    )
    made.start()
    with closing(made):
        for words, texts in (
            (("--container", "a"), [NOTES[1].text, NOTES[2].text]),
            (("--chip", "3"), [NOTES[5].text]),
        ):
            with following(home, *words) as running:
                eventually(made.followed)
                made.tell(list(NOTES))
                assert running.stdout is not None
                lines = [running.stdout.readline() for _ in texts]
                running.send_signal(signal.SIGINT)
                assert rest(running) == ("", "")
            assert [line.endswith(f"{text}\n") for line, text in zip(lines, texts, strict=True)] == [True] * len(texts)
        assert home.here("events", "--container", "nobody").code == 1
