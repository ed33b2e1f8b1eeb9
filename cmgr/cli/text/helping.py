"""The help in Chinese. Its English stands in docstrings and beside each option; by that a sentence is known here.

Pages and man pages are made of the same English. The catalog is read when somebody asks for help, and not before.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import typer

from cmgr import sentences
from cmgr.sentences.sentence import CHINESE, in_language, say
from cmgr.view.text.columns import broken, columns_of
from cmgr.words import json_of

_NOTES = {"default: ": "默认：", "required]": "必须给出]", "; ": "；"}
"""Words of typer itself about a value: `[default: 300; x>=1]`."""


_Formatter: Any = typer.Context.formatter_class


class Chinese(_Formatter):  # type: ignore[misc]  # typer hides what it is.
    """Writes what typer would write, by the columns that Chinese letters take."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        with open(f"{sentences.__path__[0]}/{CHINESE}/help.json", encoding="utf-8") as file:
            self._known = cast("Mapping[str, str]", json_of(file.read()))

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        self._lines(in_language(say("usage.usage", words=f"{prog} {args}"), CHINESE), more="  ")

    def write_heading(self, heading: str) -> None:
        self._lines(f"{self._said(heading)}：")

    def write_text(self, text: str) -> None:
        for place, paragraph in enumerate(text.split("\n\n")):
            self.write("\n" * bool(place))
            self._lines(self._said(paragraph))

    def write_dl(self, rows: Sequence[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        size = min(max(columns_of(name) for name, _ in rows), col_max) + col_spacing
        for name, text in rows:
            first, *rest = broken(self._said(text), self.width - self.current_indent - size)
            fits = columns_of(name) + col_spacing <= size
            for line in (name.ljust(size) + first,) if fits else (name, " " * size + first):
                self.write(f"{'':>{self.current_indent}}{line}\n")
            for line in rest:
                self.write(f"{'':>{self.current_indent + size}}{line}\n")

    def _lines(self, text: str, more: str = "") -> None:
        for line in broken(text, self.width - self.current_indent, more):
            self.write(f"{'':>{self.current_indent}}{line}\n")

    def _said(self, text: str) -> str:
        told, gap, notes = text.partition("  [")
        for english, chinese in _NOTES.items():
            notes = notes.replace(english, chinese)
        plain = " ".join(told.split())
        return self._known.get(plain, plain) + gap + notes
