"""The fault tables that the configuration chooses, as one catalog."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from cmgr.config.settings import Config
from cmgr.config.table import KEYS, Table, read_table
from cmgr.errors import ConfigError
from cmgr.model.catalog import Catalog, Entry, merged, normal_code, table
from cmgr.model.faults import FaultCode, Level

BUILTIN = "ascend"

_TABLES = Path(__file__).parent.parent / "tables"


def load_catalog(config: Config, warn: Callable[[str], None] = lambda _: None) -> Catalog:
    """Return the levels of all codes. Raises `ConfigError` with every mistake in the operator's table.

    `warn` is called with each sentence about what is odd there: a code under two levels, a level without codes.
    """
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


def _shipped(name: str) -> dict[str, list[str]]:
    try:
        read: dict[str, list[str]] = json.loads((_TABLES / name).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read the built-in table {name}", hint="install the package cmgr again") from error
    return read
