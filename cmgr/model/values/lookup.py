"""Looking up what everybody who asks would have to search a mapping for.

Mappings of values are never changed, only replaced: what was made of one holds for as long as that is the one asked of.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress
from operator import is_, is_not
from typing import Any, Generic, ParamSpec, TypeVar

KEPT = 4
"""Mappings of which one thing is kept: other threads show other nodes than the one that is decided on."""

FEW = 8
"""So many values may be others: beyond, it is less work to begin anew."""

Mappings = ParamSpec("Mappings")
Made = TypeVar("Made")
Key = TypeVar("Key")
Value = TypeVar("Value")


def kept(make: Callable[Mappings, Made]) -> Callable[Mappings, Made]:
    """Return the function, which makes nothing anew of the very mappings of a short while ago. Any thread."""
    known: tuple[tuple[tuple[object, ...], Made], ...] = ()

    def of(*mappings: Mappings.args, **named: Mappings.kwargs) -> Made:
        nonlocal known
        for those, made in known:
            if all(map(is_, those, mappings)):
                return made
        made = make(*mappings, **named)
        known = ((mappings, made), *known[: KEPT - 1])
        return made

    return of


def grouped(pairs: Iterable[tuple[Key, Value]]) -> Mapping[Key, Sequence[Value]]:
    """Return all values of each key, in their order."""
    found: dict[Key, list[Value]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


class Indexed(Generic[Key, Value]):
    """The groups of a mapping's values by these keys of theirs, in their order. Any thread.

    Of a mapping in which a few values of the last one are replaced, that have the same keys, little is made anew: most
    news is about one container, and no key of the others is looked at for it.
    """

    def __init__(self, keys: Callable[[Value], Iterable[Key]]) -> None:
        self._keys = keys
        self._known: tuple[tuple[Mapping[Any, Value], Mapping[Key, Sequence[Value]]], ...] = ()

    def __call__(self, values: Mapping[Any, Value]) -> Mapping[Key, Sequence[Value]]:
        known = self._known
        for those, made in known:
            if those is values:
                return made
        groups = self._amended(*known[0], values) if known else None
        if groups is None:
            groups = grouped((key, value) for value in values.values() for key in self._keys(value))
        self._known = ((values, groups), *known[: KEPT - 1])
        return groups

    def _amended(
        self, old: Mapping[Any, Value], groups: Mapping[Key, Sequence[Value]], new: Mapping[Any, Value]
    ) -> Mapping[Key, Sequence[Value]] | None:
        pairs = replaced(old, new)
        if pairs is None:
            return None
        now = dict(groups)
        for before, after in pairs:
            its = [*self._keys(before)]
            if its != [*self._keys(after)]:
                return None
            for key in its:
                now[key] = [after if value is before else value for value in now[key]]
        return now


def replaced(old: Mapping[Any, Value], new: Mapping[Any, Value]) -> Sequence[tuple[Value, Value]] | None:
    """Return the values that the other mapping has in the place of these; None where it has other keys, or too many.

    All is compared by identity, without a step of Python's for each.
    """
    if len(old) != len(new) or not all(map(is_, old, new)):
        return None
    differ = map(is_not, old.values(), new.values())
    pairs = [*compress(zip(old.values(), new.values(), strict=True), differ)]
    return pairs if len(pairs) <= FEW else None
