"""An operator's fault table, checked as a whole: codes by level, in the reference's JSON or the same in TOML."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from cmgr import trust
from cmgr.config.spelling import did_you_mean, parse_json, parse_toml, plain, quoted
from cmgr.errors import ConfigError
from cmgr.frozen import dataclass
from cmgr.model.values.faults import FaultClass, FaultCode, Handling, within_class
from cmgr.model.values.handling.catalog import FORMS, Key, normal_code
from cmgr.sentences.sentence import parts, say

_NETWORK = (Handling.NotHandleFault, Handling.SubHealthFault, Handling.PreSeparateNPU, Handling.SeparateNPU)

KEYS: Mapping[str, Key] = {
    **{f"{word.name}Codes": (FaultClass.CHIP, word) for word in Handling if word is not Handling.ManuallySeparateNPU},
    **{f"{word.name}NetworkCodes": (FaultClass.NETWORK, word) for word in _NETWORK},
}
"""The keys of a table, of which one has as many as it needs."""


@dataclass(frozen=True, slots=True)
class Table:
    """The codes under each key that the file has, and what is odd in it without being wrong."""

    levels: Mapping[Key, tuple[FaultCode, ...]]
    warnings: tuple[str, ...] = ()


def read_table(path: str) -> Table:
    """Return the table of a file ending in .json or .toml. Raises `ConfigError` with every mistake."""
    return parse_table(trust.read(path), path)


def parse_table(text: str, path: str) -> Table:
    """Return the table that is the text of this file. Raises `ConfigError` with every mistake."""
    document, repeated = _document(text, path)
    levels: dict[Key, tuple[FaultCode, ...]] = {}
    mistakes: list[str] = [say("config.twice-in-file", key=plain(key)) for key in repeated]
    for key, raw in document.items():
        level = KEYS.get(key)
        if level is None:
            mistakes.append(parts([say("config.no-such-level", key=plain(key)), did_you_mean(key, KEYS)]))
        else:
            levels[level], wrong = _codes(key, raw)
            mistakes += wrong
    if not mistakes and not any(levels.values()):
        mistakes.append(say("config.no-code-there", keys=[*KEYS]))
    if mistakes:
        first = mistakes[0] if len(mistakes) == 1 else say("config.mistakes", count=len(mistakes))
        raise ConfigError(say("config.table-cannot", path=path, why=first), mistakes=tuple(mistakes))
    return Table(levels, tuple(_warnings(levels)))


def _document(text: str, path: str) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    if path.endswith(".toml"):
        return parse_toml(text, path), ()
    read, repeated = parse_json(text, path)
    if not isinstance(read, dict):
        raise ConfigError(say("config.table-cannot", path=path, why=say("config.table-object", keys=[*KEYS])))
    return read, repeated


def _codes(key: str, raw: object) -> tuple[tuple[FaultCode, ...], list[str]]:
    if not isinstance(raw, list):
        return (), [say("config.value", key=key, value=quoted(raw), allowed=say("config.list-of-codes"))]
    codes: list[FaultCode] = []
    mistakes: list[str] = []
    for number, item in enumerate(raw, start=1):
        code = normal_code(item) if isinstance(item, str) else None
        if code is not None:
            codes.append(code)
        else:
            allowed = FORMS if isinstance(item, str) else say("config.quoted-code")
            mistakes.append(say("config.value", key=f"{key}[{number}]", value=quoted(item), allowed=allowed))
    return tuple(codes), mistakes


def _warnings(levels: Mapping[Key, tuple[FaultCode, ...]]) -> Iterator[str]:
    names, under = {key: name for name, key in KEYS.items()}, dict[FaultCode, list[Key]]()
    for key in sorted(levels, key=lambda key: key[1]):
        for code, count in Counter(levels[key]).items():
            under.setdefault(code, []).append(key)
            if count > 1:
                yield say("config.twice-under", code=code, count=count, key=names[key])
        fault_class, handling = key
        if levels[key] and within_class(handling, fault_class) is not handling:
            yield say("config.isolates-none", key=names[key], level=Handling.PreSeparateNPU.name)
    for code, several in under.items():
        if len(several) > 1:
            keys = [names[key].removesuffix("Codes") for key in several]
            yield say("config.stands-under", code=code, keys=keys, level=several[-1][1].name)
