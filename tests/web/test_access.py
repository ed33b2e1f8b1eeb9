"""The page for everybody: two checkers find nothing on any view; it works without a mouse, narrow, and in Chinese.

CMGR_REWRITE_GOLDEN=1 writes anew what a screen reader reads.
"""

import os
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from cmgr.view.text.drawing import drawing
from tests.support.browser import Scheme, Told, sniffed, violations
from tests.support.waiting import eventually
from tests.web.scene import Scene
from tests.web.standing import go, standing, visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Route

pytestmark = pytest.mark.alone

PLACES = (
    "",
    "episodes/17",
    "history",
    "history?lines=all",
    "history?lines=downtime",
    "faults?all=true",
    "faults?code=80E24E00&all=true",
    "chips",
    "chips/6",
    "services",
    "services/embedding",
    "slots",
    "groups",
    "groups/tp4",
    "fleet",
)
GOLDEN = Path(__file__).parents[1] / "golden" / "web"
WIDTHS = (320, 768, 1440, 3840)


@pytest.mark.parametrize(("name", "scheme"), [("well", "light"), ("busy", "light"), ("trouble", "dark")])
def test_axe_finds_nothing_on_any_view(browser: "Browser", name: str, scheme: Scheme) -> None:
    with standing(name) as web:
        page = visit(browser, web, "", 1200, scheme)
        for place in PLACES:
            go(page, place)
            assert violations(page) == [], place
        page.context.close()


@pytest.mark.parametrize(("name", "scheme"), [("busy", "light"), ("trouble", "dark"), ("full", "light")])
def test_another_checker_finds_nothing_either(browser: "Browser", name: str, scheme: Scheme) -> None:
    with standing(name) as web:
        page = visit(browser, web, "", 1200, scheme)
        for place in ("", "services", "chips", "chips/6") if name == "full" else PLACES:
            go(page, place)
            assert sniffed(page) == [], place
        page.context.close()


def test_axe_finds_nothing_in_a_dialog_and_at_the_gate(browser: "Browser") -> None:
    with standing("trouble") as web:
        page = visit(browser, web, "chips/6", 390, "dark")
        page.get_by_role("button", name="Release").click()
        page.get_by_text("the resets of its ring are counted from zero").wait_for()
        assert violations(page) == []
        stranger = browser.new_page()
        stranger.goto(f"http://{web.address}/")
        stranger.get_by_role("heading", name="Open the page with a link").wait_for()
        assert violations(stranger) == []
        stranger.close()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("locale", ["en-GB", "zh-CN"])
def test_nothing_is_wider_than_the_screen(browser: "Browser", width: int, locale: str) -> None:
    with standing("busy") as web:
        page = visit(browser, web, "", width, "light", locale)
        for place in PLACES:
            go(page, place)
            told = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
            assert told[0] <= told[1], place
        page.context.close()


def test_it_is_used_without_a_mouse(browser: "Browser") -> None:
    with standing("trouble") as web:
        page = visit(browser, web, "", 1200, "light")
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        page.keyboard.press("Enter")
        assert page.evaluate("document.activeElement.id") == "main"
        button = page.get_by_role("button", name="Release")
        button.focus()
        page.keyboard.press("Enter")
        dialog = page.get_by_role("dialog", name="Release chip 6")
        dialog.get_by_text("chip 6 is used again").wait_for()
        page.keyboard.press("Escape")
        dialog.wait_for(state="hidden")
        assert button.evaluate("button => button === document.activeElement"), "focus is back where it was"
        page.context.close()


# All that can be acted on, in the order in which it is read; and the one with the focus, if its ring is seen.
STOPS = """() => [...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")]
  .filter((one) => !one.disabled && one.checkVisibility()).map((one) => one.outerHTML)"""
STOP = """() => {
  const { outlineStyle, outlineWidth } = getComputedStyle(document.activeElement);
  return outlineStyle !== "none" && parseFloat(outlineWidth) >= 2 ? document.activeElement.outerHTML : "no ring";
}"""


@pytest.mark.parametrize("place", ["", "services", "chips/6", "episodes/17", "history"])
def test_all_is_reached_by_tab_in_the_order_of_reading_with_a_ring_around_it(browser: "Browser", place: str) -> None:
    with standing("trouble") as web:
        page = visit(browser, web, place, 1200, "light")
        wanted = page.evaluate(STOPS)
        assert len(wanted) > 10
        found = []
        for _ in wanted:
            page.keyboard.press("Tab")
            found.append(page.evaluate(STOP))
        assert found == wanted
        page.context.close()


