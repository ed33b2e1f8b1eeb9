"""The page's one reader of the door: what is new is asked for at once."""

import asyncio
import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cmgr.model.values.messages.commands import Note, NoteKind
from cmgr.service.door.control import ControlServer
from cmgr.service.door.routes import LINES, Answer, Request, Route, Stream
from cmgr.web import live
from cmgr.web.door import Door
from tests.cli import scenes
from tests.support.door import NO_GROUP, WELL, Books, table
from tests.support.waiting import PATIENCE
from tests.web.scene import AT

LINE = Note(AT, NoteKind.FAULT, "chip 1 reports 80E24E00")


class Still:
    """A door behind which nothing ever changes. It counts who looks."""

    def __init__(self, path: Path) -> None:
        def stream(_request: Request) -> Answer:
            return Stream()

        self.looks = 0
        routes = (
            Route("GET", "/v1/status", "status", lambda _request: {"at": ""}, "", tag=self._tag),
            Route("GET", "/v1/chips", "chips", lambda _request: {"chips": []}, ""),
            Route("GET", "/v1/events", "events", stream, "", kind=LINES),
        )
        self.server = ControlServer(path, routes, group="no-such-group-of-cmgr")
        self.server.start()

    def _tag(self) -> str:
        self.looks += 1
        return "always the same"

    async def looked_at(self, more_than: int) -> None:
        while self.looks <= more_than:
            await asyncio.sleep(0.01)

    def close(self) -> None:
        self.server.close()


@pytest.fixture
def still(tmp_path: Path) -> Iterator[Still]:
    with closing(Still(tmp_path / "door.sock")) as made:
        yield made


def test_news_is_asked_for_at_once_while_the_looks_before_it_found_nothing_new(
    still: Still, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def watch() -> None:
        watching = live.Live(Door(str(tmp_path / "door.sock"))).watch()
        while b"event: status" not in await anext(watching):
            pass
        while not still.server.followed():
            await asyncio.sleep(0.01)
        await still.looked_at(1)
        # From here on only news is a reason to look, and a pause after a look would last for ever.
        monkeypatch.setattr(live, "LOOK_SECONDS", 2 * PATIENCE)
        monkeypatch.setattr(live, "LEAST_SECONDS", 2 * PATIENCE)
        for _ in range(3):
            before = still.looks
            still.server.tell([LINE])
            await still.looked_at(before)
        await watching.aclose()  # type: ignore[attr-defined]  # It is a generator.

    # On a thread of its own: playwright has a loop on this one.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, asyncio.wait_for(watch(), PATIENCE)).result()


def test_that_the_service_has_ended_is_heard_before_the_next_look(
    still: Still, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def watch() -> None:
        watching = live.Live(Door(str(tmp_path / "door.sock"))).watch()
        while not still.server.followed():
            await anext(watching)
        await still.looked_at(1)
        monkeypatch.setattr(live, "LOOK_SECONDS", 2 * PATIENCE)
        await still.looked_at(still.looks)
        still.close()
        while b"event: away" not in await anext(watching):
            pass
        await watching.aclose()  # type: ignore[attr-defined]  # It is a generator.

    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, asyncio.wait_for(watch(), PATIENCE)).result()


def watched(door: Path, language: str, name: str) -> Any:
    """Return what the first event of this name says to one who watches in this language."""
    head = f"event: {name}\ndata: ".encode()

    async def watch() -> bytes:
        watching, piece = live.Live(Door(str(door)), language).watch(), b""
        while head not in piece:
            piece = await anext(watching)
        await watching.aclose()  # type: ignore[attr-defined]  # It is a generator.
        return piece

    with ThreadPoolExecutor(1) as pool:
        piece = pool.submit(asyncio.run, asyncio.wait_for(watch(), PATIENCE)).result()
    return json.loads(piece.partition(head)[2].partition(b"\n")[0])


def test_a_service_that_does_not_answer_is_told_as_away_within_5_s_with_since_when(tmp_path: Path) -> None:
    assert live.LOOK_SECONDS + live.ANSWER_SECONDS < 5
    with socket.socket(socket.AF_UNIX) as deaf:
        deaf.bind(str(tmp_path / "deaf.sock"))
        deaf.listen()
        told = watched(tmp_path / "deaf.sock", "en", "away")
    assert told["error"] == "cannot hear from the service: it does not answer"
    assert datetime.fromisoformat(told["since"]) < datetime.now(UTC)


def test_a_service_that_knows_no_languages_is_shown_in_english(still: Still, tmp_path: Path) -> None:
    assert watched(tmp_path / "door.sock", "zh", "status") == {"at": ""}


def test_that_the_service_is_away_is_said_in_the_language_of_whoever_watches(tmp_path: Path) -> None:
    for language, error in (("en", "cannot reach the service"), ("zh", "无法连接服务")):
        assert watched(tmp_path / "nobody.sock", language, "away")["error"] == error


@pytest.mark.parametrize(
    ("lang", "told"), [("en", "ring 0 is in an episode (waiting)"), ("zh", "环 0 处于恢复过程（等待）")]
)
def test_each_language_has_a_picture_of_its_own(tmp_path: Path, lang: str, told: str) -> None:
    server = ControlServer(tmp_path / "door.sock", table(WELL, Books(scenes.recovering)), group=NO_GROUP)
    server.start()
    with closing(server):
        status = watched(tmp_path / "door.sock", lang, "status")
    assert told in [trouble["text"] for trouble in status["troubles"]]
