"""Completion of whatever has a name on the command line: asked of the service, fast and silently."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, cast

import typer

from cmgr.cli import source
from cmgr.cli.options import Common
from cmgr.errors import CmgrError
from cmgr.service.door.client import BRIEFLY, get
from cmgr.view.text.reading import ails

if TYPE_CHECKING:
    from cmgr.view import group_shapes, shapes, slot_shapes

Offer = list[tuple[str, str]]
"""Each word with what it is."""

KINDS = (
    ("chip", "by its number"),
    ("container", "by its name"),
    ("episode", "by its number"),
    ("group", "by its name"),
)
"""The kinds of things that `cmgr show` takes a word for."""


def chips(ctx: typer.Context, incomplete: str) -> Offer:
    """Offer every chip."""
    return _offer(incomplete, ((str(c["id"]), c["reason"] or "healthy") for s in _status(ctx) for c in s["chips"]))


def isolated(ctx: typer.Context, incomplete: str) -> Offer:
    """Offer the isolated chips."""
    found = [c for s in _status(ctx) for c in s["chips"] if c["isolated"]]
    return _offer(incomplete, ((str(c["id"]), c["reason"]) for c in found))


def containers(ctx: typer.Context, incomplete: str) -> Offer:
    """Offer every container of `cmgr status`, by as much as tells it apart."""
    return _offer(incomplete, ((c["called"], c["status"]) for s in _status(ctx) for c in s["containers"]))


def rows(ctx: typer.Context, incomplete: str) -> Offer:
    """Offer every container and every chip."""
    return [*containers(ctx, incomplete), *chips(ctx, incomplete)]


def held_containers(ctx: typer.Context, incomplete: str) -> Offer:
    """Offer the containers that are held or ail, by as much as tells them apart."""
    found = [c for s in _status(ctx) for c in s["containers"] if c["held"] or ails(c)]
    return _offer(incomplete, ((c["called"], c["status"]) for c in found))


def troubles(ctx: typer.Context, incomplete: str) -> Offer:
    """Offer the troubles that stay until a person acknowledges them."""
    return _offer(incomplete, ((t["id"], t["text"]) for s in _status(ctx) for t in s["troubles"] if t["stays"]))


def groups(ctx: typer.Context, incomplete: str) -> Offer:
    """Offer every group."""
    told = cast("list[group_shapes.Groups]", _asked(ctx, "groups"))
    return _offer(incomplete, ((g["name"], g["phase"]) for each in told for g in each["groups"]))


def slots(ctx: typer.Context, incomplete: str) -> Offer:
    """Offer every slot."""
    told = cast("list[slot_shapes.Slots]", _asked(ctx, "slots"))
    return _offer(incomplete, ((s["name"], s["reason"] or "slot") for each in told for s in each["slots"]))


def episodes(ctx: typer.Context, incomplete: str) -> Offer:
    """Offer the newest episodes."""
    told = cast("list[shapes.Episodes]", _asked(ctx, "episodes"))
    return _offer(incomplete, ((str(e["number"]), e["cause"]) for each in told for e in each["episodes"]))


def codes(ctx: typer.Context, incomplete: str) -> Offer:
    """Offer the codes of the active faults."""
    told = cast("list[shapes.Faults]", _asked(ctx, "faults"))
    return _offer(incomplete, {f["code"]: f["level"] for each in told for f in each["faults"]}.items())


def exports(_ctx: typer.Context, incomplete: str) -> Offer:
    """Offer the documents for the tools of a cluster."""
    from cmgr.vendor import exports as known

    names = {"events", *(name for each in known() for name in each.names)}
    return _offer(incomplete, ((name, "document") for name in sorted(names)))


def things(ctx: typer.Context, incomplete: str) -> Offer:
    """Offer what `cmgr show` takes: after a kind what is of that kind, else all that needs none, and the kinds."""
    before = ctx.params.get("words") or ()
    kinds = {"chip": chips, "container": containers, "episode": episodes, "group": groups}
    if before:
        return kinds[before[0]](ctx, incomplete) if len(before) == 1 and before[0] in kinds else []
    return [*chips(ctx, incomplete), *containers(ctx, incomplete), *_offer(incomplete, KINDS)]


def _offer(incomplete: str, found: Iterable[tuple[str, str]]) -> Offer:
    return [each for each in found if each[0].startswith(incomplete)]


def _status(ctx: typer.Context) -> "list[shapes.Status]":
    return cast("list[shapes.Status]", _asked(ctx, "status"))


def _asked(ctx: typer.Context, what: str) -> list[dict[str, object]]:
    """Return the document, or nothing where the service does not give it at once."""
    given = {name: ctx.params.get(name) for name in ("config", "socket")}
    paths = {name: Path(str(value)) for name, value in given.items() if value is not None}
    try:
        return [get(source.socket_of(Common(**paths)), what, BRIEFLY)]
    except (CmgrError, OSError):
        return []  # An error in the middle of the line would disturb more than it helps.
