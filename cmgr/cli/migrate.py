"""The command that turns an installation of the reference into a configuration of cmgr."""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cmgr import atomic
from cmgr.cli.options import NEEDED, option
from cmgr.cli.text import out
from cmgr.errors import CmgrError, ConfigError, system_words
from cmgr.frozen import dataclass
from cmgr.sentences.sentence import chained, language_of, parts, say
from cmgr.shortcut import DEFAULT_CONFIG, locale
from cmgr.view.text import render

if TYPE_CHECKING:
    from cmgr.migration.migrate import Migration
    from cmgr.migration.unit_file import Source

MODE = 0o640
MOST = 1 << 20
TABLE = Path("faultCode.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class MigrateOptions:
    unit: list[Path] = option(
        "--unit FILE", "The reference's unit file, then its drop-ins; repeatable. - reads systemctl cat.", NEEDED
    )
    fault_config: Path | None = option("--fault-config FILE", "Its fault table; else the one that the unit names.")
    output: Path | None = option("--output FILE", "Write there, and the fault table beside it; else to the terminal.")
    force: bool = option("--force", "Replace files that are there already.", False)
    observe: bool = option("--observe", "With observe = true: for the first day.", False)


@dataclass(frozen=True, slots=True)
class FaultFile:
    """The reference's fault table: where it lies, what it says, and where cmgr shall read it."""

    source: Path
    text: str
    target: Path


def migrate(options: MigrateOptions) -> None:
    """Turn a container-manager installation into a configuration.

    Reads the unit file of MindCluster's container-manager and its fault table, maps every flag, and says what
    differs. Changes nothing but the files of --output.
    """
    from cmgr.migration.migrate import install_command
    from cmgr.migration.text import file_text

    target = Path(DEFAULT_CONFIG) if options.output is None else options.output.absolute()
    mistakes, language = list[str](), language_of(locale())
    migration = _migration(options, mistakes)
    migration, faults = _with_faults(options, migration, target.parent, mistakes)
    names = [_named(path) for path in options.unit]
    if mistakes:
        why = mistakes[0] if len(mistakes) == 1 else say("config.mistakes", count=len(mistakes))
        raise ConfigError(say("migrate.cannot", names=names, why=why), mistakes=tuple(mistakes))
    if options.output is None:
        first = [install_command(str(faults.source), str(faults.target))] if faults else []
        out.lines(file_text(migration, names, first, language).splitlines())
        return
    written = {target: file_text(migration, names, language=language)}
    if faults and not _same(faults.source, faults.target):
        written[faults.target] = faults.text
    _write(written, options.force)
    _report(migration, written, target)


def _migration(options: MigrateOptions, mistakes: list[str]) -> "Migration":
    from cmgr.migration import migrate as of

    sources = tuple(_sources(options.unit, mistakes))
    texts: dict[str, str] = {}
    for file in of.environment_files(sources):
        try:
            texts[file.path] = _text(Path(file.path))
        except CmgrError as error:
            if file.needed:
                mistakes.append(say("migrate.of-file", path=file.at, what=chained(error)))
    found = of.migrate(sources, texts)
    if sources:
        mistakes += found.mistakes
    if options.observe:
        observe = of.Chosen("observe", True, say("migrate.observe", flag="--observe"))
        found = replace(found, chosen=(observe, *found.chosen))
    return replace(found, differs=(*found.differs, *_overlooked(options.unit)))


def _sources(paths: Sequence[Path], mistakes: list[str]) -> "Iterator[Source]":
    from cmgr.migration.unit_file import Source

    for path in paths:
        try:
            yield Source(path.name if str(path) != "-" else _named(path), _text(path))
        except CmgrError as error:
            mistakes.append(chained(error))


def _named(path: Path) -> str:
    return str(path) if str(path) != "-" else say("migrate.standard-input")


def _text(path: Path) -> str:
    """Return the text of a file of the reference's. Its mode does not matter: what is made of it, a person reads."""
    try:
        if str(path) == "-":
            data = sys.stdin.buffer.read(MOST + 1)
        else:
            with path.open("rb") as file:
                data = file.read(MOST + 1)
    except (OSError, ValueError) as error:
        why = system_words(error)
        raise CmgrError(say("migrate.unread", path=str(path), why=why)) from None
    if len(data) > MOST:
        raise CmgrError(say("migrate.unread", path=str(path), why=say("migrate.larger", most=MOST)))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise CmgrError(say("migrate.unread", path=str(path), why=say("migrate.no-utf-8"))) from None


def _overlooked(units: Sequence[Path]) -> Iterator[str]:
    named = {path.absolute() for path in units}
    for unit in units:
        directory = unit.with_name(f"{unit.name}.d")
        with suppress(OSError):
            missed = sorted(p.name for p in directory.glob("*.conf") if p.absolute() not in named)
            if missed:
                yield say("migrate.overlooked", directory=str(directory), names=missed)


def _with_faults(
    options: MigrateOptions, migration: "Migration", directory: Path, mistakes: list[str]
) -> "tuple[Migration, FaultFile | None]":
    from cmgr import trust
    from cmgr.config.tables import table
    from cmgr.migration import migrate as of

    named = options.fault_config or (Path(migration.fault_file) if migration.fault_file else None)
    if named is None:
        return of.without_fault_table(migration), None
    path = named.absolute()
    target = directory / (TABLE.with_suffix(".toml") if path.suffix == ".toml" else TABLE)
    try:
        # By the same rule and the same loader as faults.file.
        text = trust.read(str(path))
        read = table.parse_table(text, str(path))
    except ConfigError as error:
        if len(error.mistakes) > 1:
            mistakes += [say("migrate.of-file", path=str(path), what=mistake) for mistake in error.mistakes]
            return migration, None
        told = chained(error)
        told = say("word.hinted", what=told, hint=error.hint) if error.hint else told
        gone = not path.exists() and options.fault_config is None
        mistakes.append(parts([told, say("migrate.where-now", option="--fault-config") if gone else ""]))
        return migration, None
    return of.with_fault_table(migration, read, str(path), str(target)), FaultFile(path, text, target)


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _write(texts: Mapping[Path, str], force: bool) -> None:
    """Write each file whole or not at all. Without `force` none is written where one is there already."""
    there = [path for path in texts if os.path.lexists(path)]
    if there and not force:
        told = say("migrate.there-already", paths=[*map(str, there)])
        raise CmgrError(told, hint=say("migrate.force", option="--force"))
    for path, text in texts.items():
        try:
            put(path, text, force)
        except OSError as error:
            why = system_words(error)
            raise CmgrError(say("error.cannot-write-to", path=str(path), why=why)) from None


def put(path: Path, text: str, force: bool) -> None:
    """Write a configuration whole or not at all, for the group that could read it before. Raises `OSError`."""
    with atomic.written(path, MODE, replace=force) as file:
        with suppress(PermissionError):  # Only root and its members may give a file to a group.
            os.fchown(file.fileno(), -1, _group(path))
        file.write(text.encode())


def _group(path: Path) -> int:
    """Return the group of the file that is replaced, so that who could read it still can, or else group cmgr."""
    from cmgr.service.door.claim import GROUP, gid_of

    with suppress(OSError):
        return path.lstat().st_gid
    found = gid_of(GROUP)
    return -1 if found is None else found


def _report(migration: "Migration", written: Mapping[Path, str], config: Path) -> None:
    from cmgr.migration import text

    out.lines(out.spoken(say("migrate.written", path=str(path))) for path in written)
    for head, sentences in text.parts(migration):
        out.lines(["", out.spoken(head)])
        for told in sentences:
            first, *rest = render.wrapped(out.spoken(told), out.width() - 4)
            out.lines([f"  - {first}", *(f"    {line}" for line in rest)])
    out.lines(["", out.spoken(say("migrate.next", command=f"cmgr check --config {config}"))])
