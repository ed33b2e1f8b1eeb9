"""The commands that show what was decided: history, and events as they come."""

import json
from typing import TYPE_CHECKING

import typer

from cmgr.cli import show, source
from cmgr.cli.options import Common, Showing, argument, option
from cmgr.cli.text import out
from cmgr.frozen import dataclass
from cmgr.service.door import records
from cmgr.service.door.client import follow
from cmgr.view.text import timeline

if TYPE_CHECKING:
    from cmgr.view import shapes

LIMIT = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryOptions(Showing):
    episode: int | None = argument(
        "[EPISODE]", "The number of one episode: its whole timeline.", None, complete="episodes"
    )
    limit: int | None = option("--limit N", "How many episodes or lines: the newest ones; else 20.", min=1)
    all: bool = option("--all", "The newest lines of every timeline and of no episode: orders, warnings.", False)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsOptions(Showing):
    pass


def history(options: HistoryOptions) -> None:
    """Show the episodes, or the timeline of one.

    The timeline has every decision with its reason and its time. Works without the service.
    """
    if options.all and options.episode is not None:
        raise typer.BadParameter("--all and EPISODE exclude each other")
    if options.episode is not None:
        show_episode(options, options.episode)
        return
    limit = options.limit or LIMIT
    if options.all:
        with source.opened(options) as database:
            lines = records.lines(database, limit)
        shown = len(lines["notes"])
        out.result(lines, timeline.all_notes(lines, show.page()), options.as_json)
    else:
        found = episodes(options, limit)
        shown = len(found["episodes"])
        out.result(found, timeline.episodes(found, show.page()), options.as_json)
    if options.limit is None and shown == LIMIT:
        out.remark(f"the newest {LIMIT}; --limit N shows more")


def show_episode(options: Showing, number: int) -> None:
    """Show one episode and its timeline."""
    with source.opened(options) as database:
        whole = records.episode(database, number, source.now())
    out.result(whole, timeline.episode(whole, show.page()), options.as_json)


def episodes(common: Common, limit: int) -> "shapes.Episodes":
    """Return the newest episodes, the newest first."""
    with source.opened(common) as database:
        return records.episodes(database, limit, source.now())


def events(options: EventsOptions) -> None:
    """Show what is decided as it happens, until Ctrl-C.

    One line for each line that cmgr history shows later.
    """
    try:
        for line in follow(source.socket_of(options), "events"):
            if line is None:
                if out.nobody_reads():
                    return
            elif options.as_json:
                out.lines([line.decode()])
            else:
                out.lines([timeline.event(json.loads(line), show.page())])
            out.flush()
    except KeyboardInterrupt:
        # The usual way to end it: no failure.
        pass
