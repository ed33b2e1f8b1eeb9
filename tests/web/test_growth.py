"""A page that stays open does not grow, nor does its process: half an hour of pictures and lines, in seconds."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.support.browser import Told, heap
from tests.support.page import Web
from tests.support.service import resident
from tests.support.waiting import PATIENCE
from tests.web.scene import AT, Doc, Scene
from tests.web.standing import standing

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

pytestmark = pytest.mark.alone

PART = 5
"""Minutes of which one connection tells; then it breaks, as connections do, and the page makes another."""

MOST_OF_PAGE = 1.5e6
"""Bytes that half an hour may add to the page: an hour of readings is kept on purpose, some 100 kB of 8 chips."""

MOST_OF_PROCESS = 3e6 / 1024
"""KiB that a thousand visitors may add to the process."""


def news(scene: Scene, part: int) -> str:
    """Return as much of a stream as a service tells in five minutes in which something happens each second."""
    pieces: list[tuple[str, Doc]] = []
    for second in range(PART * 60):
        moment = part * PART * 60 + second
        picture = scene.status()
        picture["at"] = AT.isoformat()
        picture["rings"][0]["reason"] = f"it has waited for {moment} s"
        pieces.append(("status", picture))
        line = {"at": AT.isoformat(), "kind": "result", "text": f"line {moment}", "chip": 1, "container": None}
        pieces.append(("note", {**line, "ring": 0, "episode": 16}))
        if second % 10 == 0:
            pieces.append(("chips", {"chips": scene.chips()}))
    return "".join(f"event: {name}\ndata: {json.dumps(value)}\n\n" for name, value in pieces)


@pytest.fixture
def still() -> Iterator[Web]:
    with standing("busy") as web:
        yield web


def test_a_page_that_is_open_for_half_an_hour_has_not_grown(browser: "Browser", still: Web) -> None:
    context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    page = context.new_page()
    told = Told(page)
    given, wanted, asked = 0, 1, list["Route"]()

    def answer() -> None:
        """Tell the next part once the one before was looked at: the page asks for more as soon as it has drawn it."""
        nonlocal given
        if asked and given < wanted:
            given += 1
            asked.pop().fulfill(status=200, content_type="text/event-stream", body=news(Scene("busy"), given))

    def ask(route: "Route") -> None:
        asked.append(route)
        answer()

    page.route("**/api/events", ask)
    page.goto(f"http://{still.address}/#t=any")
    page.wait_for_selector(".countdown")
    heaps = []
    for minutes in range(PART, 7 * PART, PART):
        # The reason of the last second of a part: all that came before it was drawn.
        last = (minutes // PART + 1) * PART * 60 - 1
        page.get_by_text(f"it has waited for {last} s").wait_for(timeout=PATIENCE * 1000)
        heaps.append(heap(page))
        wanted += 1
        answer()
    assert max(heaps[1:]) - heaps[0] <= MOST_OF_PAGE, heaps
    assert told.complaints == []
    context.close()


def test_a_process_that_a_thousand_have_visited_has_not_grown(still: Web) -> None:
    def visits(count: int) -> int:
        for _ in range(count):
            secret = still.ask("POST", "/api/enter", {"ticket": "any"}).value["session"]
            said = still.ask("GET", "/api/faults?since=90d", Authorization=f"Bearer {secret}")
            assert said.status == 200
            still.ask("POST", "/api/leave", {}, Authorization=f"Bearer {secret}")
        assert still.process is not None
        return resident(still.process.pid)

    before = visits(100)
    assert visits(1000) - before <= MOST_OF_PROCESS
