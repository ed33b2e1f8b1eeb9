"""The options of each command as one frozen value."""

# The words for typer, and who completes, stand in annotations, which nobody looks at before typer itself does: it takes
# long to load.
from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

from cmgr.frozen import dataclass

if TYPE_CHECKING:
    import typer

T = TypeVar("T")


class Format(StrEnum):
    TABLE = "table"
    JSON = "json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Configured:
    """Options of every command that reads the configuration."""

    config: Annotated[
        Path | None, typer.Option("--config", metavar="FILE", help="The configuration; else /etc/cmgr/cmgr.toml.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Common(Configured):
    """Options of every command that asks the service or the database."""

    state_dir: Annotated[
        Path | None, typer.Option("--state-dir", metavar="DIR", help="Overrides state_dir, where the database is.")
    ] = None
    socket: Annotated[
        Path | None, typer.Option("--socket", metavar="PATH", help="Overrides socket, the service's socket.")
    ] = None


@dataclass(frozen=True, kw_only=True)
class Output:
    """How the result is written. Without slots: two bases that have them cannot be combined."""

    output: Annotated[Format, typer.Option("--output", "-o", help="A table, or JSON for programs.")] = Format.TABLE
    json: Annotated[bool, typer.Option("--json", help="The same as -o json.")] = False

    @property
    def as_json(self) -> bool:
        return self.json or self.output is Format.JSON


@dataclass(frozen=True, slots=True, kw_only=True)
class Showing(Common, Output):
    """Options of every command that shows something of the service."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusOptions(Showing):
    check: Annotated[
        bool, typer.Option("--check", help="Exit with 4 when something is wrong: for scripts and monitors.")
    ] = False
    watch: Annotated[
        bool, typer.Option("--watch", "-w", help="Go on until Ctrl-C; in a pipe with a line for each change.")
    ] = False


class Choice(StrEnum):
    RING = "ring"
    BINPACK = "binpack"
    SPREAD = "spread"


@dataclass(frozen=True, slots=True, kw_only=True)
class ChipsOptions(Showing):
    available: Annotated[
        bool,
        typer.Option(
            "--available", help="Print the ids of healthy unused chips, as a container's environment has them."
        ),
    ] = False
    count: Annotated[
        int | None, typer.Option("--count", min=1, metavar="N", help="With --available: that many, or an error.")
    ] = None
    policy: Annotated[
        Choice | None,
        typer.Option("--policy", help="With --count: all of one ring, or which rings first."),
    ] = None
    model: Annotated[str | None, typer.Option("--model", metavar="MODEL", help="With --count: only of this model.")] = (
        None
    )
    reserve: Annotated[
        str | None,
        typer.Option("--reserve", metavar="TIME", help="With --count: nobody else is told of them for so long: 60s."),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultsOptions(Showing):
    all: Annotated[bool, typer.Option("--all", help="Those that have cleared too.")] = False
    since: Annotated[
        str | None, typer.Option("--since", metavar="TIME", help="With cleared ones, from this long ago on: 24h, 30m.")
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions(Showing):
    code: Annotated[str, typer.Argument(metavar="CODE", help="A fault code, such as 80E24E00.")]
    lang: Annotated[
        str | None, typer.Option("--lang", metavar="LANG", help="Of meaning and advice: en or zh. Else as LANG has it.")
    ] = None


def command(work: Callable[[T], int | None], options: type[T], names: Mapping[str, object]) -> Callable[..., None]:
    """Return the function that typer reads a command from: one option for each field, `work`'s text as help.

    `work` returns the exit code, or nothing when all is well. `names`: those that stand in annotations and are not
    known to their module.
    """
    import typer

    def given(**values: Any) -> None:
        code = work(options(**values))
        if code:
            raise typer.Exit(code)

    hints = get_type_hints(options, localns={"typer": typer, **names}, include_extras=True)
    given.__doc__ = work.__doc__
    given.__annotations__ = hints
    given.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # What inspect.signature looks at first.
        [
            inspect.Parameter(
                field.name,
                inspect.Parameter.KEYWORD_ONLY,
                default=inspect.Parameter.empty if field.default is MISSING else field.default,
                annotation=hints[field.name],
            )
            for field in fields(options)  # type: ignore[arg-type]  # Every caller gives a dataclass.
        ]
    )
    return given
