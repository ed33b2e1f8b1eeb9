"""Completion of chips and containers on the command line: asked of the service, fast and silently."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cmgr.cli import source
from cmgr.cli.options import Common
from cmgr.errors import CmgrError
from cmgr.service.door.client import BRIEFLY, status
from cmgr.view.text.reading import ails

if TYPE_CHECKING:
    from cmgr.view import shapes

Offer = list[tuple[str, str]]
"""Each word with what it is."""


def chips(ctx: typer.Context, incomplete: str) -> Offer:
    """Offer every chip."""
    return _offer(incomplete, ((str(c["id"]), c["reason"] or "healthy") for s in _status(ctx) for c in s["chips"]))


def isolated(ctx: typer.Context, incomplete: str) -> Offer:
    """Offer the isolated chips."""
    found = [c for s in _status(ctx) for c in s["chips"] if c["isolated"]]
    return _offer(incomplete, ((str(c["id"]), c["reason"]) for c in found))


def held_containers(ctx: typer.Context, incomplete: str) -> Offer:
    """Offer the containers that are held or ail, by as much as tells them apart."""
    found = [c for s in _status(ctx) for c in s["containers"] if c["held"] or ails(c)]
    return _offer(incomplete, ((c["called"], c["status"]) for c in found))


def troubles(ctx: typer.Context, incomplete: str) -> Offer:
    """Offer the troubles that stay until a person acknowledges them."""
    return _offer(incomplete, ((t["id"], t["text"]) for s in _status(ctx) for t in s["troubles"] if t["stays"]))


def _offer(incomplete: str, found: Iterable[tuple[str, str]]) -> Offer:
    return [each for each in found if each[0].startswith(incomplete)]


def _status(ctx: typer.Context) -> "list[shapes.Status]":
    """Return the picture, or nothing where the service does not give it at once."""
    given = {name: ctx.params.get(name) for name in ("config", "socket")}
    paths = {name: Path(str(value)) for name, value in given.items() if value is not None}
    try:
        return [status(source.socket_of(Common(**paths)), BRIEFLY)]
    except (CmgrError, OSError):
        return []  # An error in the middle of the line would disturb more than it helps.
