"""The commands by name."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import wraps
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from cmgr import __version__
from cmgr.cli import complete
from cmgr.cli import options as own_options
from cmgr.cli.options import Output, command
from cmgr.cli.text import out
from cmgr.cli.text.others import OTHERS
from cmgr.errors import ConfigError, ServiceDown
from cmgr.sentences.sentence import ENGLISH, language_of, say
from cmgr.shortcut import locale

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
        bool, typer.Option("--version", "-V", help="Show the version and end.", is_eager=True, callback=_version_told)
    ] = False,
) -> None:
    """Recovers containers from faults of the accelerator chips they use."""


GROUPS = {
    "Look": {
        "status": ("show", "status", "StatusOptions"),
        "show": ("look.one", "show", "ShowOptions"),
        "faults": ("show", "faults", "FaultsOptions"),
        "history": ("past", "history", "HistoryOptions"),
        "downtime": ("look.minutes", "downtime", "DowntimeOptions"),
        "events": ("past", "events", "EventsOptions"),
        "explain": ("show", "explain", "ExplainOptions"),
        "fleet": ("groups", "fleet", "FleetOptions"),
    },
    "Act": {
        "resume": ("orders", "resume", "ResumeOptions"),
        "forget": ("orders", "forget", "ForgetOptions"),
        "group": ("groups", "group", "GroupOptions"),
        "maintenance": ("orders", "maintenance", "MaintenanceOptions"),
        "acknowledge": ("orders", "acknowledge", "AcknowledgeOptions"),
        "drill": ("act", "drill", "DrillOptions"),
        "inject": ("act", "inject", "InjectOptions"),
        "report": ("report", "report", "ReportOptions"),
    },
    "Chips": {
        "chips": ("show", "chips", "ChipsOptions"),
        "isolate": ("orders", "isolate", "IsolateOptions"),
        "release": ("orders", "release", "ReleaseOptions"),
        "reset": ("orders", "reset", "ResetOptions"),
        "test": ("orders", "test", "ResetOptions"),
        "cancel": ("orders", "cancel", "CancelOptions"),
        "slot": ("slots", "slot", "SlotOptions"),
        "cdi": ("slots", "cdi", "CdiOptions"),
        "ranktable": ("groups", "ranktable", "RankOptions"),
        "export": ("export", "export", "ExportOptions"),
    },
    "Set up": {
        "setup": ("setup.wizard", "setup", "SetupOptions"),
        "check": ("check.check", "check", "CheckOptions"),
        "reload": ("orders", "reload", "ReloadOptions"),
        "alarms": ("check.alarms", "alarms", "AlarmsOptions"),
        "web": ("web", "web", "WebOptions"),
        "migrate": ("migrate", "migrate", "MigrateOptions"),
        "bundle": ("bundle", "bundle", "BundleOptions"),
        "give-back": ("act", "give_back", "GiveBackOptions"),
        "run": ("act", "run", "RunOptions"),
        "demo": ("demo.demo", "demo", "DemoOptions"),
        "version": ("app", "version", "Output"),
    },
}
"""Each command's module, function and options (of `options` where its module has none of that name), by group."""

COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}


class Command(TyperCommand):
    """A command, whose help is in the language of whoever reads."""

    def get_help(self, ctx: Any) -> str:
        return super().get_help(_for_reader(ctx))


class Commands(TyperGroup):
    """The commands: the help has them in groups, and the words of other tools are answered with ours."""

    def get_help(self, ctx: Any) -> str:
        return super().get_help(_for_reader(ctx))

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for head, names in GROUPS.items():
            shown = [(name, self.commands[name].help or "") for name in names if name in self.commands]
            with formatter.section(head):
                formatter.write_dl([(name, told.partition("\n\n")[0]) for name, told in shown])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        word = args[0]
        if word not in self.commands and not word.startswith("-") and not ctx.resilient_parsing:
            if word in OTHERS:
                ctx.fail(say("usage.others", name=repr(word), ours=OTHERS[word]))
            if like := [repr(each) for each in get_close_matches(word, self.commands)]:
                ctx.fail(say("usage.no-command-but", name=repr(word), like=like))
            ctx.fail(say("usage.no-command", name=repr(word)))
        return super().resolve_command(ctx, args)


def _for_reader(context: Any) -> Any:
    """Return a command's context with which its help is in the language of whoever reads."""
    if language_of(locale()) != ENGLISH:
        from cmgr.cli.text.helping import Chinese

        context.formatter_class = Chinese
    return context


def app_of(words: Sequence[str] = ()) -> typer.Typer:
    """Return the command line with the command that these words begin with, or with all.

    To load them all takes longer than most of them need.
    """
    # Whoever completes a line gives no words, and may mean any command.
    names = words[:1] if words and words[0] in COMMANDS else COMMANDS
    app = typer.Typer(
        name="cmgr",
        cls=Commands,
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
        app.command(name, cls=Command)(command(_told_all(getattr(loaded, work)), kind, vars(complete)))
    return app


def _told_all(work: Callable[[Any], int | None]) -> Callable[[Any], int | None]:
    """Return the same command, but that whoever is not answered hears what `cmgr status` knows of the service."""

    @wraps(work)
    def done(options: Any) -> int | None:
        try:
            return work(options)
        except ServiceDown as why:
            from cmgr.cli import source

            if not isinstance(options, own_options.Common) or options.socket is not None:
                raise  # Of a socket that is named here nothing is known.
            with suppress(ConfigError):  # A mistake in it keeps nobody from hearing that nobody answers.
                why = source.known_better(source.configuration(options), why)
            raise why from None

    return done
