"""A real browser, Debian's chromium, driven by playwright: one for a run of tests, and a page of its own for each."""

import base64
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import resources
from typing import TYPE_CHECKING, Any, Literal

import pytest

from tests.support.programs import VENV

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Scheme = Literal["light", "dark"]

RULES = ("wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice")

SNIFFER = VENV.with_name("share") / "HTMLCS.js"

# It takes an address within the page ("#/chips") for the name of an anchor.
_SNIFF = """() => new Promise((done) => HTMLCS.process("WCAG2AA", document, () => done(HTMLCS.getMessages()
  .filter(({ type, code, element }) => type === HTMLCS.ERROR
    && !(code.endsWith("NoSuchID") && element.getAttribute("href").startsWith("#/")))
  .map(({ code, msg, element }) => `${code}: ${msg}: ${element.outerHTML.slice(0, 100)}`))))"""

OF_PIXEL = 24
"""How far each colour of a pixel may be off, of 255, before it counts as another: letters are smoothed differently."""

_DIFFERENT = """async ([one, two, most]) => {
  const pixels = async (data) => {
    const image = await createImageBitmap(await (await fetch(`data:image/png;base64,${data}`)).blob());
    const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
    canvas.drawImage(image, 0, 0);
    return canvas.getImageData(0, 0, image.width, image.height);
  };
  const [a, b] = [await pixels(one), await pixels(two)];
  if (a.width !== b.width || a.height !== b.height) return `${a.width}x${a.height}, not ${b.width}x${b.height}`;
  let other = 0;
  for (let n = 0; n < a.data.length; n += 4) {
    if ([0, 1, 2].some((c) => Math.abs(a.data[n + c] - b.data[n + c]) > most)) other += 1;
  }
  return other / (a.data.length / 4);
}"""


def chromium() -> str | None:
    """Return the browser, or None where there is none."""
    return shutil.which("chromium")


@contextmanager
def opened(program: str) -> "Iterator[Browser]":
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    """Debian's chromium. Where there is none: skipped, but a failure when CI=true."""
    program = chromium()
    if program is None:
        if os.environ.get("CI") == "true":
            pytest.fail("no chromium: sh tests/support/install.sh installs it on Debian")
        pytest.skip("no chromium")
    with opened(program) as made:
        yield made


class Told:
    """The complaints of a page, and the addresses that it has asked."""

    def __init__(self, page: "Page", refusals: Sequence[int] = ()) -> None:
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self._refusals = [f"status of {number}" for number in refusals]
        page.on("console", lambda said: self._heard(said.type, said.text))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))

    def _heard(self, kind: str, text: str) -> None:
        if kind in ("error", "warning") and not any(refusal in text for refusal in self._refusals):
            self.complaints.append(text)


def violations(page: "Page") -> list[str]:
    """Return what axe finds that keeps people out."""
    page.evaluate(resources.files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8"))
    found: dict[str, Any] = page.evaluate("rules => axe.run({runOnly: {type: 'tag', values: rules}})", list(RULES))
    return [f"{v['id']}: {v['help']}: {[n['target'] for n in v['nodes']]}" for v in found["violations"]]


def sniffed(page: "Page") -> list[str]:
    """Return the errors that HTML_CodeSniffer finds. Where that is not there, the test is skipped."""
    if not SNIFFER.exists():
        pytest.skip("no HTML_CodeSniffer: tests/support/install.sh fetches it where there is npm")
    page.evaluate(SNIFFER.read_text("utf-8"))
    found: list[str] = page.evaluate(_SNIFF)
    return found


def heap(page: "Page") -> float:
    """Return the bytes that the page's scripts hold, after a collection."""
    tools = page.context.new_cdp_session(page)
    tools.send("HeapProfiler.collectGarbage")
    used = tools.send("Runtime.getHeapUsage")["usedSize"]
    tools.detach()
    return float(used)


def difference(page: "Page", one: bytes, two: bytes) -> float | str:
    """Return the part of the pixels that differ, or in words that the sizes do. The page is any that may fetch data."""
    pictures = [base64.b64encode(picture).decode() for picture in (one, two)]
    found: float | str = page.evaluate(_DIFFERENT, [*pictures, OF_PIXEL])
    return found
