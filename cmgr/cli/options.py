"""The options of each command as one frozen value."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar, get_type_hints

from cmgr.frozen import dataclass

T = TypeVar("T")

NEEDED: Any = MISSING
"""The default of what must be given."""


def option(spelled: str, says: str, default: object = None, **more: object) -> Any:
    """Declare an option as it is written on the command line: its names, and a word for its value if it has one.

    `more`: as `typer.Option` has it; `complete`: who offers words for it.
    """
    names = [word for word in spelled.split() if word.startswith("-")]
    value = spelled.removeprefix(" ".join(names)).strip() or None
    return field(default=default, metadata={"typer": ("Option", names, {"metavar": value, "help": says, **more})})


def argument(called: str, says: str, default: object = NEEDED, **more: object) -> Any:
    """Declare a word of the command line that has no name before it. `more` as in `option`."""
    return field(default=default, metadata={"typer": ("Argument", [], {"metavar": called, "help": says, **more})})


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"


class ListFormat(StrEnum):
    TABLE = "table"
    JSON = "json"
    NAME = "name"


class StatusFormat(StrEnum):
    TABLE = "table"
    JSON = "json"
    NAME = "name"
    NAGIOS = "nagios"


class HistoryFormat(StrEnum):
    TABLE = "table"
    JSON = "json"
    NAME = "name"
    SVG = "svg"


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured:
    """Options of every command that reads the configuration."""

    config: Path | None = option("--config FILE", "The configuration; else /etc/cmgr/cmgr.toml.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Common(Configured):
    """Options of every command that asks the service or the database."""

    state_dir: Path | None = option("--state-dir DIR", "Overrides state_dir, where the database is.")
    socket: Path | None = option("--socket PATH", "Overrides socket, the service's socket.")


@dataclass(frozen=True, kw_only=True)
class Output:
    """How the result is written. Without slots: two bases that have them cannot be combined."""

    as_names: ClassVar[bool] = False
    """Only lists have names."""

    output: Format = option("--output -o", "A table, or JSON for programs.", Format.TABLE)
    json: bool = option("--json", "The same as -o json.", False)

    @property
    def as_json(self) -> bool:
        return self.json or self.output is Format.JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing(Common, Output):
    """Options of every command that shows something of the service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing(Common):
    """Options of every command that shows a list."""

    output: ListFormat = option("--output -o", "A table, JSON for programs, or a name on each line.", ListFormat.TABLE)
    json: bool = option("--json", "The same as -o json.", False)
    no_headers: bool = option("--no-headers", "Without the heads of columns.", False)

    @property
    def as_json(self) -> bool:
        return self.json or self.output is ListFormat.JSON

    @property
    def as_names(self) -> bool:
        return self.output is ListFormat.NAME


WATCH = "Go on until Ctrl-C; in a pipe the table whenever it changes."

ON_CHIPS = "Only what is about these chips: 5, 0-3,7."


class StatusOrder(StrEnum):
    NAME = "name"
    STATUS = "status"
    SINCE = "since"
    CHIPS = "chips"


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusOptions(Common):
    names: list[str] | None = argument(
        "[NAME|CHIP]...", "Only these containers and chips; the first line is that of the whole machine.", None,
        complete="rows",
    )  # fmt: skip
    chip: str | None = option("--chip CHIPS", ON_CHIPS, complete="chips")
    group: str | None = option("--group NAME", "Only the members of this group.", complete="groups")
    unhealthy: bool = option("--unhealthy", "Only what does not serve, or is not well.", False)
    sort: StatusOrder | None = option("--sort", "The order of containers; else those first that need somebody.")
    no_headers: bool = option("--no-headers", "Without the heads of columns.", False)
    output: StatusFormat = option(
        "--output -o", "A table, JSON for programs, names, or a line for Nagios and its kin.", StatusFormat.TABLE
    )
    json: bool = option("--json", "The same as -o json.", False)
    check: bool = option("--check", "Exit with 4 when something is wrong: for scripts and monitors.", False)
    watch: bool = option("--watch -w", "Go on until Ctrl-C; in a pipe with a line for each change.", False)

    @property
    def as_json(self) -> bool:
        return self.json or self.output is StatusFormat.JSON

    @property
    def as_names(self) -> bool:
        return self.output is StatusFormat.NAME

    @property
    def nagios(self) -> bool:
        return self.output is StatusFormat.NAGIOS


