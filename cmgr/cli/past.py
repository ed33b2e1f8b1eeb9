"""The commands that show what was decided: history, and events as they come."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cmgr.cli import show, source
from cmgr.cli.options import Common, Showing
from cmgr.cli.text import out, timeline
from cmgr.frozen import dataclass
from cmgr.service.door.client import follow

if TYPE_CHECKING:
    from cmgr.view import shapes

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


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsOptions(Showing):
    pass


def history(options: HistoryOptions) -> int:
    """Show the episodes, or the timeline of one.

    The timeline has every decision with its reason and its time. Works without the service.
    """
    if options.all and options.episode is not None:
        raise typer.BadParameter("--all and EPISODE exclude each other")
    if options.episode is not None:
        whole = _episode(options, options.episode)
        _emit(options, whole, timeline.episode(whole, show.page()))
        return 0
    limit = options.limit or LIMIT
    if options.all:
        lines = _lines(options, limit)
        shown = len(lines["notes"])
        _emit(options, lines, timeline.all_notes(lines, show.page()))
    else:
        found = episodes(options, limit)
        shown = len(found["episodes"])
        _emit(options, found, timeline.episodes(found, show.page()))
    if options.limit is None and shown == LIMIT:
        out.remark(f"the newest {LIMIT}; --limit N shows more")
    return 0


def _emit(options: HistoryOptions, told: Mapping[str, object], lines: Sequence[str]) -> None:
    if options.as_json:
        out.as_json(told)
    else:
        out.lines(lines)


def episodes(common: Common, limit: int) -> "shapes.Episodes":
    """Return the newest episodes, the newest first."""
    from cmgr.service.door import records

    with source.opened(common) as database:
        return records.episodes(database, limit, source.now())


def _lines(options: HistoryOptions, limit: int) -> "shapes.History":
    from cmgr.service.door import records

    with source.opened(options) as database:
        return records.lines(database, limit)


def _episode(options: HistoryOptions, number: int) -> "shapes.Timeline":
    from cmgr.service.door import records

    with source.opened(options) as database:
        return records.episode(database, number, source.now())


def events(options: EventsOptions) -> int:
    """Show what is decided as it happens, until Ctrl-C.

    One line for each line that cmgr history shows later.
    """
    try:
        for line in follow(source.socket_of(options), "events"):
            if line is None:
                if out.nobody_reads():
                    return 0
            elif options.as_json:
                out.lines([line.decode()])
            else:
                out.lines([timeline.event(json.loads(line), show.page())])
            out.flush()
    except KeyboardInterrupt:
        # The usual way to end it: no failure.
        pass
    return 0
