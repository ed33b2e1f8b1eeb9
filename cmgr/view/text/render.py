"""Rows and times as text for a terminal: pure functions of what they are given."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta, tzinfo
from functools import lru_cache
from typing import NamedTuple

from cmgr.sentences.sentence import ENGLISH, Arg, Sentence, in_language, say
from cmgr.view.text.columns import broken, columns_of, filled
from cmgr.words import one_line

WIDTH = 80
GAP = "  "
_SECOND = timedelta(seconds=1)
_ALMOST = timedelta(milliseconds=999)
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
LEAST = 16  # A last column narrower than this is hard to read.
MOST = 32  # One name longer than this must not push the columns of all rows apart.


class Face(NamedTuple):
    """How a text is shown: times as seen from `now`, in `zone` (None: this machine's own), and words in `language`."""

    now: datetime
    zone: tzinfo | None = None
    language: str = ENGLISH

    def says(self, id_: str, **args: Arg) -> str:
        """Return what `say` returns, in the reader's language."""
        return in_language(say(id_, **args), self.language)

    def word(self, word: str) -> str:
        """Return a word of a document, such as a state, in the reader's language; as it is where that has none."""
        return self.said(_word(word))

    def said(self, text: str) -> str:
        """Return a sentence in the reader's language."""
        return in_language(text, self.language)

    def clock(self, at: str) -> str:
        """Return the local time, with the date when that is not today's. `at` is ISO text as the views give it."""
        local = datetime.fromisoformat(at).astimezone(self.zone)
        same_day = local.date() == self.now.astimezone(self.zone).date()
        return local.strftime("%H:%M:%S" if same_day else "%Y-%m-%d %H:%M:%S")

    def is_ahead(self, at: str) -> bool:
        """Return whether it is more than a second from now."""
        return datetime.fromisoformat(at) - self.now > _SECOND

    def ago(self, at: str) -> str:
        """Return how far from now: `12 s ago`, `in 3 min`."""
        away = self.now - datetime.fromisoformat(at)
        if away < -_SECOND:
            # A deadline of 2 h that was just set is in 2 h, not in 1 h 59 min.
            return self.said(_ahead(_rough(-away + _ALMOST)))
        return self.said(_ago(_rough(away))) if away >= _SECOND else self.word("now")

    def local(self, text: str) -> str:
        """Return the text with the times in it as local ones."""
        return _STAMP.sub(lambda found: self.clock(found[0]), text)

    def when(self, at: str | None) -> str:
        """Return both: `14:03:12, 12 s ago`; nothing for None."""
        return "" if at is None else self.says("label.when", clock=self.clock(at), ago=self.ago(at))


@lru_cache(256)  # The rows of a table have few different ones.
def _word(word: str) -> Sentence:
    return say("label.word", word=word)


@lru_cache(256)
def _ahead(length: timedelta) -> Sentence:
    return say("label.ahead", length=length)


@lru_cache(256)
def _ago(length: timedelta) -> Sentence:
    return say("label.ago", length=length)


def _rough(length: timedelta) -> timedelta:
    """Return the length in its largest unit: what an eye needs."""
    for unit in (timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)):
        if length >= 2 * unit:
            return length // unit * unit
    return timedelta(seconds=int(length.total_seconds()))


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
    sizes = [_size(line[n] for line in lines) for n in range(len(head) - 1)]
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


def _size(cells: Iterable[str]) -> int:
    return max(size for size in map(columns_of, cells) if size <= MOST)


def _in_columns(cells: Sequence[str], sizes: Sequence[int]) -> list[str]:
    """Return the cells as one line, or as several that each end with one that is too long for its column."""
    done, line, place = [], "", 0
    for cell, size in zip(cells, sizes, strict=True):
        place += size + len(GAP)
        line += cell
        if columns_of(cell) > size:
            done.append(line)
            line = ""
        line = filled(line, place)
    return [*done, line]


def wrapped(text: str, width: int) -> list[str]:
    """Return the text in lines of at most this width; a longer word stays whole, it may be an id."""
    return [part for line in text.split("\n") for part in broken(line, width)]


def paragraph(text: str, width: int = WIDTH, indent: str = "") -> list[str]:
    """Return the text wrapped, every line but the first indented."""
    return broken(text, width, indent)


def aligned(pairs: Sequence[tuple[str, str]], width: int = WIDTH) -> list[str]:
    """Return names and what they are, one below the other."""
    size = max(columns_of(name) for name, _ in pairs)
    lines = []
    for name, text in pairs:
        first, *rest = wrapped(text, max(width - size - len(GAP), LEAST))
        lines.append((filled(name, size) + GAP + first).rstrip())
        lines += [" " * (size + len(GAP)) + line for line in rest]
    return lines
