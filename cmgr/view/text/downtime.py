"""The downtime of a period: for a terminal, and as a page to print. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from cmgr.model.values.services.outages import OutageCause
from cmgr.sentences.sentence import Sentence, say
from cmgr.view.text.render import Face
from cmgr.view.text.texts import Page

if TYPE_CHECKING:
    from cmgr.view import slot_shapes

MEANINGS: Mapping[str, Sentence] = {
    OutageCause.FAULT: say("label.by-fault"),
    OutageCause.ORDER: say("label.by-order"),
    OutageCause.HEAL: say("label.by-heal"),
    OutageCause.MOVE: say("label.by-move"),
    OutageCause.GROUP: say("label.by-group"),
    OutageCause.MAINTENANCE: say("label.by-maintenance"),
    OutageCause.ITSELF: say("label.by-itself"),
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
    lines = page.paragraphs(_sentences(told, page.face))
    for head, rows in _tables(told, page.face):
        lines += ["", *page.table(head, rows)]
    return lines


def sheet(told: "slot_shapes.Downtime", page: Page) -> list[str]:
    """Return the same as a page of HTML to print: it needs no other file, and runs no program."""
    face = page.face
    title, *sentences = (escape(face.said(each)) for each in _sentences(told, face))
    begun = f'<html lang="{face.language}"><head><meta charset="utf-8">'
    lines = ["<!doctype html>", begun, f"<title>{title}</title>"]
    lines += ["<style>", *_STYLE.strip().split("\n"), "</style></head><body>", f"<h1>{title}</h1>"]
    lines += [f"<p>{sentence}</p>" for sentence in sentences]
    for head, rows in _tables(told, face):
        heads = _row("th", [face.word(each) for each in head])
        lines += ["<table>", heads, *(_row("td", row) for row in rows), "</table>"]
    return [*lines, "</body></html>"]


def _row(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{escape(cell)}</{tag}>' for cell in cells)}</tr>"


def _sentences(told: "slot_shapes.Downtime", face: Face) -> Iterator[Sentence]:
    period, since = told["period"], told["counted_since"]
    if since is None or since < told["ends"]:
        yield say("label.downtime-in", period=period, minutes=_number(told["minutes"]))
    else:
        yield say("label.downtime-not-known", period=period)
    yield say("label.from-until", begins=told["begins"][:10], ends=face.clock(told["ends"]))
    if told["recoveries"]:
        ended = say("label.has-ended", count=told["recoveries"], minutes=_number(told["recovery_minutes"]))
        if told["by_hand_minutes"] is None or told["reaction_minutes"] is None:
            yield ended
        else:
            reaction, by_hand = _number(told["reaction_minutes"]), _number(told["by_hand_minutes"])
            yield say("label.by-hand", ended=ended, reaction=reaction, minutes=by_hand)
    if since is not None and since > told["begins"]:
        yield say("label.not-counted-before", since=face.clock(since))
    if told["known_until"] < told["ends"]:
        yield say("label.not-known-since", since=face.clock(told["known_until"]))
    for each in told["silent"]:
        yield say("label.not-known-of", runtime=each["runtime"], since=face.clock(each["since"]))
    if told["unseen_minutes"]:
        yield say("label.not-seen", minutes=_number(told["unseen_minutes"]))
    yield say("label.not-counted")


def _tables(told: "slot_shapes.Downtime", face: Face) -> Iterator[tuple[Sequence[str], Iterable[Sequence[str]]]]:
    if told["causes"]:
        causes = told["causes"]
        yield _CAUSES, [(face.word(row["cause"]), *_figures(row), face.said(MEANINGS[row["cause"]])) for row in causes]
    if told["services"]:
        services = told["services"]
        yield _SERVICES, [(row["service"], *_figures(row), _number(row["unseen_minutes"])) for row in services]
    if told["now"]:
        now = told["now"]
        rows = [(n["service"], _number(n["minutes"]), face.word(n["cause"]), face.when(n["since"])) for n in now]
        yield _NOW, rows


def _figures(row: "slot_shapes.DowntimeSum") -> tuple[str, str, str]:
    return _number(row["minutes"]), str(row["outages"]), str(row["recoveries"])


def _number(minutes: float) -> str:
    return f"{minutes:,.1f}"
