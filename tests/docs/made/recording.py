"""A recording of `cmgr demo` as a picture that moves: SVG with the lines as they came. `make recording` takes it anew.

It is made by style sheets alone (no script runs in a picture on a page): the text scrolls, and a curtain hides the
lines that have not come yet. Readers who want no motion see its end.
"""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from tests.running import reaper

PICTURE = Path(__file__).parents[3] / "docs" / "pictures" / "demo.svg"

ROWS, COLUMNS = 26, 80
HEIGHT, WIDTH = 18, 8.4
REST = 6.0
"""Seconds that the end stands before it begins anew."""

STYLE = """
  text { font: 14px ui-monospace, monospace; fill: #d7dce2; white-space: pre }
  .typed { fill: #ffffff; font-weight: bold } .told { fill: #7fb4e6 }
  #text, #curtain { animation: SECONDSs steps(1, end) infinite }
  #text { animation-name: scroll } #curtain { animation-name: rise }
  @media (prefers-reduced-motion: reduce) { #text, #curtain { animation: none } #text { transform: translateY(END) }
    #curtain { display: none } }
"""


@dataclass(frozen=True, slots=True)
class Line:
    """A line, and how many seconds after the beginning it came."""

    at: float
    text: str


def record(program: Sequence[str]) -> list[Line]:
    """Run the program, and return what it says as it says it. Raises `CalledProcessError`."""
    environment = {**os.environ, "COLUMNS": str(COLUMNS), "PYTHONUNBUFFERED": "1"}
    began, lines = time.monotonic(), list[Line]()
    with subprocess.Popen(
        program, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as running:
        assert running.stdout is not None
        lines += [Line(time.monotonic() - began, line.rstrip("\n")) for line in running.stdout]
    if running.returncode:
        raise subprocess.CalledProcessError(running.returncode, program)
    return lines


def picture(lines: Sequence[Line]) -> str:
    """Return the recording as SVG."""
    seconds = lines[-1].at + REST
    tall = ROWS * HEIGHT
    end = -max(0, len(lines) - ROWS) * HEIGHT
    scroll, rise = ["0% { transform: translateY(0) }"], ["0% { transform: translateY(0) }"]
    for n, line in enumerate(lines, 1):
        share = f"{100 * line.at / seconds:.2f}%"
        scroll.append(f"{share} {{ transform: translateY({-max(0, n - ROWS) * HEIGHT}px) }}")
        rise.append(f"{share} {{ transform: translateY({n * HEIGHT}px) }}")
    style = STYLE.replace("SECONDS", f"{seconds:.2f}").replace("END", f"{end}px")
    frames = "".join(
        f"@keyframes {name} {{ {' '.join(steps)} }}\n" for name, steps in (("scroll", scroll), ("rise", rise))
    )
    body = [_text(n, line.text) for n, line in enumerate(lines, 1) if line.text]
    wide = COLUMNS * WIDTH + 24
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {tall + 24}" role="img">',
        "<title>cmgr demo</title>", f"<style>{style}{frames}</style>",
        f'<rect width="{wide:g}" height="{tall + 24}" rx="8" fill="#1b2027"/>',
        f'<svg x="12" y="12" width="{wide - 24:g}" height="{tall}"><g id="text">',
        *body,
        f'<rect id="curtain" y="3" width="{wide:g}" height="{(len(lines) + ROWS) * HEIGHT}" fill="#1b2027"/>',
        "</g></svg></svg>", "",
    ])  # fmt: skip


def _text(row: int, text: str) -> str:
    kind = ' class="typed"' if text.startswith("$ ") else ' class="told"' if text.startswith("# ") else ""
    return f'<text y="{row * HEIGHT - 4}"{kind}>{escape(text)}</text>'


if __name__ == "__main__":
    reaper.guarded()
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    PICTURE.write_text(picture(record([sys.executable, "-m", "cmgr", "demo", *sys.argv[1:]])))
