"""The figures of a run: what was measured, what it must be, what the program that cmgr replaces needs for it."""

import json
import math
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

_LEADING = re.compile(r"(?:about )?([\d,.]+) ([A-Za-z%]+)")
_UNITS = {("ms", "ms"): 1.0, ("s", "ms"): 1000.0, ("s", "s"): 1.0, ("MB", "MB"): 1.0, ("%", "%"): 1.0}

FILE = Path(__file__).parents[1] / "results.json"
PAGE = Path(__file__).parents[2] / "docs" / "performance.md"


@dataclass(frozen=True, slots=True)
class Figure:
    """One number. `most`: what it may be at most (design.md, section 10); None where nothing is asked for.

    `reference`: the same on container-manager, measured on a machine of this size, unless `bench.reference` has
    measured it in this run. `floor`: what the machine itself
    needs, in the same run; None where it sets none.
    """

    part: str
    what: str
    value: float
    unit: str
    most: float | None = None
    n: int = 1
    reference: str = ""
    values: tuple[float, ...] = ()
    """Every single measurement, where a picture shows it."""
    floor: float | None = None
    disturbed: bool = False
    """Whether the machine was not itself while this was measured, the second time, too."""

    @property
    def kept(self) -> bool:
        return self.most is None or self.value <= self.most


