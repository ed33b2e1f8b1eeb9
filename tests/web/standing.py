"""The page to a machine that stands still; `python -m tests.web.standing` takes the pictures of docs/web.md anew."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tests.running import reaper
from tests.support.browser import Scheme, chromium, opened
from tests.support.page import Web
from tests.support.waiting import PATIENCE
from tests.web.scene import AT, Scene, door

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"

SHOWN: tuple[tuple[str, str, str, int, Scheme, str], ...] = (
    ("web-recovery.png", "busy", "", 1200, "light", "en-GB"),
    ("web-episode.png", "busy", "episodes/17", 1200, "dark", "en-GB"),
    ("web-trouble.png", "trouble", "", 1200, "light", "en-GB"),
    ("web-chinese.png", "well", "", 1200, "dark", "zh-CN"),
)
"""Each picture of docs/web.md: its file, scene, place, width, colours and language."""


ROWS = ".title ~ .card tbody tr"
MARKS = {"": "aside > .card:nth-child(3)", "episodes": "svg.lanes", "history": ROWS, "faults": ".title ~ .card .plot",
         "chips": ".title", "services": ".title", "fleet": ".title", "slots": ROWS, "groups": ROWS}  # fmt: skip
"""Found as soon as the view is there."""


@contextmanager
def standing(name: str) -> Iterator[Web]:
    folder = Path(tempfile.mkdtemp(prefix="cmgr-still-"))
    made = door(folder / "door.sock", Scene(name))
    made.start()
    web = Web(folder / "door.sock", folder / "log")
    web.start()
    with closing(made), closing(web):
        yield web
    shutil.rmtree(folder)


def visit(browser: "Browser", web: Web, place: str, width: int, scheme: Scheme, locale: str = "en-GB") -> "Page":
    """Return the page at this place of it, with a clock that stands still."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, locale=locale, timezone_id="UTC",
        reduced_motion="reduce",
    )  # fmt: skip
    context.set_default_timeout(1000 * PATIENCE)
    page = context.new_page()
    page.clock.set_fixed_time(AT)
    page.goto(f"http://{web.address}/#t=any")
    page.wait_for_selector(".hero")
    go(page, place)
    return page


def go(page: "Page", place: str) -> None:
    """Go to this place, and wait until all of it is there."""
    page.evaluate("place => { location.hash = `#/${place}` }", place)
    # Readings come one after the other.
    page.wait_for_selector(MARKS.get(place.partition("?")[0].partition("/")[0], ".plot"))
    if "code=" in place:
        page.wait_for_selector(".does")


def main() -> None:
    program = chromium()
    assert program is not None, "chromium is there: sh tests/support/install.sh"
    with opened(program) as browser:
        for file, scene, place, width, scheme, locale in SHOWN:
            with standing(scene) as web:
                visit(browser, web, place, width, scheme, locale).screenshot(path=PICTURES / file, full_page=True)


if __name__ == "__main__":
    reaper.guarded()
    main()