@pytest.mark.parametrize("place", ["", "services"])
def test_a_screen_reader_reads_it_in_this_order(browser: "Browser", place: str) -> None:
    golden = GOLDEN / f"{place or 'now'}.aria.yml"
    with standing("trouble") as web:
        page = visit(browser, web, place, 1200, "light")
        told = page.locator("body").aria_snapshot() + "\n"
        page.context.close()
    if os.environ.get("CMGR_REWRITE_GOLDEN"):
        golden.write_text(told)
    assert told == golden.read_text()


def test_a_screen_reader_has_the_first_line_the_phases_and_the_timeline(browser: "Browser") -> None:
    with standing("busy") as web:
        page = visit(browser, web, "", 1200, "light")
        assert page.get_by_role("status").first.text_content() == "2 containers are down, and 2 more"
        phases = page.get_by_role("list", name="Phases of the recovery of Ring")
        assert phases.locator("[aria-current=step]").inner_text().split() == ["verifying", "now"]
        page.context.close()
        page = visit(browser, web, "episodes/17", 1200, "light")
        label = page.locator("svg.lanes").get_attribute("aria-label")
        assert label is not None
        assert "Episode" not in label
        assert "episode 17: 80E24E00 (RestartNPU) on chip 1, under way" in label
        assert page.get_by_role("region", name="As a list").locator("tbody tr").count() == 16
        page.context.close()


def test_nothing_moves_by_itself(browser: "Browser") -> None:
    """An endless movement is painted without end: that took a quarter of a core for each viewer of a recovery."""
    with standing("busy") as web:
        page = browser.new_page()
        page.goto(f"http://{web.address}/#t=any")
        page.wait_for_selector(".countdown")
        assert page.evaluate("document.getAnimations().length") == 0
        page.context.close()


def test_it_speaks_chinese_where_the_browser_does_or_the_address_says_so(browser: "Browser") -> None:
    with standing("well") as web:
        page = visit(browser, web, "", 1200, "light", "zh-CN")
        assert page.get_by_role("heading", level=1).inner_text() == "一切正常"
        assert page.evaluate("document.documentElement.lang") == "zh-CN"
        page.goto(f"http://{web.address}/?lang=en#t=any")
        assert page.get_by_role("heading", level=1).inner_text() == "All is well"
        page.context.close()
        page = visit(browser, web, "", 1200, "light", "de-DE")
        page.get_by_role("link", name="中文").click()
        assert page.get_by_role("heading", name="一切正常").inner_text() == "一切正常"
        page.context.close()


def test_every_head_and_label_is_in_chinese_there(browser: "Browser") -> None:
    with standing("trouble") as web:
        page = visit(browser, web, "", 1200, "light", "zh-CN")
        for place in PLACES:
            go(page, place)
            heads = page.locator("main :is(th, dt, h2:not(:has(.code)))").all_inner_texts()
            assert [head for head in heads if head.isascii() and head not in ("", "cmgr")] == [], place
        page.context.close()


def test_filters_stand_in_the_address(browser: "Browser") -> None:
    with standing("busy") as web:
        page = visit(browser, web, "faults?all=true&chip=3", 1200, "light")
        told = Told(page)
        cells = page.locator("tbody tr td[data-name=Chip]").all_inner_texts()
        assert set(cells) == {"3"}
        page.get_by_label("Chip").select_option("5")
        page.wait_for_url("**/#/faults?all=true&chip=5")
        others = page.locator("tbody tr td[data-name=Chip]").filter(has_not_text="5")
        eventually(lambda: others.count() == 0, "only chip 5")
        assert told.complaints == []
        page.context.close()


def test_times_in_sentences_are_those_of_the_reader(browser: "Browser") -> None:
    with standing("well") as web:
        page = visit(browser, web, "", 1200, "light")
        said = "import('/static/parts.js').then(({ said }) => said('counts if it does at 2026-03-02T05:39:36.044Z'))"
        assert page.evaluate(said) == "counts if it does at 05:39:36"
        expect(page.locator(".top .badge")).to_have_text("live, 03:00:12")
        page.context.close()


def nothing(name: str, route: "Route") -> None:
    route.fulfill(json={name: []})


