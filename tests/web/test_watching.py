"""A recovery watched in a browser, from the fault until all is well, and what goes wrong meanwhile."""

import http.server
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from cmgr.words import stamp
from tests.support.browser import Told
from tests.support.page import Site
from tests.support.waiting import PATIENCE, eventually
from tests.web.scene import AT, Scene
from tests.web.standing import standing, visit

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.alone

expect.set_options(timeout=PATIENCE * 1000)


@contextmanager
def watching(browser: "Browser", site: Site, refusals: tuple[int, ...] = ()) -> "Iterator[tuple[Page, Told]]":
    """Give a page that has come by a link. It has complained of nothing, and asked nobody else."""
    page = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce").new_page()
    told = Told(page, refusals)
    page.goto(site.link())
    headline(page, "All is well")
    yield page, told
    assert told.complaints == []
    assert {url for url in told.asked if not url.startswith(f"http://{site.web.address}/")} == set()
    page.context.close()


def headline(page: "Page", text: str) -> None:
    expect(page.get_by_role("heading", level=1)).to_have_text(text)


def over(site: Site) -> None:
    site.service.until_over()
    eventually(lambda: site.service.status()["service"]["state"] == "ready")


def test_a_recovery_is_watched_from_the_fault_until_all_is_well(browser: "Browser", running: Site) -> None:
    running.service.configure({"sim.boot_time": "1500ms"})
    running.service.terminate()
    running.service.start()
    with watching(browser, running) as (page, _):
        assert "#t=" not in page.url, "the ticket is gone from the address"
        running.service.inject(1)
        expect(page.locator(".hero.busy")).to_contain_text("A recovery is under way")
        expect(page.locator(".strip [aria-current=step]")).to_contain_text("verifying")
        expect(page.locator(".hero")).to_contain_text("Down until it is over: chat, search.")
        expect(page.locator(".tile", has_text="80E24E00")).to_have_count(1)
        page.get_by_role("link", name=re.compile("Watch episode")).click()
        expect(page.locator("svg.lanes")).to_contain_text("held")
        expect(page.locator("svg.lanes")).to_contain_text("reset 1 of 3")
        expect(page.locator(".title .badge")).to_have_text("recovered")
        noted = page.get_by_role("region", name="As a list").locator("tbody tr")
        expect(noted.last).to_contain_text("is over: recovered")
        assert noted.count() == len(running.service.notes(len(running.service.episodes())))
        page.get_by_role("link", name="Now", exact=True).click()
        headline(page, "All is well")
    over(running)


def test_a_recovery_is_shown_by_its_first_line_and_no_older_picture_takes_that_back(browser: "Browser") -> None:
    well, later = Scene("well").status(), stamp(AT + timedelta(seconds=1))
    line = {"at": later, "kind": "opened", "text": "80E24E00 on chip 1", "chip": None, "container": None}
    told = [("status", well), ("note", {**line, "ring": 0, "episode": 17}), ("status", well)]
    body = "".join(f"event: {name}\ndata: {json.dumps(value)}\n\n" for name, value in told)
    with standing("well") as web:
        page = browser.new_page()
        page.route("**/api/events", lambda route: route.fulfill(content_type="text/event-stream", body=body))
        page.goto(f"http://{web.address}/#t=any")
        headline(page, "A recovery is under way")
        expect(page.locator(".working .reason")).to_have_text("80E24E00 on chip 1")
        page.context.close()


def test_the_service_is_killed_and_comes_back_while_somebody_watches(browser: "Browser", running: Site) -> None:
    # Sessions are in the service's memory: the page says that one more `cmgr web` is needed.
    with watching(browser, running, refusals=(401, 503)) as (page, _):
        running.service.kill9()
        headline(page, "The service does not answer")
        expect(page.locator("main")).to_have_class("stale")
        expect(page.get_by_text("not live since")).to_be_visible()
        expect(page.get_by_role("button", name="Begin maintenance")).to_have_count(0)
        running.service.start()
        headline(page, "Open the page with a link")
        expect(page.get_by_role("status")).to_have_text("The session is over.")
        page.goto(running.link())
        headline(page, "All is well")


def test_an_order_is_previewed_given_and_seen_by_everybody_who_watches(browser: "Browser", running: Site) -> None:
    with watching(browser, running) as (one, _), watching(browser, running) as (two, _):
        one.goto(f"http://{running.web.address}/#/chips/6")
        one.get_by_role("button", name="Isolate").click()
        dialog = one.get_by_role("dialog", name="Isolate chip 6")
        expect(dialog).to_contain_text("nothing is started on chip 6")
        assert not running.service.status()["chips"][6]["isolated"]
        dialog.get_by_label("Reason").fill("its fan is loud")
        dialog.get_by_role("button", name="Give the order").click()
        expect(one.get_by_role("status")).to_have_text("chip 6: isolated; cmgr release 6 ends it")
        headline(two, "chip 6 is isolated")
        two.goto(f"http://{running.web.address}/?lang=zh#/chips/6")
        two.get_by_role("button", name="解除隔离").click()
        two.get_by_role("dialog").get_by_role("button", name="下达指令").click()
        expect(two.get_by_role("status")).to_have_text("芯片 6：已解除隔离")
        expect(one.get_by_role("button", name="Isolate")).to_be_visible()
    assert any("released by uid" in n.text and ", on the page" in n.text for n in running.service.notes())


