"""Episodes and their timelines, from documents to lines."""

from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING

from cmgr.view.text import render
from cmgr.view.text.texts import Page
from cmgr.words import span

if TYPE_CHECKING:
    from cmgr.view import shapes


def episodes(told: "shapes.Episodes", page: Page) -> list[str]:
    """Return one row for each episode, the newest first."""
    if not told["episodes"]:
        return ["no episodes"]
    table = [
        (
            str(e["number"]),
            "-" if e["ring"] is None else str(e["ring"]),
            page.face.clock(e["began"]),
            span(timedelta(seconds=e["seconds"])),
            e["outcome"],
            e["cause"],
        )
        for e in told["episodes"]
    ]
    return page.table(("EPISODE", "RING", "BEGAN", "TOOK", "OUTCOME", "CAUSE"), table)


def all_notes(told: "shapes.History", page: Page) -> list[str]:
    """Return a line for each note of any episode or of none, the newest last."""
    if not told["notes"]:
        return ["nothing is noted"]
    table = [
        (page.face.clock(n["at"]), str(n["episode"] or "-"), n["kind"], page.face.local(n["text"]))
        for n in told["notes"]
    ]
    return page.table(("AT", "EPISODE", "KIND", "WHAT"), table)


def event(told: "shapes.HistoryLine", page: Page) -> str:
    """Return the line of one event."""
    of = f"episode {told['episode']}: " if told["episode"] else ""
    return f"{page.face.clock(told['at'])} {told['kind']}: {of}{page.face.local(told['text'])}"


def episode(told: "shapes.Timeline", page: Page) -> list[str]:
    """Return one episode's head and its timeline."""
    shown = told["episode"]
    took = "" if shown["ended"] is None else f", took {span(timedelta(seconds=shown['seconds']))}"
    ring = "" if shown["ring"] is None else f" of ring {shown['ring']}"
    head = f"episode {shown['number']}{ring}: {shown['outcome']}, began {page.face.when(shown['began'])}{took}"
    cause = [f"cause: {shown['cause']}"] if shown["cause"] else []
    told_cause = [line for text in cause for line in render.paragraph(text, page.width, "  ")]
    return [*render.paragraph(head, page.width, "  "), *told_cause, "", *notes(told["notes"], page)]


def notes(found: "Iterable[shapes.TimelineLine]", page: Page) -> list[str]:
    """Return a line for each note: how long after the beginning, what it is about, and what it says."""
    table = [(offset(n["offset"]), n["kind"], n["text"]) for n in found]
    if not table:
        return ["no timeline is kept of it"]
    size = max(len(row[0]) for row in table)
    return page.table(("AFTER".rjust(size), "KIND", "WHAT"), [(a.rjust(size), b, c) for a, b, c in table])


def offset(seconds: float) -> str:
    """Return `+0.012 s`; minutes and hours keep the seconds."""
    sign = "-" if seconds < 0 else "+"
    minutes, rest = divmod(abs(seconds), 60)
    hours, minutes = divmod(int(minutes), 60)
    if hours:
        return f"{sign}{hours}:{minutes:02d}:{rest:06.3f} h"
    return f"{sign}{minutes}:{rest:06.3f} min" if minutes else f"{sign}{rest:.3f} s"
