"""Columns of a terminal: how many a text takes, and where it is broken. A Chinese letter takes two, and needs no blank.

Source of the widths: Unicode's annex 11, by which terminals go: W and F take two columns, marks above a letter none.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from unicodedata import combining, east_asian_width

_WIDE = "\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6"
_BLANKS = dict.fromkeys(map(ord, "\n\v\f\r"), " ")
_OPENING, _CLOSING = "（《「『【“", "，。、；：？\uff01）》」』】”%"
_PIECES = rf"\s+|[{_OPENING}]*(?:[{_WIDE}]|[^\s{_WIDE}]+)?[{_CLOSING}]*"
"""Each stays on one line: a wide letter or a narrow word, with the signs that do not stand apart from it. To compile it
takes long, and it is for Chinese alone."""


def columns_of(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(map(_columns_of, text))


@lru_cache(1024)  # A page of Chinese has fewer different ones.
def _columns_of(letter: str) -> int:
    return 0 if combining(letter) else 2 if east_asian_width(letter) in "WF" else 1


def filled(text: str, columns: int) -> str:
    """Return the text with blanks behind it, up to so many columns."""
    return text + " " * (columns - columns_of(text))


def broken(text: str, width: int, indent: str = "") -> list[str]:
    """Return the text in lines of at most so many columns, all but the first indented; a longer word stays whole."""
    columns = columns_of(text)
    if columns <= width and text.isprintable():
        return [text.rstrip()]
    if columns == len(text):
        return _between_words(text.expandtabs().translate(_BLANKS), width, indent)
    return [*_between_letters(text, width, indent)]


def _between_words(text: str, width: int, indent: str) -> list[str]:
    # textwrap takes a text apart word by word, which takes ten times as long.
    lines, rest, before = list[str](), text, ""
    while len(before) + len(rest) > width:
        blanks = len(rest) - len(rest.lstrip(" "))
        end = rest.rfind(" ", blanks, max(width - len(before) + 1, 0))
        if end < 0 and blanks:
            rest = rest[blanks:]  # The first word does not fit behind them.
            continue
        end = end if end >= 0 else rest.find(" ")
        if end < 0:
            break
        lines.append(before + rest[:end].rstrip())
        rest, before = rest[end:].lstrip(" "), indent
    return [*lines, (before + rest).rstrip()] if rest or not lines else lines


def _between_letters(text: str, width: int, indent: str) -> Iterator[str]:
    line, place, is_begun, is_first = "", 0, False, True
    for piece in filter(None, re.findall(_PIECES, text)):
        size = columns_of(piece)
        if is_begun and place + size > width and place + columns_of(piece.rstrip()) > width:
            yield line.rstrip()
            line, place, is_begun, is_first = indent, columns_of(indent), False, False
        if is_begun or is_first or not piece.isspace():
            line, place = line + piece, place + size
            is_begun = is_begun or not piece.isspace()
    yield line.rstrip()
