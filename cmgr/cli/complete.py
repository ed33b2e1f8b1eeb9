"""What the shell offers where a chip or a container is to be typed: asked of the service, fast and silently."""

from collections.abc import Mapping
from pathlib import Path

import typer

from cmgr.cli import source
from cmgr.cli.options import Common
from cmgr.cli.reading import ails, rows
from cmgr.errors import CmgrError
from cmgr.service.client import ask_briefly

Offer = list[tuple[str, str]]
"""Each word with what it is."""


def chips(ctx: typer.Context, incomplete: str) -> Offer:
    """Offer every chip."""
    found = rows(_status(ctx), "chips")
    return [o for c in found if (o := (str(c["id"]), str(c["reason"]) or "healthy"))[0].startswith(incomplete)]


def isolated(ctx: typer.Context, incomplete: str) -> Offer:
    """Offer the isolated chips."""
    found = [c for c in rows(_status(ctx), "chips") if c["isolated"]]
    return [o for c in found if (o := (str(c["id"]), str(c["reason"])))[0].startswith(incomplete)]


def held_containers(ctx: typer.Context, incomplete: str) -> Offer:
    """Offer the containers that are held or ail, by as much as tells them apart."""
    found = [c for c in rows(_status(ctx), "containers") if c["held"] or ails(c)]
    return [o for c in found if (o := (str(c["called"]), str(c["status"])))[0].startswith(incomplete)]


def _status(ctx: typer.Context) -> Mapping[str, object]:
    given = {name: ctx.params.get(name) for name in ("config", "socket")}
    paths = {name: Path(str(value)) for name, value in given.items() if value is not None}
    try:
        return ask_briefly(source.socket_of(Common(**paths)), "status")
    except (CmgrError, OSError):
        return {}  # Whoever presses Tab wants no error in the middle of the line.
