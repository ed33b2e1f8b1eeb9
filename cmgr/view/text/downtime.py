"""The downtime of a period: for a terminal, and as a page to print. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from cmgr.model.values.services.outages import OutageCause
from cmgr.view.text import render
from cmgr.view.text.texts import Page
from cmgr.words import counted

if TYPE_CHECKING:
    from cmgr.view import slot_shapes

MEANINGS: Mapping[str, str] = {
    OutageCause.FAULT: "a fault of its chips",
    OutageCause.ORDER: "a reset or a test that was ordered",
    OutageCause.HEAL: "it failed or was unhealthy, and cmgr restarted it",
    OutageCause.MOVE: "it moved to other chips",
    OutageCause.GROUP: "its group was stopped",
    OutageCause.MAINTENANCE: "it went down while a person worked on the machine",
    OutageCause.ITSELF: "it ended, or did not serve, by itself",
}
"""By the causes that are known."""

_CAUSES = ("CAUSE", "MINUTES", "OUTAGES", "BY CMGR", "MEANING")
_SERVICES = ("SERVICE", "MINUTES", "OUTAGES", "BY CMGR", "NOT KNOWN")
_NOW = ("DOWN NOW", "MINUTES", "CAUSE", "SINCE")

_STYLE = """
body { font: 11pt/1.4 sans-serif; margin: 2cm auto; max-width: 18cm; color: #000; background: #fff }
h1 { font-size: 16pt } table { border-collapse: collapse; width: 100%; margin: 1em 0 }
th, td { text-align: left; padding: .2em .6em .2em 0; border-bottom: 1px solid #999 }
@media print { body { margin: 0 } tr { break-inside: avoid } }
"""


def downtime(told: "slot_shapes.Downtime", page: Page) -> list[str]:
    """Return the one number, then what it is made of, and what is not in it."""
    lines = [part for line in _sentences(told, page) for part in render.paragraph(line, page.width, "  ")]
    for head, rows in _tables(told, page):
        lines += ["", *render.table(head, rows, page.width)]
    return lines


def sheet(told: "slot_shapes.Downtime", page: Page) -> list[str]:
    """Return the same as a page of HTML to print: it needs no other file, and runs no program."""
    title, *sentences = map(escape, _sentences(told, page))
    lines = ["<!doctype html>", '<html lang="en"><head><meta charset="utf-8">', f"<title>{title}</title>"]
    lines += ["<style>", *_STYLE.strip().split("\n"), "</style></head><body>", f"<h1>{title}</h1>"]
    lines += [f"<p>{sentence}</p>" for sentence in sentences]
    for head, rows in _tables(told, page):
        lines += ["<table>", _row("th", head), *(_row("td", row) for row in rows), "</table>"]
    return [*lines, "</body></html>"]


def _row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


def _sentences(told: "slot_shapes.Downtime", page: Page) -> Iterator[str]:
    known = told["counted_since"] is None or told["counted_since"] < told["ends"]
    number = f"{_min(told['minutes'])}, each service for itself" if known else "not known"
    yield f"downtime in {told['period']}: {number}"
    yield f"from {told['begins'][:10]} (UTC) until {page.face.clock(told['ends'])}"
    if told["recoveries"]:
        ended = f"cmgr has ended {counted(told['recoveries'], 'outage')}, which took {_min(told['recovery_minutes'])}"
        yield f"{ended}{_by_hand(told)}"
    if told["counted_since"] is not None and told["counted_since"] > told["begins"]:
        yield f"not known: all before {page.face.clock(told['counted_since'])}, since when it is counted"
    if told["known_until"] < told["ends"]:
        yield f"not known: all since {page.face.clock(told['known_until'])}, when cmgr was there last"
    for each in told["silent"]:
        yield f"not known: the services of {each['runtime']} since {page.face.clock(each['since'])}: it does not answer"
    if told["unseen_minutes"]:
        yield f"not known: {_min(told['unseen_minutes'])} in which services changed and nobody saw it"
    yield "not counted: what a person has stopped, paused or removed"


def _by_hand(told: "slot_shapes.Downtime") -> str:
    """Return what a person would have made of it; nothing where nobody has said how long he takes."""
    if told["by_hand_minutes"] is None or told["reaction_minutes"] is None:
        return ""
    return (
        f"; with a person who begins after {_min(told['reaction_minutes'])} it would have been "
        f"{_min(told['by_hand_minutes'])}"
    )


def _tables(told: "slot_shapes.Downtime", page: Page) -> Iterator[tuple[Sequence[str], Iterable[Sequence[str]]]]:
    if told["causes"]:
        yield _CAUSES, [(row["cause"], *_figures(row), MEANINGS[row["cause"]]) for row in told["causes"]]
    if told["services"]:
        services = told["services"]
        yield _SERVICES, [(row["service"], *_figures(row), _number(row["unseen_minutes"])) for row in services]
    if told["now"]:
        now = told["now"]
        yield _NOW, [(n["service"], _number(n["minutes"]), n["cause"], page.face.when(n["since"])) for n in now]


def _figures(row: "slot_shapes.DowntimeSum") -> tuple[str, str, str]:
    return _number(row["minutes"]), str(row["outages"]), str(row["recoveries"])


def _min(minutes: float) -> str:
    return f"{_number(minutes)} min"


def _number(minutes: float) -> str:
    return f"{minutes:,.1f}"
