"""Rows and times as text for a terminal: pure functions of what they are given."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta, tzinfo
from typing import NamedTuple

from cmgr.words import one_line, span

WIDTH = 80
GAP = "  "
_ALMOST = timedelta(milliseconds=999)
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
LEAST = 16  # A last column narrower than this is hard to read.
MOST = 32  # One name longer than this must not push the columns of all rows apart.


class Face(NamedTuple):
    """How times are shown: seen from `now`, in `zone` (None: this machine's own)."""

    now: datetime
    zone: tzinfo | None = None

    def clock(self, at: str) -> str:
        """Return the local time, with the date when that is not today's. `at` is ISO text as the views give it."""
        local = datetime.fromisoformat(at).astimezone(self.zone)
        same_day = local.date() == self.now.astimezone(self.zone).date()
        return local.strftime("%H:%M:%S" if same_day else "%Y-%m-%d %H:%M:%S")

    def ago(self, at: str) -> str:
        """Return how far from now: `12 s ago`, `in 3 min`."""
        away = self.now - datetime.fromisoformat(at)
        if away < -timedelta(seconds=1):
            return f"in {_rough(-away + _ALMOST)}"  # A deadline of 2 h that was just set is in 2 h, not in 1 h 59 min.
        return f"{_rough(away)} ago" if away >= timedelta(seconds=1) else "now"

    def local(self, text: str) -> str:
        """Return the text with the times in it as local ones."""
        return _STAMP.sub(lambda found: self.clock(found[0]), text)

    def when(self, at: str | None) -> str:
        """Return both: `14:03:12, 12 s ago`; nothing for None."""
        return "" if at is None else f"{self.clock(at)}, {self.ago(at)}"


def _rough(length: timedelta) -> str:
    """Return the length in its largest unit: what an eye needs."""
    for unit in (timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)):
        if length >= 2 * unit:
            return span(length // unit * unit)
    return span(timedelta(seconds=int(length.total_seconds())))


def block(lines: Iterable[str]) -> str:
    """Return the lines as they are written. No control character of what they were made of reaches a terminal."""
    return "".join(f"{one_line(line)}\n" for line in lines)


def indented(value: Mapping[str, object]) -> str:
    """Return the value as JSON for persons and programs."""
    text = json.dumps(value, indent=2, ensure_ascii=False)
    # JSON has to escape only some control characters, and a terminal obeys others as well (U+009B).
    return "".join(f"{line if line.isprintable() else _escaped(line)}\n" for line in text.split("\n"))


def _escaped(line: str) -> str:
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line)


def table(head: Sequence[str], rows: Iterable[Sequence[str]], width: int = WIDTH) -> list[str]:
    """Return the rows in columns under their heads. Only the last column is wrapped to keep to the width.

    A row may have lines of its own: each line end in its last cell begins a new one. Where the other columns leave no
    room for the last one, it stands below them. After a cell that is too long for its column the row goes on below.
    """
    lines = [tuple(head), *(tuple(row) for row in rows)]
    sizes = [max(len(line[n]) for line in lines if len(line[n]) <= MOST) for n in range(len(head) - 1)]
    before = sum(sizes) + len(GAP) * len(sizes)
    shown: list[str] = []
    for line in lines:
        *over, first = _in_columns(line[:-1], sizes)
        shown += over
        if width - before >= LEAST:
            last = wrapped(line[-1], width - before)
            shown += [first + last[0], *(" " * before + part for part in last[1:])]
        else:
            last = wrapped(line[-1], width - 2 * len(GAP)) if line is not lines[0] and line[-1] else []
            shown += [first, *(2 * GAP + part for part in last)]
    return [line.rstrip() for line in shown]


def _in_columns(cells: Sequence[str], sizes: Sequence[int]) -> list[str]:
    """Return the cells as one line, or as several that each end with one that is too long for its column."""
    done, line, place = [], "", 0
    for cell, size in zip(cells, sizes, strict=True):
        place += size + len(GAP)
        line += cell
        if len(cell) > size:
            done.append(line)
            line = ""
        line = line.ljust(place)
    return [*done, line]


def wrapped(text: str, width: int) -> list[str]:
    """Return the text in lines of at most this width; a longer word stays whole, it may be an id."""
    import textwrap

    lines: list[str] = []
    for line in text.split("\n"):
        lines += textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False) or [""]
    return lines


def paragraph(text: str, width: int = WIDTH, indent: str = "") -> list[str]:
    """Return the text wrapped, every line but the first indented."""
    import textwrap

    return textwrap.wrap(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False) or [""]


def aligned(pairs: Sequence[tuple[str, str]], width: int = WIDTH) -> list[str]:
    """Return names and what they are, one below the other."""
    size = max(len(name) for name, _ in pairs)
    lines = []
    for name, text in pairs:
        first, *rest = wrapped(text, max(width - size - len(GAP), LEAST))
        lines.append((name.ljust(size) + GAP + first).rstrip())
        lines += [" " * (size + len(GAP)) + line for line in rest]
    return lines
