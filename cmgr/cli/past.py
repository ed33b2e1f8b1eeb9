"""The command that shows the past: history."""

from dataclasses import dataclass
from typing import Annotated

import typer

from cmgr.cli import reading, show, source, timeline
from cmgr.cli.options import Common, Showing
from cmgr.cli.text import out
from cmgr.errors import CmgrError
from cmgr.words import Json

NOTES = 10_000
LIMIT = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryOptions(Showing):
    episode: Annotated[
        int | None, typer.Argument(metavar="[EPISODE]", help="The number of one episode: its whole timeline.")
    ] = None
    limit: Annotated[
        int | None,
        typer.Option("--limit", min=1, metavar="N", help="How many episodes or lines: the newest ones; else 20."),
    ] = None
    all: Annotated[
        bool, typer.Option("--all", help="The newest lines of every timeline and of no episode: orders, warnings.")
    ] = False


def history(options: HistoryOptions) -> int:
    """Show the episodes, or the timeline of one.

    The timeline has every decision with its reason and its time. Works without the service.
    """
    if options.all and options.episode is not None:
        raise typer.BadParameter("--all and EPISODE exclude each other")
    limit = options.limit or LIMIT
    if options.all:
        told = _lines(options, limit)
    else:
        told = episodes(options, limit) if options.episode is None else _episode(options, options.episode)
    if options.as_json:
        out.as_json(told)
    elif options.all:
        out.lines(timeline.all_notes(told, show.page()))
    elif options.episode is None:
        out.lines(timeline.episodes(told, show.page()))
    else:
        out.lines(timeline.episode(told, show.page()))
    if options.limit is None and options.episode is None and any(len(reading.rows(told, k)) == LIMIT for k in told):
        out.remark(f"the newest {LIMIT}; --limit N shows more")
    return 0


def episodes(common: Common, limit: int) -> Json:
    """Return the newest episodes, the newest first."""
    now = source.now()
    with source.opened(common) as database:
        return {"episodes": [timeline.episode_json(e, now) for e in database.episodes(limit)]}


def _lines(options: HistoryOptions, limit: int) -> Json:
    with source.opened(options) as database:
        return {"notes": [timeline.line_json(note) for note in database.notes(None, limit)]}


def _episode(options: HistoryOptions, number: int) -> Json:
    with source.opened(options) as database:
        episode = database.episode(number)
        if episode is None:
            raise CmgrError(
                f"cannot show episode {number}: there is none", hint="cmgr history lists those that are kept"
            )
        notes = [timeline.note_json(note, episode.began) for note in database.notes(number, NOTES)]
        return {"episode": timeline.episode_json(episode, source.now()), "notes": notes}
