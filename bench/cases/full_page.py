"""Measures the page of a full machine: a change's way to the screen, frames, the tab's memory, the service's cost.

Chips are simulated and containers pretended. One of those who watch has a browser here, and the others are connections,
since each of them has a machine of its own for a browser.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from typing import TYPE_CHECKING

from bench.cases.idle import SECONDS, processor
from bench.cases.page import CODE, VIEWERS, WATCH, served
from bench.report.figures import Figure, quantile
from bench.service import Plan, Service
from bench.site import Site
from cmgr.service.door.client import order, post
from tests.support.browser import chromium, heap, opened
from tests.web.scene import AT, Scene
from tests.web.standing import standing

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

    from tests.support.page import Web

CHIPS, RING, CONTAINERS = 64, 8, 200
PART = f"The page: {CHIPS} chips, {CONTAINERS} containers, {VIEWERS} viewers"
CHANGES, RECOVERIES = 100, 3
REST = 0.4
"""Seconds after a change, so that the next one begins when nothing is left of it."""

HOUR, MEASURED, AT_ONCE = 3600, 10, 30
"""Seconds of what a tab keeps, and between two measurements; so many of them are told over one connection."""

# How long the page itself works on a frame, with its layout and painting; and whatever else takes long.
FRAMES = """(() => {
  const next = window.requestAnimationFrame.bind(window), ends = new MessageChannel();
  let began = 0;
  window.longest = 0;
  const took = (length) => { window.longest = Math.max(window.longest, length); };
  ends.port1.onmessage = () => took(performance.now() - began);
  window.requestAnimationFrame = (work) => next((at) => {
    began = performance.now();
    work(at);
    ends.port2.postMessage(0);
  });
  const long = new PerformanceObserver((list) => list.getEntries().forEach(({ duration }) => took(duration)));
  long.observe({ type: "longtask" });
})()"""


def run(site: Site) -> list[Figure]:
    program = chromium()
    if program is None:
        return []
    with opened(program) as browser:
        held, empty = _heaps(browser)
        with Service(site.new_folder(), Plan(CHIPS, RING, "ringRecover", CONTAINERS)) as service:
            service.settle()
            alone = processor(service.cpu_seconds, SECONDS)
            with served(service) as web, _watching(service, web, VIEWERS - 1):
                page = _opened(browser, service, web)
                time.sleep(REST)
                watched = processor(service.cpu_seconds, SECONDS)
                page.evaluate("window.longest = 0")
                ways = [_change(service, page, n) for n in range(CHANGES)]
                for n in range(RECOVERIES):
                    _recovery(service, page, n * RING)
                longest = float(page.evaluate("window.longest"))
                page.close()
    return [
        Figure(PART, "an order to the screen: p50", quantile(ways, 0.5), "ms", None, CHANGES),
        Figure(PART, "an order to the screen: p95", quantile(ways, 0.95), "ms", 100, CHANGES),
        Figure(PART, f"longest frame, {RECOVERIES} recoveries in it", longest, "ms", 50, 1),
        Figure(PART, "JavaScript heap after an hour and a collection", held, "MB", 12, 1, floor=empty),
        Figure(PART, "the service's processor: more by", max(0.0, watched - alone), "% of a core", 0.2, 1),
    ]


def _opened(browser: "Browser", service: Service, web: "Web") -> "Page":
    page = browser.new_page()
    page.add_init_script(FRAMES)
    page.goto(f"http://{web.address}/#t={_ticket(service)}")
    page.get_by_role("heading", name="All is well").wait_for()
    return page


def _ticket(service: Service) -> str:
    return str(post(service.socket, "web/ticket")["ticket"])


@contextmanager
def _watching(service: Service, web: "Web", count: int) -> Iterator[None]:
    """Let so many read what a page reads, and do nothing with it."""
    lines = [HTTPConnection("127.0.0.1", web.port) for _ in range(count)]
    for line in lines:
        secret = web.ask("POST", "/api/enter", {"ticket": _ticket(service)}).value["session"]
        line.request("GET", "/api/events", headers={"Authorization": f"Bearer {secret}"})
        threading.Thread(target=_read, args=(line,), daemon=True).start()
    try:
        yield
    finally:
        web.close()  # It ends what they read.


def _read(line: HTTPConnection) -> None:
    with closing(line), suppress(HTTPException):  # It is cut off at the end.
        answer = line.getresponse()
        while answer.read1(1 << 16):
            pass


def _change(service: Service, page: "Page", number: int) -> float:
    """Return how many milliseconds pass from the order until the page's first line says what has come of it."""
    do = "release" if number % 2 else "isolate"
    args = {"chip": number // 2 % CHIPS, **({} if number % 2 else {"reason": "measured"})}
    return _way(page, lambda: order(service.socket, do, **args))


def _recovery(service: Service, page: "Page", chip: int) -> None:
    _way(page, lambda: order(service.socket, "inject", chip=chip, code=CODE, assertion="occurred"))
    service.until(service.all_well, "recover")
    page.get_by_role("heading", name="All is well").wait_for()


def _way(page: "Page", happens: Callable[[], object]) -> float:
    seen = page.evaluate_handle(f"({{ seen: ({WATCH})() }})")
    began = time.time() * 1000
    happens()
    found = float(page.evaluate("async (watch) => await watch.seen", seen)) - began
    time.sleep(REST)
    return found


def _heaps(browser: "Browser") -> tuple[float, float]:
    """Return the MB that the scripts of a tab hold which has watched for an hour, and those of an empty one."""
    blank = browser.new_page()
    empty = heap(blank) / 1e6
    blank.close()
    told = iter(range(HOUR // MEASURED // AT_ONCE))
    page = browser.new_page()
    page.route("**/api/events", lambda route: _tell(route, next(told, None)))
    with standing("full") as web:
        page.goto(f"http://{web.address}/#t=any")
        page.get_by_text(_reason(HOUR // MEASURED - 1)).first.wait_for(timeout=120_000)
        held = heap(page) / 1e6
        page.close()
    return held, empty


def _reason(number: int) -> str:
    return f"measurement {number} of the hour"


def _tell(route: "Route", part: int | None) -> None:
    """Answer with a part of the hour; the page asks for the next one when this one ends. Behind the last it waits."""
    if part is None:
        return
    scene, pieces = Scene("full"), list[tuple[str, object]]()
    for number in range(part * AT_ONCE, (part + 1) * AT_ONCE):
        status = scene.status() | {"at": AT.isoformat()}
        status["troubles"][0]["why"] = _reason(number)
        pieces += [("status", status), ("chips", {"chips": scene.chips()})]
    body = "".join(f"event: {name}\ndata: {json.dumps(value)}\n\n" for name, value in pieces)
    route.fulfill(status=200, content_type="text/event-stream", body=body)
