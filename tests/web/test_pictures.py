"""Pictures of the page as they should be, at three widths, by day and by night (CMGR_REWRITE_GOLDEN=1: anew)."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.browser import Scheme, difference
from tests.web.standing import standing, visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.alone

GOLDEN = Path(__file__).parents[1] / "golden" / "web"
TOLERANCE = 0.02
"""The part of the pixels that may be others: another version of the browser or of a font draws a little differently."""

WIDTHS: tuple[tuple[int, Scheme], ...] = (
    (360, "light"), (360, "dark"), (1024, "light"), (1024, "dark"), (1920, "light"), (1920, "dark"),
)  # fmt: skip


@pytest.mark.parametrize(("width", "scheme"), WIDTHS)
@pytest.mark.parametrize("place", ["", "episodes/17"], ids=["now", "episode"])
def test_the_page_looks_as_it_should(browser: "Browser", place: str, width: int, scheme: Scheme) -> None:
    golden = GOLDEN / f"{'episode' if place else 'now'}-{width}-{scheme}.png"
    with standing("busy") as web:
        page = visit(browser, web, place, width, scheme)
        # The fleet and the groups are read on their own, and perhaps later.
        page.wait_for_selector("nav a[href='#/fleet']", state="attached")
        page.wait_for_selector(".lanes" if place else ".others p:nth-of-type(2)")
        seen = page.screenshot(full_page=True)
        page.context.close()
    if os.environ.get("CMGR_REWRITE_GOLDEN"):
        GOLDEN.mkdir(exist_ok=True)
        golden.write_bytes(seen)
        return
    blank = browser.new_page()
    found = difference(blank, golden.read_bytes(), seen)
    blank.close()
    assert isinstance(found, float | int), found
    assert found <= TOLERANCE


CUT = """[...document.querySelectorAll(".tile *")].filter((part) => getComputedStyle(part).overflow !== "visible"
  && !part.classList.contains("unseen") && part.scrollWidth > part.clientWidth).map((part) => part.textContent)"""
WIDER = """[...document.querySelectorAll(".tile")].filter((tile) => tile.scrollWidth > tile.clientWidth)
  .map((tile) => tile.textContent)"""


@pytest.mark.parametrize("scene", ["busy", "trouble"])
def test_no_word_on_a_chip_is_cut(browser: "Browser", scene: str) -> None:
    with standing(scene) as web:
        for width in (320, 768, 1100, 1440, 3840):
            page = visit(browser, web, "", width, "light")
            assert page.locator(".tile").count() == 8
            assert page.evaluate(CUT) == [], width
            assert page.evaluate(WIDER) == [], width
            page.context.close()


def test_a_difference_is_noticed(browser: "Browser") -> None:
    blank = browser.new_page()
    one, two = (GOLDEN / "now-360-light.png").read_bytes(), (GOLDEN / "now-360-dark.png").read_bytes()
    assert difference(blank, one, one) == 0
    found = difference(blank, one, two)
    assert not isinstance(found, str)
    assert found > 0.5
    assert isinstance(difference(blank, one, (GOLDEN / "now-1024-light.png").read_bytes()), str)
    blank.close()
