"""The commands that show what was decided: history, and events as they come."""

import json
import socket
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING

import typer

from cmgr.cli import show, source
from cmgr.cli.options import ON_CHIPS, Common, HistoryFormat, Showing, argument, option
from cmgr.cli.text import out
from cmgr.errors import CmgrError
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import say
from cmgr.service.door import records
from cmgr.service.door.client import follow, status
from cmgr.view.text import reading, texts, timeline
from cmgr.view.text.drawing import drawing

if TYPE_CHECKING:
    from cmgr.view import shapes

LIMIT = 20

Concerns = Callable[["shapes.HistoryLine"], bool]


class Outcome(StrEnum):
    """The outcome of an episode, without blanks."""

    RECOVERED = "recovered"
    CLEARED = "cleared"
    ISOLATED = "isolated"
    FAILED = "failed"
    OBSERVED = "observed"
    UNDER_WAY = "under-way"


class EpisodeOrder(StrEnum):
    RING = "ring"
    BEGAN = "began"
    SECONDS = "seconds"
    OUTCOME = "outcome"


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryOptions(Common):
    output: HistoryFormat = option(
        "--output -o", "A table, JSON for programs, numbers, or one episode as a picture for a ticket.",
        HistoryFormat.TABLE,
    )  # fmt: skip
    json: bool = option("--json", "The same as -o json.", False)
    no_headers: bool = option("--no-headers", "Without the heads of columns.", False)
    episode: int | None = argument(
        "[EPISODE]", "The number of one episode: its whole timeline.", None, complete="episodes"
    )
    limit: int | None = option("--limit N", "How many episodes or lines: the newest ones; else 20.", min=1)
    all: bool = option("--all", "The newest lines of every timeline and of no episode: orders, warnings.", False)
    chip: str | None = option("--chip CHIPS", ON_CHIPS, complete="chips")
    container: str | None = option("--container NAME", "Only what is about this container.", complete="containers")
    group: str | None = option("--group NAME", "Only what is about members of this group.", complete="groups")
    outcome: Outcome | None = option("--outcome", "Only the episodes that ended so.")
    since: str | None = option("--since TIME", "Only from this long ago on: 24h, 30m.")
    sort: EpisodeOrder | None = option("--sort", "The order; else the newest first.")

    @property
    def as_json(self) -> bool:
        return self.json or self.output is HistoryFormat.JSON

    @property
    def as_names(self) -> bool:
        return self.output is HistoryFormat.NAME


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsOptions(Showing):
    chip: str | None = option("--chip CHIPS", ON_CHIPS, complete="chips")
    container: str | None = option("--container NAME", "Only what is about this container.", complete="containers")
    group: str | None = option("--group NAME", "Only what is about members of this group.", complete="groups")


def history(options: HistoryOptions) -> None:
    """Show the episodes, or the timeline of one.

    The timeline has every decision with its reason and its time. Works without the service.
    """
    if options.all and options.episode is not None:
        raise typer.BadParameter(say("usage.exclude", names=["--all", "EPISODE"]))
    if options.all and (options.outcome or options.sort or options.as_names):
        raise typer.BadParameter(say("usage.of-episodes", names=["--outcome", "--sort", "-o name"], other="--all"))
    is_picture = options.output is HistoryFormat.SVG
    if is_picture and options.episode is None:
        raise typer.BadParameter(say("usage.draws-one", option="-o svg", command="cmgr history EPISODE -o svg"))
    if options.episode is not None:
        if options.as_names or _is_sought(options):
            raise typer.BadParameter(say("usage.one-episode", option="-o name", argument="EPISODE"))
        if is_picture:
            _draw(options, options.episode)
        else:
            show_episode(options, options.episode)
        return
    limit, page, asked = options.limit or LIMIT, show.page(options, heads=not options.no_headers), _asked(options)
    with source.opened(options) as database:
        sought = records.sought(database.node(), database, asked)
        if options.all:
            lines = records.lines(database, limit, sought)
            shown = len(lines["notes"])
            out.result(lines, timeline.all_notes(source.spoken(options, lines), page), options.as_json)
        else:
            found = records.episodes(database, limit, source.now(), sought)
            shown = len(found["episodes"])
            _list(options, found, page)
    if options.limit is None and shown == LIMIT:
        out.remark(say("usage.newest", limit=LIMIT, option="--limit N"))


