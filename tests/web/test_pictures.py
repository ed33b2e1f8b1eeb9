"""Pictures of the page as they should be: narrow and wide, by day and by night, in both languages, of a small and of a
full machine (CMGR_REWRITE_GOLDEN=1: anew).
"""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.browser import Scheme, difference
from tests.web.standing import standing, visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, FloatRect

pytestmark = pytest.mark.alone

GOLDEN = Path(__file__).parents[1] / "golden" / "web"
MOST_BYTES = 10_000_000
TOLERANCE = 0.02
"""The part of the pixels that may be others: another version of the browser or of a font draws a little differently."""

Case = tuple[str, str, str, int, Scheme, str]

CASES: tuple[Case, ...] = (
    ("now", "", "busy", 360, "light", "en-GB"),
    ("now", "", "busy", 1280, "dark", "en-GB"),
    ("now", "", "busy", 2560, "light", "zh-CN"),
    ("now", "", "full", 360, "dark", "zh-CN"),
    ("now", "", "full", 1280, "light", "en-GB"),
    ("now", "", "full", 2560, "dark", "en-GB"),
    ("services", "services", "trouble", 360, "dark", "en-GB"),
    ("services", "services", "trouble", 1280, "light", "zh-CN"),
    ("services", "services", "full", 360, "light", "zh-CN"),
    ("services", "services", "full", 1280, "dark", "en-GB"),
    ("services", "services", "full", 2560, "light", "en-GB"),
    ("chip", "chips/1", "busy", 360, "light", "zh-CN"),
    ("chip", "chips/6", "trouble", 1280, "dark", "en-GB"),
    ("chip", "chips/6", "full", 2560, "light", "en-GB"),
    ("episode", "episodes/17", "busy", 360, "dark", "zh-CN"),
    ("episode", "episodes/17", "busy", 1280, "light", "en-GB"),
    ("episode", "episodes/17", "busy", 2560, "dark", "en-GB"),
    ("fleet", "fleet", "busy", 360, "light", "en-GB"),
    ("fleet", "fleet", "busy", 1280, "dark", "zh-CN"),
    ("fleet", "fleet", "busy", 2560, "light", "en-GB"),
)
"""Of each view its name, place and scene, and how it is seen: at each width, in both colours, in both languages.
Others would repeat these.
"""

TALLEST = 2000
"""Of a picture that is taller its upper part is enough: below are more rows of the same kind."""


def file_of(case: Case) -> Path:
    name, _, scene, width, scheme, locale = case
    return GOLDEN / f"{name}-{scene}-{width}-{scheme}-{locale[:2]}.png"


@pytest.mark.parametrize("case", CASES, ids=lambda case: file_of(case).stem)
def test_the_page_looks_as_it_should(browser: "Browser", case: Case) -> None:
    golden, (_, place, scene, width, scheme, locale) = file_of(case), case
    with standing(scene) as web:
        page = visit(browser, web, place, width, scheme, locale)
        if scene == "busy":
            # The fleet and the groups are read on their own, and perhaps later.
            page.wait_for_selector("nav a[href='#/fleet']", state="attached")
            page.wait_for_selector({"": ".others p:nth-of-type(2)", "episodes/17": ".lanes"}.get(place, ".title"))
        height = min(TALLEST, page.evaluate("document.documentElement.scrollHeight"))
        clip: FloatRect = {"x": 0, "y": 0, "width": width, "height": height}
        seen = page.screenshot(full_page=True, clip=clip)
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


def test_the_pictures_are_those_of_the_cases_and_not_too_large() -> None:
    there = set(GOLDEN.glob("*.png"))
    assert there == set(map(file_of, CASES))
    assert sum(path.stat().st_size for path in there) <= MOST_BYTES


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
    narrow, dark = (file_of(CASES[n]).read_bytes() for n in (0, 1))
    assert difference(blank, narrow, narrow) == 0
    assert isinstance(difference(blank, narrow, dark), str), "they are not of one size"
    with standing("busy") as web:
        pictures = [visit(browser, web, "", 1280, scheme).screenshot() for scheme in ("light", "dark")]
    found = difference(blank, *pictures)
    assert not isinstance(found, str)
    assert found > 0.5
    blank.close()
