"""The pictures of docs/performance.md, drawn from the figures of a run: light or dark as the reader's screen is."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

from bench.report.figures import Figure, said

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"

RECOVERY = "Fault to containers running again"
SCALE = "Scale"
FIRST_STOP = "Fault callback to the first stop request at the runtime"
CASES = ("1 container", "8 containers")
PARTS = (("stops", "the runtime stops"), ("reset and boot", "the chips' reset and boot"),
         ("starts", "the runtime starts"), ("own", "cmgr itself"))  # fmt: skip

WIDTH, LEFT, ROW = 760, 190, 30

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #24292f }
  .small { font-size: 11px; fill: #57606a }
  .stops { fill: #8ab4d8 } .reset { fill: #c9ced6 } .starts { fill: #5b8fc4 } .own { fill: #d1570b }
  .reference { fill: none; stroke: #8c959f } .line { stroke: #d0d7de } .dot { fill: #d1570b; fill-opacity: .55 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 } .small { fill: #9aa4af }
    .stops { fill: #3f6d96 } .reset { fill: #4b525b } .starts { fill: #5b9bd8 } .own { fill: #ff8b3d }
    .reference { stroke: #8c959f } .line { stroke: #3d444d } .dot { fill: #ff8b3d }
  }
"""


def draw(figures: Sequence[Figure], folder: Path = FOLDER) -> None:
    """Write all pictures. Raises `KeyError` for a figure that the run does not have."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "recovery.svg").write_text(recovery(figures))
    (folder / "first-stop.svg").write_text(first_stop(figures))
    (folder / "growth.svg").write_text(growth(figures))


def recovery(figures: Sequence[Figure]) -> str:
    """Return where the time of a recovery goes, beside the reference's. Without cmgr's own share it is the floor."""
    found = {f.what: f for f in figures if f.part == RECOVERY}
    longest = max(_reference(found[f"{case}: in all, median"]) for case in CASES)
    scale = (WIDTH - LEFT - 90) / longest
    body, y = list[str](), 14
    for case in CASES:
        whole = found[f"{case}: in all, median"]
        lengths = {name: found[f"{case}: {name}, median"].value for name in ("stops", "starts")}
        lengths["own"] = found[f"{case}: cmgr's own share, median"].value
        lengths["reset and boot"] = whole.value - sum(lengths.values())
        body.append(_text(0, y + 15, f"cmgr, {case}") + _bar(y, scale, lengths))
        body.append(_text(LEFT + whole.value * scale + 6, y + 15, f"{whole.value:,.0f} ms", "small"))
        y += ROW
        length = _reference(whole)
        body.append(_text(0, y + 15, f"reference, {case}"))
        body.append(f'<rect class="reference" x="{LEFT}" y="{y + 0.5}" width="{length * scale:.1f}" height="20"/>')
        body.append(_text(LEFT + length * scale + 6, y + 15, f"{length:,.0f} ms", "small"))
        y += ROW + 10
    return _picture("Where the time of a recovery goes", [*body, *_legend(y + 8)], y + 40)


def first_stop(figures: Sequence[Figure]) -> str:
    """Return how soon the first stop was out, each try a dot, on a scale on which each step is ten times the last."""
    found = [f for f in figures if f.part == FIRST_STOP and f.what.endswith("p50")]
    low, high = 1.0, 1000.0

    def x(ms: float) -> float:
        share = math.log(min(max(ms, low), high) / low) / math.log(high / low)
        return LEFT + share * (WIDTH - LEFT - 40)

    body, bottom = list[str](), 20 + len(found) * 50
    for ms in (1, 10, 100, 1000):
        body.append(
            f'<path class="line" d="M{x(ms):.1f} 10V{bottom}"/>' + _text(x(ms) - 16, bottom + 16, f"{ms} ms", "small")
        )
    for row, figure in enumerate(found):
        y = 34 + row * 50
        body.append(_text(0, y + 5, figure.what.partition(":")[0]))
        # Spread by their order, so that dots of one length do not hide each other.
        body += [
            f'<circle class="dot" cx="{x(v):.1f}" cy="{y - 9 + n % 7 * 3}" r="2.5"/>'
            for n, v in enumerate(figure.values)
        ]
        mark = x(_reference(figure))
        body.append(
            f'<path class="line" stroke-width="2" d="M{mark:.1f} {y - 14}v28"/>'
            + _text(mark - 70, y + 26, "reference, p50", "small")
        )
    return _picture("From the fault to the first stop request", body, bottom + 24)


def growth(figures: Sequence[Figure]) -> str:
    """Return what each thing takes on three sizes of machines, each on a scale of its own."""
    sizes: dict[str, dict[str, Figure]] = {}
    for figure in figures:
        size, _, what = figure.what.partition(": ")
        if figure.part == SCALE and not what.endswith(" grows"):
            sizes.setdefault(what, {})[size] = figure
    body, y = list[str](), 14
    for what, found in sizes.items():
        body.append(_text(0, y + 12, what))
        most = max(figure.value for figure in found.values())
        for size, figure in found.items():
            width = figure.value / most * (WIDTH - LEFT - 230) if most else 0.0
            body.append(f'<rect class="starts" x="{LEFT + 150}" y="{y}" width="{width:.1f}" height="14"/>')
            body.append(_text(LEFT, y + 12, size, "small"))
            body.append(_text(LEFT + 156 + width, y + 12, said(figure.value, figure.unit), "small"))
            y += 18
        y += 12
    return _picture("What grows with the machine", body, y)


def _reference(figure: Figure) -> float:
    """Return the milliseconds that the figure's reference begins with."""
    return float(figure.reference.partition(" ms")[0].replace(",", ""))


def _bar(y: int, scale: float, lengths: Mapping[str, float]) -> str:
    bar, x = "", float(LEFT)
    for name, _ in PARTS:
        width = lengths[name] * scale
        bar += f'<rect class="{name.partition(" ")[0]}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="21"/>'
        x += width
    return bar


def _legend(y: int) -> list[str]:
    return [
        f'<rect class="{name.partition(" ")[0]}" x="{LEFT + n * 140}" y="{y}" width="11" height="11"/>'
        + _text(LEFT + 16 + n * 140, y + 10, said, "small")
        for n, (name, said) in enumerate(PARTS)
    ]


def _text(x: float, y: float, text: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{named}>{escape(text)}</text>'


def _picture(title: str, body: Sequence[str], height: int) -> str:
    box = f'viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(title)}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {box}>'
    return "\n".join([head, f"<title>{escape(title)}</title>", f"<style>{STYLE}</style>", *body, "</svg>", ""])
