"""Values as JSON and back, by the types of their fields. Pure, and strict: who wrote it may be a stranger.

Values are objects with the names of their fields; those that are as by default may be left out. Spans of time are
seconds. The limits of a type stand behind it: `Annotated[int, within(1, 8)]`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, NewType, Union, get_args, get_origin, get_type_hints

from cmgr.frozen import dataclass, default_of, has_default


@dataclass(frozen=True, slots=True)
class Bound:
    """A limit of the values of a type. `allowed`: the rest of a sentence that begins with "must be"."""

    allowed: str
    holds: Callable[[Any], bool]


def within(least: int, most: int) -> Bound:
    return Bound(f"from {least} to {most}", lambda number: least <= number <= most)


def most(count: int) -> Bound:
    return Bound(f"at most {count}", lambda many: len(many) <= count)


def line(longest: int) -> Bound:
    return Bound(f"a line of at most {longest} characters", lambda text: len(text) <= longest and text.isprintable())


def like(form: re.Pattern[str], allowed: str) -> Bound:
    return Bound(allowed, lambda text: form.fullmatch(text) is not None)


def plain(given: Any, *, whole: bool = False) -> Any:
    """Return a value as JSON can hold it; `whole`: with what is as by default, too."""
    if type(given) in _AS_IT_IS:  # Most are such, and all other questions take longer.
        return given
    if is_dataclass(given):
        kind: Any = type(given)
        parts = ((name, getattr(given, name), default) for name, default in _defaults(kind))
        return {name: plain(part, whole=whole) for name, part, default in parts if whole or part != default}
    if isinstance(given, Enum):
        return given.value
    if isinstance(given, Mapping):
        return {str(key): plain(part, whole=whole) for key, part in given.items()}
    if isinstance(given, frozenset):
        return sorted(map(plain, given))
    if isinstance(given, tuple | list):
        return [plain(part, whole=whole) for part in given]
    if isinstance(given, datetime):
        return given.isoformat()
    return given.total_seconds() if isinstance(given, timedelta) else given


_AS_IT_IS = frozenset({str, int, float, bool, NoneType})


@cache
def _defaults(kind: Any) -> tuple[tuple[str, Any], ...]:
    return tuple((f.name, default_of(f) if has_default(f) else MISSING) for f in fields(kind))


def value(kind: Any, raw: Any, at: str = "", *, exact: bool = False) -> Any:
    """Return the value of this type. Raises `ValueError`, which says what must be where.

    Names that nobody knows are of a newer program, and passed over; if it is to be `exact`, they are a mistake.
    """
    return _taker(kind, exact)(raw, at)


_Take = Callable[[Any, str], Any]


@cache
def _taker(kind: Any, exact: bool) -> _Take:
    while isinstance(kind, NewType):
        kind = kind.__supertype__
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _bounded(_taker(inner[0], exact), [each for each in inner[1:] if isinstance(each, Bound)])
    takes = [_taker(each, exact) for each in inner if each not in (NoneType, ...)]
    if origin in (Union, UnionType):
        return _either(takes, maybe=NoneType in inner)
    if origin is tuple and inner[1:] != (...,):
        return _row(takes)
    if origin in (tuple, frozenset):
        return lambda raw, at: origin(_each(takes[0], raw, at))
    if origin is Mapping:
        return _mapping(*takes)
    if isinstance(kind, type) and is_dataclass(kind):
        return _record(kind, exact)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return _member(kind)
    if isinstance(kind, type) and issubclass(kind, str):
        kind = str  # A text that remembers more comes as its text.
    return _OTHERS[kind] if kind in _OTHERS else _scalar(kind)


def _bounded(take: _Take, bounds: list[Bound]) -> _Take:
    def taken(raw: Any, at: str) -> Any:
        found = take(raw, at)
        for bound in bounds:
            if not bound.holds(found):
                raise _mistake(at, bound.allowed)
        return found

    return taken


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
        raise _mistake(at, "a list")
    return [take(part, f"{at}[{place}]") for place, part in enumerate(raw)]


def _row(takes: list[_Take]) -> _Take:
    def take(raw: Any, at: str) -> Any:
        if not isinstance(raw, list) or len(raw) != len(takes):
            raise _mistake(at, f"a list of {len(takes)}")
        return tuple(each(part, f"{at}[{place}]") for place, (each, part) in enumerate(zip(takes, raw, strict=True)))

    return take


def _mapping(key: _Take, one: _Take) -> _Take:
    def take(raw: Any, at: str) -> Any:
        if not isinstance(raw, dict):
            raise _mistake(at, "an object")
        named = {key(name, f"a name in {at}"): (name, part) for name, part in raw.items()}
        return {known: one(part, f"{at}.{name}") for known, (name, part) in named.items()}

    return take


def _record(kind: type[Any], exact: bool) -> _Take:
    hints = get_type_hints(kind, include_extras=True)
    takes = {field.name: _taker(hints[field.name], exact) for field in fields(kind)}
    needed = [field.name for field in fields(kind) if not has_default(field)]

    def take(raw: Any, at: str) -> Any:
        if not isinstance(raw, dict):
            raise _mistake(at, "an object")
        before = f"{at}." if at else ""
        if missing := [name for name in needed if name not in raw]:
            raise ValueError(f"{before}{missing[0]}: is missing")
        if exact and (unknown := sorted(raw.keys() - takes.keys())):
            raise ValueError(f"{at or 'it'}: has {unknown[0]!a:.40}, which is unknown")
        return kind(**{name: takes[name](part, before + name) for name, part in raw.items() if name in takes})

    return take


def _member(kind: type[Enum]) -> _Take:
    words = {member.value: member for member in kind}

    def take(raw: Any, at: str) -> Any:
        if not isinstance(raw, str | int) or raw not in words:
            raise _mistake(at, f"one of {', '.join(map(str, words))}")
        return words[raw]

    return take


def _scalar(kind: type) -> _Take:
    name = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}[kind]
    kinds = (int, float) if kind is float else kind

    def take(raw: Any, at: str) -> Any:
        # To Python true is a number.
        if not isinstance(raw, kinds) or (isinstance(raw, bool) and kind is not bool):
            raise _mistake(at, name)
        return raw

    return take


def _time(raw: Any, at: str) -> datetime:
    try:
        found = datetime.fromisoformat(raw)
        if found.tzinfo is None or not 2000 <= found.year < 3000:
            raise ValueError
    except (TypeError, ValueError):
        raise _mistake(at, "a time with a zone, of the years 2000 to 2999") from None
    return found.astimezone(UTC)


_OTHERS: Mapping[type, _Take] = {timedelta: lambda raw, at: timedelta(seconds=_scalar(float)(raw, at)), datetime: _time}


def _mistake(at: str, allowed: str) -> ValueError:
    return ValueError(f"{at or 'it'}: must be {allowed}")
