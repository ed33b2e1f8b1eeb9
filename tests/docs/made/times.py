"""`python -m tests.docs.made.times`: write how long the parts of CI took here into CONTRIBUTING.md.

`tests/support/timed.sh` leaves them in build/times, the latest run of each part last.
"""

import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.support import machine

ROOT = Path(__file__).parents[3]
FILE = ROOT / "build" / "times"
PAGE = ROOT / "CONTRIBUTING.md"
BRIEF = 1
"""A part that took no more seconds is not shown."""

LONGEST = 90
"""So much of a part's command is shown."""


def latest(lines: Iterable[str]) -> Mapping[str, Mapping[str, int]]:
    """Return the seconds of each part of each target, from its latest run."""
    found: dict[str, dict[str, int]] = {}
    for line in lines:
        target, seconds, part = line.rstrip("\n").split("\t")
        found.setdefault(target, {})[part] = int(seconds)
    return found


def block(told: Mapping[str, str], found: Mapping[str, Mapping[str, int]]) -> str:
    """Return a line for each target and for each of its parts, as the page shows it."""
    rows = ["| | | took |", "|---|---|---:|"]
    for target, parts in found.items():
        rows.append(f"| `make {target}` | | {_said(sum(parts.values()))} |")
        rows += [f"| | `{_short(part)}` | {_said(seconds)} |" for part, seconds in parts.items() if seconds > BRIEF]
    rows.append(f"| in all | | {_said(sum(sum(parts.values()) for parts in found.values()))} |")
    return "\n".join([", ".join(f"{name} {value}" for name, value in told.items()), "", *rows])


def page(text: str, shown: str) -> str:
    """Return the page's text with this block in its place."""
    place = re.compile(r"(<!-- measured: times -->\n).*?(<!-- end -->)", re.DOTALL)
    assert place.search(text), "the page has no place for the times"
    return place.sub(lambda at: f"{at[1]}{shown}\n{at[2]}", text)


def _said(seconds: int) -> str:
    return f"{seconds // 60}:{seconds % 60:02}"


def _short(part: str) -> str:
    short = part if len(part) <= LONGEST else f"{part[: LONGEST - 1]}…"
    return short.replace("|", r"\|")


def main() -> int:
    if not FILE.exists():
        sys.stderr.write(f"cannot write {PAGE.name}: there is no {FILE} (hint: .ci/run)\n")
        return 1
    PAGE.write_text(page(PAGE.read_text(), block(machine.described({}), latest(FILE.read_text().splitlines()))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