def quantile(values: Sequence[float], share: float) -> float:
    """Return the smallest value that is not exceeded by this share of all."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def save(machine: Mapping[str, str], figures: Sequence[Figure]) -> None:
    told = {"machine": dict(machine), "figures": [{**asdict(f), "kept": f.kept} for f in figures]}
    FILE.write_text(json.dumps(told, indent=1) + "\n")


def load() -> tuple[Mapping[str, str], list[Figure]]:
    """Return what the last run saved. Raises `FileNotFoundError`."""
    told = json.loads(FILE.read_text())
    names = [name for name in Figure.__slots__ if name != "values"]
    rows = told["figures"]
    return told["machine"], [
        Figure(**{name: row[name] for name in names if name in row}, values=tuple(row["values"])) for row in rows
    ]


FIRST: Sequence[tuple[str, str]] = (
    ("Fault callback to the first stop request at the runtime", "ringRecover, 8 containers: p50"),
    ("From the last of 8 answered stops to the driver's reset call", "p50"),
    ("Fault to containers running again", "8 containers: in all, median"),
    ("Times that people wait", "cmgr status: p50"),
    ("Idle: 16 chips, 64 containers", "memory (RSS)"),
    ("Idle: 16 chips, 64 containers", "processor"),
)
"""The figures that matter most, by part and name: the page has these before all."""

NOTES = (
    "disturbed: a piece of work that is always the same took more than twice as long as usual right before or behind "
    "it, or the machine below this one took more than 2 % of the processors' time meanwhile; and it was so again when "
    "all that was measured once more.",
    "p99 of fewer than 100 values is the largest. cmgr's own share: what remains when the time in which stops and "
    "starts were under way at the runtime, the driver's reset and the chips' boot (0.2 and 0.3 s, simulated) are "
    "taken off.",
    "floor: what the machine itself needs for it, the median of some tries in the same run without cmgr: dockerd's "
    "stops and starts, alone, with the driver's reset and boot; one sync of a page appended to a file, before a stop "
    "may be asked for; the start of the interpreter, and a list of dockerd's containers; the memory of an interpreter "
    "that has imported docker, sqlalchemy, apscheduler, loguru and typer; the processor time of a process that wakes "
    "once a second. Commands are those of the packages, with the bench's own interpreter and libraries.",
    "reference: MindCluster's container-manager, and how many times as much as cmgr it needs. Unless the first line "
    "says that it was measured in this run: the one of 2026-08, on 2 cores with Docker 20.10.24 and a simulated driver "
    "with the same times.",
)

HEADS = ("", "measured", "must be", "", "floor", "n", "reference")


def rows(figures: Sequence[Figure]) -> list[tuple[str, ...]]:
    """Return each figure as the texts of one line."""
    return [(f.what, said(f.value, f.unit), _asked(f), _verdict(f), _floor(f), str(f.n), _beside(f)) for f in figures]


def table(machine: Mapping[str, str], figures: Sequence[Figure]) -> str:
    """Return everything as text for a terminal."""
    lines = [f"{name:<10} {value}" for name, value in machine.items()]
    texts = rows(figures)
    widths = [max(len(row[i]) for row in [HEADS, *texts]) for i in range(len(HEADS))]
    part = ""
    for figure, row in zip(figures, texts, strict=True):
        if figure.part != part:
            part = figure.part
            lines += ["", f"{part:<{widths[0]}}  {_joined(HEADS, widths)}".rstrip()]
        lines.append(f"{row[0]:<{widths[0]}}  {_joined(row, widths)}".rstrip())
    missed = [f for f in figures if not f.kept]
    asked = [f for f in figures if f.most is not None]
    lines += ["", f"{len(asked) - len(missed)} of {len(asked)} figures are as they must be.", ""]
    for note in NOTES:
        lines += textwrap.wrap(note, 100)
    return "\n".join(lines)


def markdown(machine: Mapping[str, str], figures: Sequence[Figure]) -> str:
    """Return everything as a table for docs/performance.md."""
    first = sorted((f for f in figures if (f.part, f.what) in FIRST), key=lambda f: FIRST.index((f.part, f.what)))
    lines = [", ".join(f"{name} {value}" for name, value in machine.items()), "", *_rows(first), ""]
    asked = [figure for figure in figures if figure.most is not None]
    kept = f"{sum(figure.kept for figure in asked)} of {len(asked)} are as they must be"
    lines += ["<details>", f"<summary>All {len(figures)} figures, of which {kept}</summary>", "", *_rows(figures), ""]
    lines += ["</details>", "", *NOTES]
    return "\n".join(lines)


def _rows(figures: Sequence[Figure]) -> list[str]:
    lines = [f"| {' | '.join(HEADS)} |".replace("|  |", "| |"), "|---" * len(HEADS) + "|"]
    for figure, row in zip(figures, rows(figures), strict=True):
        lines.append("| " + " | ".join((f"{figure.part}: {row[0]}", *row[1:])) + " |")
    return lines


def write(machine: Mapping[str, str], figures: Sequence[Figure], page: Path = PAGE) -> None:
    """Write the table into its place in the page."""
    text = page.read_text()
    before, begin, rest = text.partition("<!-- bench -->\n")
    _, end, after = rest.partition("<!-- end -->")
    if not (begin and end):
        raise ValueError(f"{page} has no place for the figures")
    page.write_text(f"{before}{begin}{markdown(machine, figures)}\n{end}{after}")


def _joined(row: Sequence[str], widths: Sequence[int]) -> str:
    value, most, verdict, floor, n, reference = row[1:]
    right = f"{value:>{widths[1]}}  {most:>{widths[2]}}  {verdict:<{widths[3]}}  {floor:>{widths[4]}}  {n:>{widths[5]}}"
    return f"{right}  {reference}"


def said(value: float, unit: str) -> str:
    digits = 0 if value == int(value) or abs(value) >= 100 else 2 if abs(value) < 10 else 1
    return f"{value:,.{digits}f} {unit}".strip()


def _asked(figure: Figure) -> str:
    return "" if figure.most is None else f"≤ {said(figure.most, figure.unit)}"


def _floor(figure: Figure) -> str:
    return "" if figure.floor is None else said(figure.floor, figure.unit)


def _beside(figure: Figure) -> str:
    """Return what the reference needs, and how many times as much that is, where both are in units of one kind."""
    found = _LEADING.match(figure.reference)
    factor = _UNITS.get((found[2], figure.unit.partition(" ")[0])) if found else None
    if found is None or factor is None or not figure.value:
        return figure.reference
    times = float(found[1].replace(",", "")) * factor / figure.value
    return f"{figure.reference}, {times:.{1 if times < 10 else 0}f} times"


def _verdict(figure: Figure) -> str:
    verdict = "" if figure.most is None else "pass" if figure.kept else "FAIL"
    return ", ".join(filter(None, [verdict, "disturbed" if figure.disturbed else ""]))
