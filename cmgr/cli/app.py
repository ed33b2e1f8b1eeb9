"""The commands by name."""

from collections.abc import Sequence
from importlib import import_module
from typing import Annotated

import typer

from cmgr import __version__
from cmgr.cli import complete
from cmgr.cli import options as own_options
from cmgr.cli.options import Output, command
from cmgr.cli.text import out

EPILOG = "Exit codes: 0 fine, 1 failed, 2 usage, 3 the service is not running, 4 status --check: something is wrong."


def version(options: Output) -> None:
    """Show the version."""
    out.result({"version": __version__}, [f"cmgr {__version__}"], options.as_json)


def _version_told(wanted: bool) -> None:
    if wanted:
        out.lines([f"cmgr {__version__}"])
        raise typer.Exit


def root(
    _told: Annotated[
        bool, typer.Option("--version", help="Show the version and end.", is_eager=True, callback=_version_told)
    ] = False,
) -> None:
    """Recovers containers from faults of the accelerator chips they use."""


COMMANDS = {
    "status": ("show", "status", "StatusOptions"),
    "show": ("look.one", "show", "ShowOptions"),
    "chips": ("show", "chips", "ChipsOptions"),
    "group": ("groups", "group", "GroupOptions"),
    "ranktable": ("groups", "ranktable", "RankOptions"),
    "fleet": ("groups", "fleet", "FleetOptions"),
    "slot": ("slots", "slot", "SlotOptions"),
    "cdi": ("slots", "cdi", "CdiOptions"),
    "export": ("export", "export", "ExportOptions"),
    "faults": ("show", "faults", "FaultsOptions"),
    "history": ("past", "history", "HistoryOptions"),
    "events": ("past", "events", "EventsOptions"),
    "explain": ("show", "explain", "ExplainOptions"),
    "report": ("report", "report", "ReportOptions"),
    "inject": ("act", "inject", "InjectOptions"),
    "drill": ("act", "drill", "DrillOptions"),
    "reset": ("orders", "reset", "ResetOptions"),
    "test": ("orders", "test", "ResetOptions"),
    "cancel": ("orders", "cancel", "CancelOptions"),
    "isolate": ("orders", "isolate", "IsolateOptions"),
    "release": ("orders", "release", "ReleaseOptions"),
    "resume": ("orders", "resume", "ResumeOptions"),
    "forget": ("orders", "forget", "ForgetOptions"),
    "maintenance": ("orders", "maintenance", "MaintenanceOptions"),
    "acknowledge": ("orders", "acknowledge", "AcknowledgeOptions"),
    "reload": ("orders", "reload", "ReloadOptions"),
    "setup": ("setup.wizard", "setup", "SetupOptions"),
    "alarms": ("check.alarms", "alarms", "AlarmsOptions"),
    "check": ("check.check", "check", "CheckOptions"),
    "migrate": ("migrate", "migrate", "MigrateOptions"),
    "bundle": ("bundle", "bundle", "BundleOptions"),
    "web": ("web", "web", "WebOptions"),
    "give-back": ("act", "give_back", "GiveBackOptions"),
    "run": ("act", "run", "RunOptions"),
    "demo": ("demo.demo", "demo", "DemoOptions"),
    "version": ("app", "version", "Output"),
}
"""Each command's module, function and options; those that are not in its module are in `options`."""


def app_of(words: Sequence[str] = ()) -> typer.Typer:
    """Return the command line with the command that these words begin with, or with all.

    To load them all takes longer than most of them need.
    """
    # Whoever completes a line gives no words, and may mean any command.
    names = words[:1] if words and words[0] in COMMANDS else COMMANDS
    app = typer.Typer(
        name="cmgr",
        help="Recovers containers from faults of the accelerator chips they use.",
        epilog=EPILOG,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    app.callback()(root)
    for name in names:
        module, work, options = COMMANDS[name]
        loaded = import_module(f"cmgr.cli.{module}")
        kind = getattr(loaded, options, None) or getattr(own_options, options)
        app.command(name)(command(getattr(loaded, work), kind, vars(complete)))
    return app
