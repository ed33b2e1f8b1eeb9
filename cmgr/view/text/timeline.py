"""Episodes and their timelines, from documents to lines."""

from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING

from cmgr.sentences.sentence import say, sentence
from cmgr.view.text.columns import columns_of
from cmgr.view.text.texts import Page

if TYPE_CHECKING:
    from cmgr.view import shapes


def episodes(told: "shapes.Episodes", page: Page) -> list[str]:
    """Return one row for each episode, the newest first."""
    face = page.face
    if not told["episodes"]:
        return [face.says("label.no-episodes")]
    table = [
        (
            str(e["number"]),
            "-" if e["ring"] is None else str(e["ring"]),
            face.clock(e["began"]),
            face.says("label.length", length=timedelta(seconds=e["seconds"])),
            face.word(e["outcome"]),
            e["cause"],
        )
        for e in told["episodes"]
    ]
    return page.table(("EPISODE", "RING", "BEGAN", "TOOK", "OUTCOME", "CAUSE"), table)


def all_notes(told: "shapes.History", page: Page) -> list[str]:
    """Return a line for each note of any episode or of none, the newest last."""
    if not told["notes"]:
        return [page.face.says("label.no-notes")]
    face = page.face
    table = [
        (face.clock(n["at"]), str(n["episode"] or "-"), face.word(n["kind"]), face.local(n["text"]))
        for n in told["notes"]
    ]
    return page.table(("AT", "EPISODE", "KIND", "WHAT"), table)


def event(told: "shapes.HistoryLine", page: Page) -> str:
    """Return the line of one event."""
    face, at = page.face, page.face.clock(told["at"])
    kind, text = say("label.word", word=told["kind"]), face.local(face.said(spoken(told)))
    if told["episode"]:
        return face.says("label.event-of", at=at, kind=kind, episode=told["episode"], text=text)
    return face.says("label.event", at=at, kind=kind, text=text)


def spoken(told: "shapes.HistoryLine") -> str:
    """Return the text of a line that came as JSON, as a sentence where it has a message."""
    try:
        return sentence(told["text"], told["messages"]["text"])
    except (LookupError, TypeError):
        return told["text"]


def episode(told: "shapes.Timeline", page: Page) -> list[str]:
    """Return one episode's head and its timeline."""
    shown, began = told["episode"], page.face.when(told["episode"]["began"])
    if shown["ring"] is None:
        which = say("label.episode", number=shown["number"])
    else:
        which = say("label.episode-of-ring", number=shown["number"], ring=shown["ring"])
    if shown["ended"] is None:
        head = say("label.began", which=which, outcome=shown["outcome"], began=began)
    else:
        took = timedelta(seconds=shown["seconds"])
        head = say("label.began-and-took", which=which, outcome=shown["outcome"], began=began, took=took)
    cause = [say("label.cause", cause=shown["cause"])] if shown["cause"] else []
    return [*page.paragraphs([head, *cause]), "", *notes(told["notes"], page)]


def notes(found: "Iterable[shapes.TimelineLine]", page: Page) -> list[str]:
    """Return a line for each note: how long after the beginning, what it is about, and what it says."""
    face = page.face
    table = [(offset(n["offset"]), face.word(n["kind"]), n["text"]) for n in found]
    if not table:
        return [face.says("label.no-timeline")]
    size = max(len(row[0]) for row in table)
    after = face.word("AFTER")
    head = " " * (size - columns_of(after)) + after
    return page.table((head, "KIND", "WHAT"), [(a.rjust(size), b, c) for a, b, c in table])


def offset(seconds: float) -> str:
    """Return `+0.012 s`; minutes and hours keep the seconds."""
    sign = "-" if seconds < 0 else "+"
    minutes, rest = divmod(abs(seconds), 60)
    hours, minutes = divmod(int(minutes), 60)
    if hours:
        return f"{sign}{hours}:{minutes:02d}:{rest:06.3f} h"
    return f"{sign}{minutes}:{rest:06.3f} min" if minutes else f"{sign}{rest:.3f} s"