def _list(options: HistoryOptions, found: "shapes.Episodes", page: texts.Page) -> None:
    if options.sort is not None:
        key = options.sort.value
        found["episodes"].sort(key=lambda row: texts.in_order(row, key))
    if options.as_names:
        out.lines(str(episode["number"]) for episode in found["episodes"])
    else:
        out.result(found, timeline.episodes(source.spoken(options, found), page), options.as_json)


def _is_sought(options: HistoryOptions) -> bool:
    narrowed = (options.chip, options.container, options.group, options.outcome, options.since, options.sort)
    return any(each is not None for each in narrowed)


def _asked(options: HistoryOptions) -> records.Asked:
    return records.Asked(
        chips=None if options.chip is None else source.chips_of([options.chip]),
        container=options.container,
        group=options.group,
        outcome=None if options.outcome is None else options.outcome.replace("-", " "),
        since=None if options.since is None else source.now() - source.length("--since", options.since),
    )


def _draw(options: HistoryOptions, number: int) -> None:
    with source.opened(options) as database:
        whole = records.episode(database, number, source.now())
    language = source.language(options)
    out.lines(drawing(source.spoken(options, whole), socket.gethostname(), language).split("\n"))


def show_episode(options: Showing | HistoryOptions, number: int) -> None:
    """Show one episode and its timeline."""
    with source.opened(options) as database:
        whole = records.episode(database, number, source.now())
    out.result(whole, timeline.episode(source.spoken(options, whole), show.page(options)), options.as_json)


def episodes(common: Common, limit: int) -> "shapes.Episodes":
    """Return the newest episodes, the newest first."""
    with source.opened(common) as database:
        return records.episodes(database, limit, source.now())


def events(options: EventsOptions) -> None:
    """Show what is decided as it happens, until Ctrl-C.

    One line for each line that cmgr history shows later.
    """
    path = source.socket_of(options)
    concerns = _concerns(options, path)
    try:
        for line in follow(path, "events"):
            if line is None:
                if out.nobody_reads():
                    return
            elif concerns(told := json.loads(line)):
                out.lines([line.decode() if options.as_json else timeline.event(told, show.page(options))])
            out.flush()
    except KeyboardInterrupt:
        # The usual way to end it: no failure.
        pass


def _concerns(options: EventsOptions, path: str) -> Concerns:
    """Return whether a line is one of those that are asked for. Raises `CmgrError` where nobody is called so."""
    name, group = options.container, options.group
    chips = None if options.chip is None else source.chips_of([options.chip])
    if chips is None and name is None and group is None:
        return lambda _line: True
    known = status(path)
    named = name is not None or group is not None
    if named and not any(_is_meant(row, name, group) for row in known["containers"]):
        missing = say("error.find-no-group", group=group or "") if name is None else say("error.cannot-find", name=name)
        raise CmgrError(missing, hint=say("error.status-lists-them"))

    def concerns(line: "shapes.HistoryLine") -> bool:
        nonlocal known
        key = line["container"]
        if named and key is not None and reading.row_of(known, key) is None:
            known = status(path)  # It was made since.
        row = None if key is None else reading.row_of(known, key)
        if named and (row is None or not _is_meant(row, name, group)):
            return False
        return chips is None or reading.is_about_chips(line, chips, known["rings"])

    return concerns


def _is_meant(row: "shapes.Container", name: str | None, group: str | None) -> bool:
    named = name is None or name in reading.names(row) or row["id"].startswith(name)
    return named and group in (None, row["group"])
