"""Episodes and their timelines, from the database's rows to JSON and to lines."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from cmgr.cli.reading import rows
from cmgr.cli.text import render
from cmgr.cli.text.texts import Page
from cmgr.words import Json, one_line, span, stamp, stamp_or_none

if TYPE_CHECKING:
    from cmgr.store.history import EpisodeRow, NoteRow

UNDER_WAY = "under way"


def episode_json(episode: "EpisodeRow", now: datetime) -> Json:
    """Return an episode; `seconds` of one that is under way run until now."""
    length = (episode.ended or now) - episode.began
    return {
        "number": episode.number,
        "ring": episode.ring,
        "began": stamp(episode.began),
        "ended": stamp_or_none(episode.ended),
        "seconds": round(max(length, timedelta()).total_seconds(), 3),
        "outcome": one_line(episode.outcome) if episode.ended is not None else UNDER_WAY,
        "cause": one_line(episode.cause),
    }


def note_json(note: "NoteRow", began: datetime) -> Json:
    """Return a line of the timeline; `offset` is in seconds from the episode's beginning."""
    return {"at": stamp(note.at), "offset": round((note.at - began).total_seconds(), 3), **_note(note)}


def line_json(note: "NoteRow") -> Json:
    """Return a line of any timeline, or of none."""
    return {"at": stamp(note.at), "ring": note.ring, "episode": note.episode or None, **_note(note)}


def _note(note: "NoteRow") -> Json:
    key = note.container
    return {
        "kind": str(note.kind),
        "text": one_line(note.text),
        "chip": note.chip,
        "container": None if key is None else {"runtime": key.runtime, "namespace": key.namespace, "id": key.id},
    }


def episodes(told: Mapping[str, object], page: Page) -> list[str]:
    """Return one row for each episode, the newest first."""
    found = rows(told, "episodes")
    if not found:
        return ["no episodes"]
    table = [
        (
            str(e["number"]),
            "-" if e["ring"] is None else str(e["ring"]),
            page.face.clock(e["began"]),
            span(timedelta(seconds=float(str(e["seconds"])))),
            str(e["outcome"]),
            str(e["cause"]),
        )
        for e in found
    ]
    return render.table(("EPISODE", "RING", "BEGAN", "TOOK", "OUTCOME", "CAUSE"), table, page.width)


def all_notes(told: Mapping[str, object], page: Page) -> list[str]:
    """Return a line for each note of any episode or of none, the newest last."""
    found = rows(told, "notes")
    if not found:
        return ["nothing is noted"]
    table = [
        (page.face.clock(n["at"]), str(n["episode"] or "-"), str(n["kind"]), page.face.local(n["text"])) for n in found
    ]
    return render.table(("AT", "EPISODE", "KIND", "WHAT"), table, page.width)


def episode(told: Mapping[str, object], page: Page) -> list[str]:
    """Return one episode's head and its timeline."""
    shown = told["episode"]
    assert isinstance(shown, dict), "an episode is an object"
    length = span(timedelta(seconds=float(str(shown["seconds"]))))
    took = "" if shown["ended"] is None else f", took {length}"
    ring = "" if shown["ring"] is None else f" of ring {shown['ring']}"
    head = f"episode {shown['number']}{ring}: {shown['outcome']}, began {page.face.when(shown['began'])}{took}"
    cause = [f"cause: {shown['cause']}"] if shown["cause"] else []
    told_cause = [line for text in cause for line in render.paragraph(text, page.width, "  ")]
    return [*render.paragraph(head, page.width, "  "), *told_cause, "", *notes(rows(told, "notes"), page.width)]


def notes(found: Iterable[Mapping[str, object]], width: int) -> list[str]:
    """Return a line for each note: how long after the beginning, what it is about, and what it says."""
    table = [(offset(float(str(n["offset"]))), str(n["kind"]), str(n["text"])) for n in found]
    if not table:
        return ["no timeline is kept of it"]
    size = max(len(row[0]) for row in table)
    return render.table(("AFTER".rjust(size), "KIND", "WHAT"), [(a.rjust(size), b, c) for a, b, c in table], width)


def offset(seconds: float) -> str:
    """Return `+0.012 s`; minutes and hours keep the seconds."""
    sign = "-" if seconds < 0 else "+"
    minutes, rest = divmod(abs(seconds), 60)
    hours, minutes = divmod(int(minutes), 60)
    if hours:
        return f"{sign}{hours}:{minutes:02d}:{rest:06.3f} h"
    return f"{sign}{minutes}:{rest:06.3f} min" if minutes else f"{sign}{rest:.3f} s"
