"""The fault tables and rules of escalation that the configuration chooses, as one catalog."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from cmgr.config.settings import Config
from cmgr.config.tables import rules
from cmgr.config.tables.table import KEYS, Table, read_table
from cmgr.errors import ConfigError
from cmgr.model.values.faults import FaultCode, Level
from cmgr.model.values.handling.catalog import Catalog, Entry, Words, merged, normal_code, table
from cmgr.model.values.handling.rules import Rules
from cmgr.sentences.sentence import chained, say
from cmgr.vendor import vendors

MACHINE = Path(__file__).parents[2] / "drivers" / "machine" / "tables"
"""The tables of the machine's own faults, which have no rules."""

_NEEDED = tuple(f"{level.name}Codes" for level in Level)
"""The keys of a table that says a level for everything."""


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
        mistakes = tuple(m for error in wrong for m in error.mistakes or (chained(error),))
        hint = " && ".join(error.hint for error in wrong if error.hint)
        why = say("config.mistakes", count=len(mistakes))
        raise ConfigError(say("config.both-cannot", why=why), mistakes=mistakes, hint=hint)
    if wrong:
        raise wrong[0]
    return replace(catalog, rules=own)


def load_levels(config: Config, warn: Callable[[str], None]) -> Catalog:
    """Return the levels alone, without rules. Raises and warns as `load_catalog` does."""
    entries: Mapping[FaultCode, Entry] = {
        code: entry
        for vendor in vendors()
        if vendor.tables
        for code, entry in _of_vendor(vendor.tables, vendor.chips).items()
    }
    learned = {c: e for vendor in vendors() if vendor.name == config.driver for c, e in vendor.codes(config).items()}
    entries = {**entries, **learned}
    # An operator's table that replaces those of the chips says nothing of the machine, unless it does.
    machine = _builtin(MACHINE, "machine")
    faults = config.faults
    if faults.file:
        own = read_table(faults.file)
        replaces = faults.mode == "replace"
        for warning in (*own.warnings, *(missing_levels(own) if replaces else ())):
            warn(say("config.table-odd", path=faults.file, what=warning))
        entries = merged(entries, table(own.levels, say("fault.table-operators", path=faults.file)), replace=replaces)
    entries = {**machine, **entries}
    tables = (MACHINE, *filter(None, (vendor.tables for vendor in vendors())))
    meanings = {code: words for directory in tables for code, words in _meanings(directory).items()}
    meanings = {code: words for code, words in meanings.items() if code not in learned}
    told = {code: _told(entry, *meanings[code]) if code in meanings else entry for code, entry in entries.items()}
    return Catalog(told, Level.__members__.get(faults.unknown, faults.unknown))


def load_rules(config: Config, warn: Callable[[str], None]) -> Rules:
    """Return the rules alone. Raises and warns as `load_catalog` does."""
    shipped = Rules()
    for tables in filter(None, (vendor.tables for vendor in vendors())):
        built_in = rules.sparing(rules.checked(_shipped(tables, "rules.json"), say("config.built-in")).rules)
        shipped = rules.merged(shipped, built_in, replace=False)
    path = config.faults.rules
    if not path:
        return shipped
    own = rules.read_rules(path)
    for warning in own.warnings:
        warn(say("config.rules-odd", path=path, what=warning))
    return rules.merged(shipped, own.rules, replace=config.faults.rules_mode == "replace")


def missing_levels(own: Table) -> tuple[str, ...]:
    """Return a sentence for each level that a table has no key for, which replaces the built-in one."""
    keys = [key for key in _NEEDED if KEYS[key] not in own.levels]
    return tuple(say("config.level-missing", key=key) for key in keys)


def _of_vendor(tables: Path, chips: str) -> dict[FaultCode, Entry]:
    missing = [key for key in _NEEDED if key not in _shipped(tables, "levels.json")]
    assert not missing, f"{', '.join(missing)}: the built-in table of {chips} has a key for each level"
    return _builtin(tables, chips)


def _builtin(tables: Path, name: str) -> dict[FaultCode, Entry]:
    read = _shipped(tables, "levels.json")
    levels = {KEYS[key]: tuple(FaultCode(code) for code in codes) for key, codes in read.items()}
    return table(levels, say("fault.table-built-in", name=name))


def _told(entry: Entry, english: Words, chinese: Words, reboots: bool) -> Entry:
    return replace(entry, meaning=english.meaning, advice=english.advice, chinese=chinese, reboots=reboots)


def _meanings(tables: Path) -> dict[FaultCode, tuple[Words, Words, bool]]:
    """Return what the codes mean and what to do about each, in English and in Chinese, and whether that is a restart
    of the machine."""
    advice, found = _shipped(tables, "advice.json"), dict[FaultCode, tuple[Words, Words, bool]]()
    for key, told in _shipped(tables, "meanings.json").items():
        code, todo = normal_code(key), advice[told["advice"]]
        if code is not None:
            found[code] = Words(told["en"], todo["en"]), Words(told["zh"], todo["zh"]), todo.get("reboots", False)
    return found


def _shipped(tables: Path, name: str) -> dict[str, Any]:
    try:
        read: dict[str, Any] = json.loads((tables / name).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(say("config.no-built-in", name=name), hint=say("config.install-again")) from error
    return read
