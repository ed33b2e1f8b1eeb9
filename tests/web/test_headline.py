"""The first line, one for all who are told: the command line, systemd and the page name the same worst thing first."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from cmgr.frozen import replace
from cmgr.model.values.node import Node
from cmgr.sentences.sentence import CHINESE, translated
from cmgr.service.parts.tellers import summary
from cmgr.view import shapes
from cmgr.view.text.texts import headline
from tests.cli.scenes import SERVICE, in_maintenance, in_need, recovering, told
from tests.support.picture import machine
from tests.support.waiting import PATIENCE
from tests.web.standing import standing

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.alone

expect.set_options(timeout=PATIENCE * 1000)


def maintained() -> Node:
    return replace(machine(), maintenance=in_maintenance().maintenance)


def shown(browser: "Browser", status: shapes.Status, locale: str = "en-GB") -> tuple[str, str, str]:
    """Return the first line of the page to this picture, its tone, and what stands below it."""
    body = f"event: status\ndata: {json.dumps(status)}\n\n"
    with standing("well") as web:
        page = browser.new_context(locale=locale).new_page()
        page.route("**/api/events*", lambda route: route.fulfill(content_type="text/event-stream", body=body))
        page.goto(f"http://{web.address}/#t=any")
        first = page.get_by_role("heading", level=1)
        expect(page.locator(".hero")).to_be_visible()
        found = first.text_content() or "", page.locator(".hero").get_attribute("class") or ""
        below = page.locator(".hero .words > p").all_inner_texts()
        page.context.close()
    return found[0], found[1].split()[-1], " ".join(below)


@pytest.mark.parametrize(
    ("scene", "line", "tone"),
    [
        (machine, "All is well", "good"),
        (maintained, "In maintenance: nothing is wrong", "held"),
        (recovering, "container a is down, and 2 more", "busy"),
        (in_maintenance, "In maintenance: container b is down, and 2 more", "bad"),
        (in_need, "container a failed, and 3 more", "bad"),
    ],
)
def test_the_page_begins_with_what_the_command_line_and_systemd_begin_with(
    browser: "Browser", scene: Callable[[], Node], line: str, tone: str
) -> None:
    status = told(scene())
    found, how, _ = shown(browser, status)
    assert (found, how) == (line, tone)
    worst = line.removeprefix("In maintenance: ").partition(",")[0].lower()
    for other in (headline(status, 0), summary(scene(), SERVICE)):
        assert worst in other
        assert other.startswith("in maintenance, ") == line.startswith("In maintenance: ")
    if status["headline"]:
        assert headline(status, 0).endswith(f"not well: {worst}; and {len(status['headline']) - 1} more")


def test_a_recovery_is_said_to_go_on_by_itself_but_for_in_maintenance(browser: "Browser") -> None:
    _, _, below = shown(browser, told(recovering()))
    assert "A recovery is under way: cmgr does this by itself. Down until it is over: a." in below
    _, _, below = shown(browser, told(in_maintenance()))
    assert "by itself" not in below
    assert "Recoveries are recorded, and none is acted on." in below


def test_the_first_line_is_chinese_on_a_chinese_page(browser: "Browser") -> None:
    found, _, below = shown(browser, translated(told(in_maintenance()), CHINESE), "zh-CN")
    assert found == "处于维护模式：容器 b 停着，另有 2 个问题"
    assert "正在恢复" not in below
