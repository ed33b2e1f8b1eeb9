"""Lists of tables, each checked like a table of its own."""

from collections.abc import Iterator
from dataclasses import MISSING
from typing import Any

from cmgr.config.kinds import Rows
from cmgr.config.schema import Setting, row
from cmgr.config.sources import Given, unknown


def rows(given: Given, kind: Rows) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """Return the values of the good tables of the list, and a sentence for each mistake in the others."""
    if not isinstance(given.raw, list) or not all(isinstance(item, dict) for item in given.raw):
        heading = given.setting.key
        return (), (given.mistake(f"a list of tables, each under a heading [[{heading}]] in the file"),)
    settings = row(kind.of)
    good: list[Any] = []
    mistakes: list[str] = []
    for number, table in enumerate(given.raw, start=1):
        key = f"{given.setting.key}[{number}]"
        wrong = tuple(_mistakes(table, settings, key, given.source))
        mistakes.extend(wrong)
        if not wrong:
            good.append(kind.of(**{s.key: s.kind.take(table[s.key]) for s in settings if s.key in table}))
    return tuple(good), tuple(mistakes)


def _mistakes(table: dict[str, Any], settings: tuple[Setting, ...], key: str, source: str) -> Iterator[str]:
    names = [setting.key for setting in settings]
    for name in table:
        if name not in names:
            yield unknown(key, name, source, [f"{key}.{known}" for known in names])
    for setting in settings:
        if setting.key in table:
            try:
                setting.kind.take(table[setting.key])
            except ValueError as error:
                given = Given(setting, table[setting.key], source)
                yield given.mistake(str(error), f"{key}.{setting.key}")
        elif setting.default is MISSING:
            yield f"{key}.{setting.key} ({source}): is missing; it must be {setting.kind.allowed}"
