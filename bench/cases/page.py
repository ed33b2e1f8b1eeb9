"""Measures the page: a fault's way to the screen, what the page costs the service, and how soon it is there."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING

from bench.report.figures import Figure, quantile
from bench.service import Service
from bench.site import Site
from cmgr.service.door.client import order, post
from tests.support.browser import chromium, opened
from tests.support.page import Web

if TYPE_CHECKING:
    from playwright.sync_api import Page

CHIPS, CONTAINERS = 16, 64
PART = f"The page: {CHIPS} chips, {CONTAINERS} containers"
FAULTS, STARTS, VIEWERS = 20, 10, 5
SETTLE = 5.0
CODE = "80E24E00"

# The moment in which the page says something else, by the clock that this process has, too.
WATCH = """() => new Promise((done) => {
  const first = document.querySelector("h1"), before = first.textContent;
  const look = new MutationObserver(() => {
    const text = document.querySelector("h1").textContent;
    if (text !== before) { look.disconnect(); requestAnimationFrame(() => done(Date.now())); }
  });
  look.observe(document.body, {subtree: true, childList: true, characterData: true});
})"""


def run(site: Site) -> list[Figure]:
    program = chromium()
    if program is None:
        return []
    with site.service(site.plan(CHIPS, 8, "ringRecover", CONTAINERS)) as service, ExitStack() as stack:
        service.until(service.all_well, "be idle")
        alone = _settled(service)
        starts = [_first_answer(service) for _ in range(STARTS)]
        web = stack.enter_context(served(service))
        browser = stack.enter_context(opened(program))
        idle = _settled(service)
        pages = [browser.new_page() for _ in range(VIEWERS)]
        for page in pages:
            page.goto(f"http://{web.address}/#t={post(service.socket, 'web/ticket')['ticket']}")
            page.get_by_role("heading", name="All is well").wait_for()
        watched = _settled(service)
        # Whoever watches has another machine for the browser. Here it shares the cores with all stops and starts.
        for page in pages[1:]:
            page.close()
        ways = [_way(service, pages[0], n % CHIPS) for n in range(FAULTS)]
    return [
        Figure(PART, "fault to the screen: p50", quantile(ways, 0.5), "ms", 500, FAULTS),
        Figure(PART, "fault to the screen: max", max(ways), "ms", 500, FAULTS),
        Figure(PART, "the service's memory with the page idle: more by", max(0.0, idle - alone), "MB", 0.2, 1),
        Figure(PART, f"the service's memory with {VIEWERS} viewers: more by", watched - alone, "MB", 1, 1),
        Figure(PART, "first answer after the socket was asked: p50", quantile(starts, 0.5), "ms", 500, STARTS),
    ]


@contextmanager
def served(service: Service) -> "Iterator[Web]":
    with closing(Web(service.folder / "door.sock", service.folder / "web.log")) as web:
        web.start()
        yield web


def _settled(service: Service) -> float:
    time.sleep(SETTLE)
    return service.memory()


def _first_answer(service: Service) -> float:
    """Return how many milliseconds pass from the start, as systemd's at the first request, to the answer."""
    with closing(Web(service.folder / "door.sock", service.folder / "web.log")) as web:
        began = time.monotonic()
        web.start()
        web.ask("GET", "/")
        return (time.monotonic() - began) * 1000


def _way(service: Service, page: "Page", chip: int) -> float:
    """Return how many milliseconds pass from the fault until the page's first line says so."""
    seen = page.evaluate_handle(f"({{ seen: ({WATCH})() }})")
    began = time.time() * 1000
    order(service.socket, "inject", chip=chip, code=CODE, assertion="occurred")
    found = float(page.evaluate("async (watch) => await watch.seen", seen)) - began
    service.until(service.all_well, "recover")
    page.get_by_role("heading", name="All is well").wait_for()
    return found
