"""What commands write: results on standard output, remarks about them on standard error."""

import json
import os
import shutil
import sys
from collections.abc import Iterable, Mapping

from cmgr.cli.render import WIDTH, paragraph

_GREEN, _RED, _END = "\x1b[1;32m", "\x1b[1;31m", "\x1b[0m"


def lines(text: Iterable[str]) -> None:
    sys.stdout.write("".join(f"{line}\n" for line in text))


def told(sentences: Iterable[str]) -> None:
    """Write the sentences, each on lines of its own that fit the terminal."""
    lines(line for sentence in sentences for line in paragraph(sentence, width(), "  "))


def headline(text: str, *, well: bool) -> None:
    """Write the line that says it all: on a terminal in bold green or red, unless NO_COLOR is set."""
    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    lines([f"{_GREEN if well else _RED}{text}{_END}" if coloured else text])


def as_json(value: Mapping[str, object]) -> None:
    lines([json.dumps(value, indent=2, ensure_ascii=False)])


def flush() -> None:
    """Let what was written be read now, through a pipe too."""
    sys.stdout.flush()


def remark(text: str) -> None:
    sys.stdout.flush()
    sys.stderr.write(f"cmgr: {text}\n")


def width() -> int:
    """Return the columns of the terminal, and 80 where there is none."""
    return max(shutil.get_terminal_size((WIDTH, 24)).columns, WIDTH) if sys.stdout.isatty() else WIDTH
