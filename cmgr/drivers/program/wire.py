"""The words between the service and a program that drives chips: one JSON object a line. Pure, and strict.

Requests of the service: {"id": 7, "do": "read", …}; the answer has the same id, and either "result" or "error". A
message that the program sends by itself has "tell" instead. Values are objects with the names of their fields; those
that are as by default are left out. Spans of time are seconds.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import timedelta
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, NewType, Union, get_args, get_origin, get_type_hints

from cmgr.errors import DriverError, DriverMissing, ResetRefused, chain
from cmgr.model.values.life import default_of, has_default
from cmgr.model.values.machine import MachineTold
from cmgr.model.values.messages.facts import ChipsListed, FaultReported, ReadNeeded, Remarked
from cmgr.ports import DriverFact

VERSION = 1
"""Of all that is said here. A program of another version is refused."""

MOST = 1 << 24
"""So many bytes one line may have."""

FACTS: Mapping[str, type[Any]] = {
    "fault": FaultReported, "read": ReadNeeded, "chips": ChipsListed, "remark": Remarked, "machine": MachineTold,
}  # fmt: skip
"""The facts that a program tells by itself."""

_TELLS = {kind: word for word, kind in FACTS.items()}

_ERRORS: Mapping[str, type[DriverError]] = {"failed": DriverError, "missing": DriverMissing, "refused": ResetRefused}

_compact = json.JSONEncoder(separators=(",", ":")).encode


def line(message: Mapping[str, Any]) -> bytes:
    """Return the message as it is sent."""
    return _compact(message).encode() + b"\n"


def told(fact: DriverFact) -> bytes:
    """Return a fact as it is sent."""
    return line({"tell": _TELLS[type(fact)], **plain(fact)})


def fact(message: Mapping[str, Any]) -> DriverFact:
    """Return the fact that was told. Raises `ValueError`."""
    kind = FACTS.get(message["tell"])
    if kind is None:
        raise ValueError(f"tell: must be one of {', '.join(FACTS)}")
    found: DriverFact = value(kind, {name: part for name, part in message.items() if name != "tell"})
    return found


def failure(error: DriverError) -> Mapping[str, str]:
    """Return an error as it is sent."""
    word = {DriverMissing: "missing", ResetRefused: "refused"}.get(type(error), "failed")
    return {"kind": word, "text": chain(error), **({"hint": error.hint} if error.hint else {})}


def failed(said: Any) -> DriverError:
    """Return the error that was sent. Anything else is an error, too."""
    if not isinstance(said, dict) or not isinstance(said.get("text"), str):
        return DriverError(f"cannot drive the chips: the program answers with an error of no form: {said!r:.80}")
    return _ERRORS.get(str(said.get("kind")), DriverError)(said["text"], hint=str(said.get("hint", "")))


def plain(given: Any) -> Any:
    """Return a value as JSON can hold it."""
    if is_dataclass(given):
        kind: Any = type(given)
        parts = ((name, getattr(given, name), default) for name, default in _defaults(kind))
        return {name: plain(part) for name, part, default in parts if part != default}
    if isinstance(given, Enum):
        return given.value
    if isinstance(given, Mapping):
        return {str(key): plain(part) for key, part in given.items()}
    if isinstance(given, frozenset):
        return sorted(map(plain, given))
    if isinstance(given, tuple | list):
        return [plain(part) for part in given]
    return given.total_seconds() if isinstance(given, timedelta) else given


@cache
def _defaults(kind: Any) -> tuple[tuple[str, Any], ...]:
    return tuple((f.name, default_of(f) if has_default(f) else MISSING) for f in fields(kind))


def value(kind: Any, raw: Any, at: str = "") -> Any:
    """Return the value of this type. Raises `ValueError`, which says what must be where."""
    return _taker(kind)(raw, at)


_Take = Callable[[Any, str], Any]


@cache
def _taker(kind: Any) -> _Take:
    while isinstance(kind, NewType):
        kind = kind.__supertype__
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        some = [_taker(each) for each in inner if each is not NoneType]
        return _either(some, maybe=NoneType in inner)
    if origin is tuple:
        return lambda raw, at: tuple(_each(_taker(inner[0]), raw, at))
    if origin is frozenset:
        return lambda raw, at: frozenset(_each(_taker(inner[0]), raw, at))
    if isinstance(kind, type) and is_dataclass(kind):
        return _record(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _member(kind)
    return _span if kind is timedelta else _scalar(kind)


def _either(some: list[_Take], *, maybe: bool) -> _Take:
    def take(raw: Any, at: str) -> Any:
        if raw is None and maybe:
            return None
        for each in some[:-1]:
            try:
                return each(raw, at)
            except ValueError:
                continue
        return some[-1](raw, at)

    return take


def _each(take: _Take, raw: Any, at: str) -> list[Any]:
    if not isinstance(raw, list):
        raise ValueError(f"{at or 'it'}: must be a list")
    return [take(part, f"{at}[{place}]") for place, part in enumerate(raw)]


def _record(kind: type[Any]) -> _Take:
    hints = get_type_hints(kind)
    takes = {field.name: (_taker(hints[field.name]), has_default(field)) for field in fields(kind)}

    def take(raw: Any, at: str) -> Any:
        if not isinstance(raw, dict):
            raise ValueError(f"{at or 'it'}: must be an object")
        before = f"{at}." if at else ""
        if missing := [name for name, (_, known) in takes.items() if not known and name not in raw]:
            raise ValueError(f"{before}{missing[0]}: is missing")
        # Names that nobody knows are of a newer program.
        return kind(**{name: takes[name][0](part, before + name) for name, part in raw.items() if name in takes})

    return take


def _member(kind: type[Enum]) -> _Take:
    words = {member.value: member for member in kind}

    def take(raw: Any, at: str) -> Any:
        if not isinstance(raw, str | int) or raw not in words:
            raise ValueError(f"{at or 'it'}: must be one of {', '.join(map(str, words))}")
        return words[raw]

    return take


def _span(raw: Any, at: str) -> timedelta:
    return timedelta(seconds=_scalar(float)(raw, at))


def _scalar(kind: type) -> _Take:
    name = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}[kind]
    kinds = (int, float) if kind is float else kind

    def take(raw: Any, at: str) -> Any:
        # To Python true is a number.
        if not isinstance(raw, kinds) or (isinstance(raw, bool) and kind is not bool):
            raise ValueError(f"{at or 'it'}: must be {name}")
        return raw

    return take
