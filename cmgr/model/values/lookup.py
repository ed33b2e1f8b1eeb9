"""Looking up what everybody who asks would have to search a mapping for.

Mappings of values are never changed, only replaced: what was made of one holds for as long as that is the one asked of.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import is_
from typing import ParamSpec, TypeVar

KEPT = 4
"""Mappings of which one thing is kept: other threads show other nodes than the one that is decided on."""

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
