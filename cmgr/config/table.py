"""An operator's fault table, checked as a whole: codes by level, in the reference's JSON or the same in TOML."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cmgr.config import files, toml
from cmgr.config.words import counted, did_you_mean, plain, quoted
from cmgr.errors import ConfigError
from cmgr.model.catalog import normal_code
from cmgr.model.faults import FaultCode, Level

KEYS: Mapping[str, Level] = {f"{level.name}Codes": level for level in Level}


@dataclass(frozen=True, slots=True)
class Table:
    """The codes of each level that the file has, and what is odd in it without being wrong."""

    levels: Mapping[Level, tuple[FaultCode, ...]]
    warnings: tuple[str, ...] = ()


def read_table(path: str) -> Table:
    """Return the table of a file ending in .json or .toml. Raises `ConfigError` with every mistake."""
    return parse_table(files.read(path), path)


def parse_table(text: str, path: str) -> Table:
    """Return the table that is the text of this file. Raises `ConfigError` with every mistake."""
    pairs = _pairs(text, path)
    levels: dict[Level, tuple[FaultCode, ...]] = {}
    mistakes: list[str] = []
    for key, raw in pairs:
        level = KEYS.get(key)
        if level is None:
            mistakes.append(f"{plain(key)}: there is no such level{did_you_mean(key, KEYS)}")
        elif level in levels:
            mistakes.append(f"{key}: stands twice in the file")
        else:
            levels[level], wrong = _codes(key, raw)
            mistakes += wrong
    if not mistakes and not any(levels.values()):
        mistakes.append("it has no fault code; the keys are " + ", ".join(KEYS))
    if mistakes:
        first = mistakes[0] if len(mistakes) == 1 else counted(mistakes)
        raise ConfigError(f"cannot use the fault table {path}: {first}", mistakes=tuple(mistakes))
    return Table(levels, tuple(_warnings(levels)))


def _pairs(text: str, path: str) -> Iterable[tuple[str, Any]]:
    if path.endswith(".toml"):
        return toml.parse(text, path).items()
    if not text.strip():
        raise ConfigError(f"cannot read {path}: it is empty")
    try:
        # As pairs, because a key that stands twice would else hide the first one's codes.
        read = json.loads(text, object_pairs_hook=_Pairs)
    except RecursionError:
        raise ConfigError(f"cannot read {path}: it nests too deeply") from None
    except ValueError as error:
        raise ConfigError(f"cannot read {path}: it is not valid JSON: {error}") from None
    if not isinstance(read, _Pairs):
        raise ConfigError(f"cannot use the fault table {path}: it must be an object with the keys {', '.join(KEYS)}")
    return read.items


class _Pairs:
    """A JSON object as it stands in the file."""

    def __init__(self, items: list[tuple[str, Any]]) -> None:
        self.items = items

    def __repr__(self) -> str:
        return "{…}"


def _codes(key: str, raw: object) -> tuple[tuple[FaultCode, ...], list[str]]:
    if not isinstance(raw, list):
        return (), [f"{key} = {quoted(raw)}: must be a list of codes"]
    codes: list[FaultCode] = []
    mistakes: list[str] = []
    for number, item in enumerate(raw, start=1):
        code = normal_code(item) if isinstance(item, str) else None
        if code is not None:
            codes.append(code)
        elif isinstance(item, str):
            why = "must be 1 to 8 hexadecimal digits, not all 0, with or without 0x"
            mistakes.append(f"{key}[{number}] = {quoted(item)}: {why}")
        else:
            mistakes.append(f"{key}[{number}] = {quoted(item)}: must be a code in quotes")
    return tuple(codes), mistakes


def _warnings(levels: Mapping[Level, tuple[FaultCode, ...]]) -> Iterator[str]:
    under: dict[FaultCode, list[Level]] = {}
    for level in sorted(levels):
        for code, count in Counter(levels[level]).items():
            under.setdefault(code, []).append(level)
            if count > 1:
                yield f"{code} stands {count} times under {level.name}Codes"
    for code, several in under.items():
        if len(several) > 1:
            names = " and ".join(level.name for level in several)
            yield f"{code} stands under {names}: it has the higher level, {several[-1].name}"
