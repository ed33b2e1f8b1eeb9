"""The fault tables and rules of escalation that the configuration chooses, as one catalog."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from cmgr.config.settings import Config
from cmgr.config.tables import rules
from cmgr.config.tables.table import KEYS, Table, read_table
from cmgr.config.words import counted
from cmgr.errors import ConfigError, chain
from cmgr.model.values.catalog import Catalog, Entry, merged, normal_code, table
from cmgr.model.values.faults import FaultCode, Level
from cmgr.model.values.rules import Rules

BUILTIN = "ascend"

_TABLES = Path(__file__).parents[2] / "tables"


def load_catalog(config: Config, warn: Callable[[str], None] = lambda _: None) -> Catalog:
    """Return the levels of all codes and the rules of escalation. Raises `ConfigError` with every mistake in the
    operator's two files.

    `warn` is called with each sentence about what is odd there: a code under two levels, a level without codes.
    """
    wrong: list[ConfigError] = []
    catalog, own = Catalog(), Rules()
    try:
        catalog = load_levels(config, warn)
    except ConfigError as error:
        wrong.append(error)
    try:
        own = load_rules(config, warn)
    except ConfigError as error:
        wrong.append(error)
    if len(wrong) > 1:
        mistakes = tuple(m for error in wrong for m in error.mistakes or (chain(error),))
        hint = " && ".join(error.hint for error in wrong if error.hint)
        raise ConfigError(
            f"cannot use the fault table and the rules: {counted(mistakes)}", mistakes=mistakes, hint=hint
        )
    if wrong:
        raise wrong[0]
    return replace(catalog, rules=own)


def load_levels(config: Config, warn: Callable[[str], None]) -> Catalog:
    """Return the levels alone, without rules. Raises and warns as `load_catalog` does."""
    entries: Mapping[FaultCode, Entry] = table(_builtin(), f"built-in table {BUILTIN}")
    faults = config.faults
    if faults.file:
        own = read_table(faults.file)
        replaces = faults.mode == "replace"
        for warning in (*own.warnings, *(missing_levels(own) if replaces else ())):
            warn(f"fault table {faults.file}: {warning}")
        entries = merged(entries, table(own.levels, f"operator's file {faults.file}"), replace=replaces)
    meanings = _meanings()
    told = {code: replace(entry, meaning=meanings.get(code, "")) for code, entry in entries.items()}
    return Catalog(told, Level.__members__.get(faults.unknown, faults.unknown))


def load_rules(config: Config, warn: Callable[[str], None]) -> Rules:
    """Return the rules alone. Raises and warns as `load_catalog` does."""
    shipped = rules.checked(_shipped("rules.json"), "built in").rules
    path = config.faults.rules
    if not path:
        return shipped
    own = rules.read_rules(path)
    for warning in own.warnings:
        warn(f"rules {path}: {warning}")
    return rules.merged(shipped, own.rules, replace=config.faults.rules_mode == "replace")


def missing_levels(own: Table) -> tuple[str, ...]:
    """Return a sentence for each level that a table has no key for, which replaces the built-in one."""
    keys = [key for key, level in KEYS.items() if level not in own.levels]
    return tuple(f"{key} is missing, and the table replaces the built-in one: no code has that level" for key in keys)


def _builtin() -> dict[Level, tuple[FaultCode, ...]]:
    read = _shipped(f"{BUILTIN}.json")
    return {level: tuple(FaultCode(code) for code in read[key]) for key, level in KEYS.items()}


def _meanings() -> dict[FaultCode, str]:
    read = _shipped("meanings.json")
    return {code: str(text) for key, text in read.items() if (code := normal_code(key)) is not None}


def _shipped(name: str) -> dict[str, Any]:
    try:
        read: dict[str, Any] = json.loads((_TABLES / name).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read the built-in table {name}", hint="install the package cmgr again") from error
    return read
