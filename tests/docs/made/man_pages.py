"""The man pages, made from the command line and the settings. `python -m tests.docs.made.man_pages` writes them."""

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import MISSING
from pathlib import Path

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from cmgr.cli.app import app_of
from cmgr.config.kinds import Rows
from cmgr.config.load import DEFAULT_PATH
from cmgr.config.schema import Section, Setting, row, sections
from tests.docs.made import roff

FOLDER = Path(__file__).parents[3] / "docs" / "man"
DATE = "2026-11-21"
"""When the prose below was gone through last."""

ABOUT = (
    "cmgr recovers Docker and containerd containers from faults of the accelerator chips they use, on a machine "
    "without Kubernetes. When a chip faults it stops the containers that use the chip, resets the chip together with "
    "the other chips of its ring, sees that they came up well, and starts the containers again. It starts nothing that "
    "it did not stop, or that did not die of the fault.",
    "The service is `cmgr run`, which systemd runs as cmgr.service. The other commands ask it on its socket. Those "
    "that show something read the database when it does not run, and say so; orders need it.",
    "CHIP is a chip's physical id. CONTAINER is the name of a container, its id or the beginning of that, or "
    "NAMESPACE/NAME where two have one name.",
    "Commands that show something take `-o json`, whose documents are stable. Times are local. Colours are used on a "
    "terminal only and say nothing that the words do not say.",
)

EXITS = {
    "0": "Fine.",
    "1": "The operation failed. The message says why, and a hint what to do.",
    "2": "The command line cannot be understood.",
    "3": "The service is not running, and the command needs it.",
    "4": "cmgr status --check: an episode is under way, a chip is isolated or not healthy, a container was given up, a "
    "runtime or the service is not as it should be.",
    "5": "The service hangs: it is there, and has not answered or decided for 10 s.",
}

VARIABLES = {
    "CMGR_CONFIG": f"The configuration file, instead of {DEFAULT_PATH}.",
    "CMGR_SOCKET": "The socket of the service. Every other setting has its variable, too: see cmgr.toml(5).",
    "NO_COLOR": "When it is set and not empty, nothing is coloured.",
}

FILES = {
    DEFAULT_PATH: "The configuration, see cmgr.toml(5).",
    "/run/cmgr/cmgr.sock": "The socket, for root and the members of group cmgr.",
    "/var/lib/cmgr": "The database: what is held, isolated and under way, and the history.",
}

FORMAT = (
    f"cmgr reads {DEFAULT_PATH}, or the file that --config or the variable CMGR_CONFIG names. The file is TOML. It "
    "must be owned by root or by the user who runs cmgr, have a mode no wider than 0640, and be no symbolic link; the "
    "same holds for the fault table that it names.",
    "A variable of the environment overrides the file, a flag overrides both: docker.socket is CMGR_DOCKER_SOCKET. The "
    "value of a variable is written without quotes, a list with commas. Durations are written 500ms, 60s, 5m, 2h30m or "
    "90d.",
    "cmgr check lists every mistake. cmgr reload, or SIGHUP to the service, has it read again: what decides about "
    "faults, containers, resets, isolation and history is in force at once, the rest after a restart. A configuration "
    "with mistakes changes nothing.",
)


def pages() -> Mapping[Path, str]:
    """Return the text of each page."""
    return {FOLDER / "cmgr.1": _joined(_commands_page()), FOLDER / "cmgr.toml.5": _joined(_settings_page())}


def _joined(lines: Iterator[str]) -> str:
    return "\n".join(lines) + "\n"