def test_where_there_is_nothing_the_page_says_how_there_would_be(browser: "Browser") -> None:
    with standing("well") as web:
        page = visit(browser, web, "", 1200, "light")
        for place, words in (
            ("slots", "cmgr slot create NAME --count 1"),
            ("groups", "docker run --label cmgr.group=NAME"),
            ("faults", "No chip has reported a fault."),
        ):
            page.route(re.compile(f"/api/{place}"), partial(nothing, place))
            page.goto(f"http://{web.address}/#/{place}")
            page.reload()
            expect(page.locator("main")).to_contain_text(words)
            assert page.get_by_role("search").count() == 0, "nothing is there to be filtered"
        page.context.close()


def test_a_slot_that_has_moved_and_a_group_that_waits_are_told(browser: "Browser") -> None:
    with standing("busy") as web:
        page = visit(browser, web, "slots", 1200, "light")
        assert page.locator("tbody tr td[data-name=State]").all_inner_texts() == ["at home", "moved from 2, 6"]
        page.get_by_label("State").select_option("true")
        page.wait_for_url("**/#/slots?moved=true")
        page.locator("tbody tr").nth(1).wait_for(state="detached")
        go(page, "groups")
        groups = page.get_by_role("region", name="Groups")
        groups.wait_for()
        cells = groups.locator("td").all_inner_texts()
        assert [cell.strip() for cell in cells[:4]] == ["tp4", "halting", "0 of 4", "5"]
        page.get_by_role("link", name="tp4").click()
        page.get_by_role("heading", name="Group tp4").wait_for()
        assert page.locator("tbody tr").count() == 7
        cells = page.get_by_role("region", name="Fleet").locator("td").all_inner_texts()
        assert [" ".join(cell.split()) for cell in cells[:2]] == ["a", "halted"]
        assert cells[5] == "ring 0 is verifying"
        page.context.close()


def test_the_fleet_and_its_engine_are_told_and_on_now_whoever_is_not_well(browser: "Browser") -> None:
    with standing("busy") as web:
        page = visit(browser, web, "fleet", 1200, "light")
        told = page.get_by_role("region", name="Fleet")
        cells = [" ".join(cell.split()) for cell in told.locator("td").all_inner_texts()]
        assert [cells[0], cells[1], cells[5]] == ["a here", "not well", "unknown"]
        assert cells[4] == "b ssh -L 9478:127.0.0.1:9478 b cmgr web", "the way to its page"
        assert cells[7] == "chip 3 is isolated cmgr release 3"
        assert "no node answers systemctl status etcd" in page.locator("main").inner_text().replace("\xa0", " ")
        go(page, "")
        expect(page.locator(".others")).to_contain_text("unknown b chip 3 is isolated")
        expect(page.locator(".others")).to_contain_text("halting Group tp4 rank1 waits: ring 0 is verifying")
        page.context.close()
    with standing("well") as web:
        page = visit(browser, web, "", 1200, "light")
        assert page.get_by_role("link", name="Fleet").count() == 0, "it is in none"
        go(page, "fleet")
        expect(page.locator("main")).to_contain_text("cmgr fleet setup")
        page.context.close()


def test_shares_are_told_with_their_users_and_those_that_a_reset_took(browser: "Browser") -> None:
    with standing("trouble") as web:
        page = visit(browser, web, "chips", 1200, "light")
        assert page.locator("tbody tr td[data-name=Model]").all_inner_texts()[6:] == [
            "Ascend910B4",
            "Ascend910B4 · Shares: 2",
        ]
        go(page, "chips/7")
        page.get_by_role("heading", name="Shares").wait_for()
        assert page.get_by_text("Ascend910B4 NPU 7 chip 0 0000:87:00.0").count() == 1, "as its maker's tool has it"
        cells = page.get_by_role("region", name="Shares").locator("tbody td").all_inner_texts()
        assert [" ".join(cell.split()) for cell in cells] == [
            *("212", "vir04", "embedding", ""),
            *("213", "vir02", "", "lost in the reset the driver is busy"),
        ]
        page.context.close()


def test_the_picture_of_an_episode_is_saved(browser: "Browser", tmp_path: Path) -> None:
    with standing("busy") as web:
        page = visit(browser, web, "episodes/17", 1200, "light")
        with page.expect_download() as download:
            page.get_by_role("button", name="Save the picture").click()
        assert download.value.suggested_filename == "episode-17.svg"
        download.value.save_as(tmp_path / "it.svg")
        page.context.close()
    told: Any = Scene("busy").episode()
    assert (tmp_path / "it.svg").read_text() == drawing(told, "appliance7")