def test_of_an_older_service_it_is_shown_which_order_was_given(browser: "Browser") -> None:
    with standing("trouble") as web:
        page = visit(browser, web, "chips/6", 1280, "light")
        page.get_by_role("button", name="Release").click()
        page.get_by_role("dialog").get_by_role("button", name="Give the order").click()
        expect(page.get_by_role("status")).to_have_text("Done: Release chip 6")
        page.context.close()


def test_a_refusal_is_shown_with_what_to_do(browser: "Browser", running: Site) -> None:
    with watching(browser, running, refusals=(409,)) as (page, _):
        running.service.cmgr("maintenance", "on")
        page.goto(f"http://{running.web.address}/#/chips/0")
        page.get_by_role("button", name="Reset").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("cmgr is in maintenance")
        expect(dialog.get_by_role("button", name="Give the order")).to_be_disabled()
        running.service.cmgr("maintenance", "off")


def test_a_reset_stops_whoever_runs_on_the_ring_if_the_tick_is_there(browser: "Browser", running: Site) -> None:
    with watching(browser, running, refusals=(409,)) as (page, _):
        page.goto(f"http://{running.web.address}/#/chips/0")
        page.get_by_role("button", name="Reset").click()
        dialog = page.get_by_role("dialog", name="Reset the ring of chip 0")
        tick = dialog.get_by_label("Stop those that run on its ring, and start them again")
        expect(tick).to_be_checked()
        expect(dialog).to_contain_text("stops chat, search")
        tick.uncheck()
        expect(dialog).to_contain_text("chat, search run on chips 0-3")
        expect(dialog.get_by_role("button", name="Give the order")).to_be_disabled()
        tick.check()
        expect(dialog.get_by_role("button", name="Give the order")).to_be_enabled()
        page.keyboard.press("Escape")


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("episodes/abc", "There is no such episode."), ("episodes/999999", "There is no such episode."),
        ("chips/99", "There is no such chip."), ("chips/abc", "There is no such chip."),
        ("groups/%ff", "There are no such groups."), ("groups/nobody", "There are no such groups."),
        ("constructor", "There is no such page."), ("toString/1", "There is no such page."),
        ("services/nobody", "There is no such service."), ("nonsense", "There is no such page."),
    ],
)  # fmt: skip
def test_an_address_that_leads_nowhere_says_so(browser: "Browser", running: Site, place: str, said: str) -> None:
    with watching(browser, running, refusals=(400, 404)) as (page, _):
        page.evaluate("place => { location.hash = `#/${place}` }", place)
        expect(page.locator("main")).to_contain_text(said)


def test_names_by_strangers_are_text(browser: "Browser", running: Site) -> None:
    wild = "<img src=x onerror=alert(1)>\u202egnihton " + "x" * 150
    with watching(browser, running) as (page, _):
        running.service.cmgr("isolate", "5", "--reason", "<b>bold</b><script>alert(1)</script>" + "y" * 90)
        expect(page.get_by_role("region", name="What to do")).to_contain_text("<b>bold</b><script>alert(1)</script>")
        assert page.locator("main b, main script, img[src=x]").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        refused = running.service.cmgr("isolate", "5", "--reason", wild)
        assert refused.code != 0, "no mark that turns text around gets in"
        running.service.cmgr("release", "5")


class Elsewhere(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_words: object) -> None:
        pass


@contextmanager
def another_page(folder: Path) -> Iterator[str]:
    (folder / "index.html").write_text("<!doctype html><title>elsewhere</title>")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Elsewhere, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}/"
    server.shutdown()
    server.server_close()
    thread.join(PATIENCE)


ATTACK = """async ([address, secret]) => {
  const tried = [];
  for (const type of ["application/json", "text/plain"]) for (const mode of ["cors", "no-cors"]) {
    const headers = mode === "cors" ? {"Content-Type": type, Authorization: `Bearer ${secret}`} : {};
    const body = JSON.stringify({chip: 7, reason: "from elsewhere", session: secret});
    tried.push(await fetch(`${address}/api/orders/isolate`, {method: "POST", mode, headers, body})
      .then((reply) => reply.status, (error) => "blocked"));
  }
  const headers = {Authorization: `Bearer ${secret}`};
  tried.push(await fetch(`${address}/api/chips`, {headers}).then((reply) => reply.status, () => "blocked"));
  return tried;
}"""


def test_a_page_of_another_origin_orders_and_reads_nothing(browser: "Browser", running: Site, tmp_path: Path) -> None:
    # It even knows the secret, which no other page can.
    with another_page(tmp_path) as elsewhere:
        page = browser.new_page()
        page.goto(elsewhere)
        tried = page.evaluate(ATTACK, [f"http://{running.web.address}", running.enter()])
        # An answer that a script must not read has the status 0.
        assert set(tried) <= {"blocked", 0}
        framed = page.evaluate(
            """address => new Promise((done) => { const frame = document.createElement("iframe");
            frame.onload = () => { try { done(frame.contentDocument.title || "empty"); } catch { done("blocked"); } };
            frame.src = address; document.body.append(frame); })""",
            f"http://{running.web.address}/",
        )
        assert framed == "blocked"
        page.close()
    assert not running.service.status()["chips"][7]["isolated"]
