"""The command that looks at everything the service needs, and changes nothing."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cmgr.cli import source
from cmgr.cli.options import Showing, option
from cmgr.cli.text import out
from cmgr.errors import ConfigError
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import say

if TYPE_CHECKING:
    from cmgr.cli.check.finding import Finding
    from cmgr.view import shapes


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions(Showing):
    tool: Path | None = option("--tool PROGRAM", "Only try a program that speaks for chips: docs/drivers.md.")
    table: Path | None = option("--table FILE", "Only show how a maker's fault table differs from the one in use.")


def check(options: CheckOptions) -> int:
    """Look at all that the service needs.

    Configuration, fault tables, driver, runtimes, database, socket and group. Changes nothing.
    """
    if options.table is not None:
        return _compare(options, options.table)
    if options.tool is not None:
        from cmgr.cli.check.trying import tried

        return _told(options, [*tried(str(options.tool.absolute()))])
    from cmgr.cli.check.around import directories
    from cmgr.cli.check.checks import findings
    from cmgr.cli.check.finding import OK, Finding, of_error
    from cmgr.cli.check.rotation import rotation

    try:
        config = source.configuration(options)
    except ConfigError as error:
        found = [of_error("configuration", error)]
    else:
        found = [Finding("configuration", OK, _read_from(options)), *_without_effect(options), *findings(config)]
        found += [*directories(config), *rotation(config.log.file)]
    return _told(options, found)


def _without_effect(options: CheckOptions) -> "Iterator[Finding]":
    from cmgr.cli.check.finding import WARNING, Finding
    from cmgr.config.load import without_effect

    for name, why in without_effect(str(options.config or ""), os.environ):
        yield Finding("configuration", WARNING, say("check.without-effect", name=name, why=why), say("check.take-out"))


def _told(options: CheckOptions, found: "Sequence[Finding]") -> int:
    from cmgr.cli.check.finding import ERROR, lines, row

    failed = any(f.state == ERROR for f in found)
    told: shapes.Check = {"ok": not failed, "findings": [row(each) for each in found]}
    out.result(told, lines(found, out.width(), source.language(options)), options.as_json)
    return 1 if failed else 0


def _compare(options: CheckOptions, path: Path) -> int:
    from cmgr.cli.check.compared import compared, lines

    found = compared(source.configuration(options), path)
    out.result(found, lines(found, out.width(), source.language(options)), options.as_json)
    return 0


def _read_from(options: CheckOptions) -> str:
    from cmgr.config.load import CONFIG_VARIABLE, DEFAULT_PATH

    path = str(options.config or os.environ.get(CONFIG_VARIABLE) or DEFAULT_PATH)
    return path if os.path.exists(path) else say("check.default", path=path)