class Choice(StrEnum):
    RING = "ring"
    BINPACK = "binpack"
    SPREAD = "spread"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipsOptions(Listing):
    chips: list[str] | None = argument("[CHIPS]...", "Only these: 5, 0-3,7.", None, complete="chips")
    unhealthy: bool = option("--unhealthy", "Only those that are not well.", False)
    watch: bool = option("--watch -w", WATCH, False)
    available: bool = option(
        "--available", "Print the ids of healthy unused chips, as a container's environment has them.", False
    )
    count: int | None = option("--count N", "With --available: that many, or an error.", min=1)
    policy: Choice | None = option("--policy", "With --count: all of one ring, or which rings first.")
    model: str | None = option("--model MODEL", "With --count: only of this model.")
    reserve: str | None = option("--reserve TIME", "With --count: nobody else is given them for so long: 60s.")


class FaultOrder(StrEnum):
    CODE = "code"
    LEVEL = "level"
    COUNT = "count"
    SINCE = "since"


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultsOptions(Listing):
    chips: list[str] | None = argument("[CHIPS]...", "Only those of these chips: 5, 0-3,7.", None, complete="chips")
    sort: FaultOrder | None = option("--sort", "The order; else chip by chip, the gravest first.")
    all: bool = option("--all", "Those that have cleared too.", False)
    watch: bool = option("--watch -w", WATCH, False)
    since: str | None = option("--since TIME", "With cleared ones, from this long ago on: 24h, 30m.")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions(Showing):
    code: str = argument("CODE", "A fault code, such as 80E24E00.", complete="codes")
    lang: str | None = option("--lang LANG", "The language: en or zh. Else as LANG has it.")


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetOptions(Showing):
    what: str = argument("[status|setup|join]", "What to do; without it the fleet is shown.", "status")
    words: list[str] | None = argument("[WORDS]", "With setup: NAME=ADDRESS of each member; with join: a token.", None)
    watch: bool = option("--watch -w", WATCH, False)
    here: str | None = option("--here NAME", "With setup: the member that this machine is; else told by its address.")
    engine: list[str] | None = option("--engine URL", "With setup: an etcd that is there already; repeatable.")
    ca: Path | None = option("--ca FILE", "With --engine: whom to believe.")
    root_password: Path | None = option("--root-password FILE", "With --engine: the password of its user root.")
    prefix: str = option("--prefix PATH", "With setup: where the fleet's keys stand in etcd.", "/cmgr")
    shows: bool = option("--print", "With setup and join: print what would be done, and do nothing.", False)
    yes: bool = option("--yes -y", "With setup: do not ask.", False)


def command(
    work: Callable[[T], int | None], options: type[T], offers: Mapping[str, Callable[..., object]]
) -> Callable[..., None]:
    """Return the function that typer reads a command from: one option for each field, `work`'s text as help.

    `work` returns the exit code, or nothing when all is well. `offers`: who completes words, by name.
    """
    # Nobody looks at options before typer itself does: it takes long to load.
    import typer

    def given(**values: Any) -> None:
        code = work(options(**values))
        if code:
            raise typer.Exit(code)

    hints = get_type_hints(options)
    parameters = []
    for each in fields(options):  # type: ignore[arg-type]  # Every caller gives a dataclass.
        kind, names, more = each.metadata["typer"]
        told = dict(more)
        if "complete" in more:
            told["autocompletion"] = offers[told.pop("complete")]
        hints[each.name] = Annotated[hints[each.name], getattr(typer, kind)(*names, **told)]
        default = inspect.Parameter.empty if each.default is MISSING else each.default
        parameters.append(
            inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hints[each.name])
        )
    given.__doc__ = work.__doc__
    given.__annotations__ = hints
    given.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # inspect.signature looks there first.
    return given
