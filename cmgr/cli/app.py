"""The commands by name."""

from collections.abc import Callable
from typing import Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand

from cmgr import __version__
from cmgr.cli import act, bundle, migrate, orders, past, show
from cmgr.cli.check import check
from cmgr.cli.demo import demo
from cmgr.cli.options import Output, command
from cmgr.cli.text import out

T = TypeVar("T")

app = typer.Typer(
    name="cmgr",
    help="Recovers containers from faults of the accelerator chips they use.",
    epilog="Exit codes: 0 fine, 1 failed, 2 usage, 3 the service is not running, 4 status --check: something is wrong.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def version(options: Output) -> int:
    """Show the version."""
    if options.as_json:
        out.as_json({"version": __version__})
    else:
        out.lines([f"cmgr {__version__}"])
    return 0


def _version_told(wanted: bool) -> None:
    if wanted:
        out.lines([f"cmgr {__version__}"])
        raise typer.Exit


@app.callback()
def root(
    _told: Annotated[
        bool,
        typer.Option("--version", help="Show the version and end.", is_eager=True, callback=_version_told),
    ] = False,
) -> None:
    """Recovers containers from faults of the accelerator chips they use."""


class _Command(TyperCommand):
    """A command whose usage names what is needed as manual pages do: CHIP, where typer writes {CHIP}."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]


def _add(name: str, work: Callable[[T], int], options: type[T]) -> None:
    app.command(name, cls=_Command)(command(work, options))


_add("status", show.status, show.StatusOptions)
_add("chips", show.chips, show.ChipsOptions)
_add("faults", show.faults, show.FaultsOptions)
_add("history", past.history, past.HistoryOptions)
_add("explain", show.explain, show.ExplainOptions)
_add("inject", act.inject, act.InjectOptions)
_add("reset", orders.reset, orders.ResetOptions)
_add("isolate", orders.isolate, orders.IsolateOptions)
_add("release", orders.release, orders.ReleaseOptions)
_add("resume", orders.resume, orders.ResumeOptions)
_add("forget", orders.forget, orders.HeldOptions)
_add("maintenance", orders.maintenance, orders.MaintenanceOptions)
_add("reload", orders.reload, orders.ReloadOptions)
_add("check", check.check, check.CheckOptions)
_add("migrate", migrate.migrate, migrate.MigrateOptions)
_add("bundle", bundle.bundle, bundle.BundleOptions)
_add("run", act.run, act.RunOptions)
_add("demo", demo.demo, demo.DemoOptions)
_add("version", version, Output)