def _commands_page() -> Iterator[str]:
    group = typer.main.get_command(app_of())
    assert isinstance(group, TyperGroup)
    yield from roff.head("CMGR", 1, DATE, "User Commands")
    yield roff.chapter("NAME")
    yield "cmgr \\- recover containers from faults of the accelerator chips they use"
    yield roff.chapter("SYNOPSIS")
    yield f"{roff.bold('cmgr')} {roff.italic('COMMAND')} [{roff.italic('OPTION')}]..."
    yield roff.chapter("DESCRIPTION")
    yield from roff.paragraphs(ABOUT)
    yield roff.chapter("COMMANDS")
    for name, command in group.commands.items():
        assert isinstance(command, TyperCommand)
        yield from _command(name, command)
    yield from _listed("EXIT STATUS", EXITS)
    yield from _listed("ENVIRONMENT", VARIABLES)
    yield from _listed("FILES", FILES)
    yield roff.chapter("SEE ALSO")
    yield f"{roff.bold('cmgr.toml')}(5),"
    yield f"{roff.bold('systemctl')}(1)"


def _command(name: str, command: TyperCommand) -> Iterator[str]:
    arguments = [p for p in command.params if isinstance(p, TyperArgument)]
    options = [p for p in command.params if isinstance(p, TyperOption) and p.name != "help"]
    shown = " ".join(_argument(a) for a in arguments)
    yield roff.part(f"cmgr {name}{' ' if shown else ''}{shown}")
    yield from roff.paragraphs(inspect.cleandoc(command.help or "").split("\n\n"))
    for argument in arguments:
        yield from roff.tagged(roff.italic(_argument(argument).strip("[]")), [argument.help or ""])
    for option in sorted(options, key=lambda o: (o.name in ("config", "state_dir", "socket"), o.name in ("json",))):
        yield from roff.tagged(_option(option), [option.help or ""])


def _argument(argument: TyperArgument) -> str:
    return str(argument.metavar)


def _option(option: TyperOption) -> str:
    names = [*option.opts, *option.secondary_opts]
    tag = ", ".join(roff.bold(name) for name in sorted(names, key=lambda n: (not n.startswith("--"), n)))
    choices = getattr(option.type, "choices", ())
    value = option.metavar or "|".join(str(getattr(c, "value", c)) for c in choices) or "N"
    return tag if option.is_flag else f"{tag} {roff.italic(value)}"


def _listed(name: str, of: Mapping[str, str]) -> Iterator[str]:
    yield roff.chapter(name)
    for tag, sentence in of.items():
        yield from roff.tagged(roff.bold(tag), [sentence])


def _settings_page() -> Iterator[str]:
    yield from roff.head("CMGR.TOML", 5, DATE, "File Formats")
    yield roff.chapter("NAME")
    yield "cmgr.toml \\- configuration of cmgr"
    yield roff.chapter("SYNOPSIS")
    yield roff.bold(DEFAULT_PATH)
    yield roff.chapter("DESCRIPTION")
    yield from roff.paragraphs(FORMAT)
    yield roff.chapter("SETTINGS")
    for section in sections():
        yield from _section(section)
    yield roff.chapter("SEE ALSO")
    yield f"{roff.bold('cmgr')}(1)"


def _section(section: Section) -> Iterator[str]:
    if not section.settings:
        return
    yield roff.part(f"[{section.key}]" if section.key else "At the top of the file")
    yield from roff.paragraphs([section.sentence] if section.key else [])
    for setting in section.settings:
        if isinstance(setting.kind, Rows):
            sentence = f"{setting.meta.sentence} In the file only; any number of such tables."
            yield from roff.tagged(roff.bold(f"[[{setting.key}]]"), [sentence])
            yield ".RS"
            for inner in row(setting.kind.of):
                yield from _setting(inner)
            yield ".RE"
        else:
            yield from _setting(setting)


def _setting(setting: Setting) -> Iterator[str]:
    name = setting.key.rpartition(".")[2]
    needed = setting.default is MISSING
    tag = roff.bold(name) if needed else f"{roff.bold(name)} = {roff.typed(setting.kind.show(setting.default))}"
    yield from roff.tagged(tag, [setting.meta.sentence, f"It may be {setting.kind.allowed}."])
    if needed:
        yield "It must be given."


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for path, page in pages().items():
        path.write_text(page)
