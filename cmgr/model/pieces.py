"""Chips are pieces of hardware: what is remembered of one is its own, and its number is only its name today.

A driver numbers anew when a chip is missing, or when cards were moved. Before a list is taken in, the books are
therefore put under the numbers of today. All that is remembered of a piece that is not there is kept apart, until it
is there again or a person says that it is gone for good.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from datetime import datetime
from functools import cache
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from cmgr.frozen import replace
from cmgr.model.values.chips import Chip, ChipId, MissingChip, RingId
from cmgr.model.values.node import Node
from cmgr.model.values.rings import REBOOTING

APART = 1000
"""Pieces that are not there, and whose number another one has, are numbered from here on: no chip has such a number."""

_Way = Callable[[Chip], object]

_WAYS: tuple[_Way, ...] = (
    lambda chip: chip.serial,
    lambda chip: (chip.board, chip.device) if chip.board else "",
    lambda chip: chip.bus,
)
"""How pieces are told apart, the surest way first: chips of one board share its serial number."""

Names = Mapping[object, Mapping[Any, Any]]
"""By the type, `ChipId` or `RingId`, the numbers of before, each with the one of now."""


def matched(before: Iterable[Chip], now: Iterable[Chip]) -> dict[ChipId, ChipId]:
    """Return under which number each chip of before is there now; those that are not there are left out.

    Where both lists know something of a chip that tells pieces apart, and it differs, it is another piece, whatever
    less sure thing is alike. A word that several chips of one list have says nothing. Last comes the number.
    """
    old, new = {chip.id: chip for chip in before}, {chip.id: chip for chip in now}
    found: dict[ChipId, ChipId] = {}
    for rank, way in enumerate((*_WAYS, _number)):
        here = _by(way, new)
        for word, chip in _by(way, old).items():
            if word in here and not _differ(old[chip], new[here[word]], rank):
                found[chip] = here[word]
                del old[chip], new[here[word]]
    return found


def _number(chip: Chip) -> object:
    return chip.id


def _by(way: _Way, chips: Mapping[ChipId, Chip]) -> dict[object, ChipId]:
    words = {chip.id: way(chip) for chip in chips.values()}
    times = Counter(words.values())
    return {word: chip for chip, word in words.items() if word != "" and times[word] == 1}


def _differ(one: Chip, other: Chip, rank: int) -> bool:
    """Return whether anything surer than the way of this rank tells them apart."""
    words = ((way(one), way(other)) for way in _WAYS[:rank])
    return any(word and theirs and word != theirs for word, theirs in words)


def fitted(node: Node, listed: Iterable[Chip], at: datetime) -> tuple[Node, Mapping[ChipId, ChipId]]:
    """Return the node with its books under the numbers that their pieces have in this list, and which those are.

    Its `chips` are those of before that are listed, or in a reset, as they were described then. Of one that was missing
    and is listed it has the books, and the list says what it is.
    """
    now = {chip.id: chip for chip in listed}
    known = {**{c: _unknown(c) for c in node.isolations}, **{c: m.chip for c, m in node.missing.items()}, **node.chips}
    names = matched(known.values(), now.values())
    # The driver may leave out a chip that is just being reset. It is read until it is back.
    names |= {c: c for c in node.chips.keys() - names.keys() - now.keys() if _reboots(node, node.chips[c])}
    there = {*names}
    _set_apart(names, known, now.keys())
    rings = _rings(node, known, names, now)
    since = {c: (m.number, m.since) for c, m in node.missing.items()}
    missing = {c: MissingChip(c, known[c], *since.get(c, (c, at))) for c in known.keys() - there}
    node = replace(node, chips={c: chip for c, chip in node.chips.items() if c in there}, missing=missing)
    return _renamed(node, {ChipId: names, RingId: rings}), names


def _unknown(chip: ChipId) -> Chip:
    """Return a chip of which only the number is known: so an older cmgr remembered isolated ones that were gone."""
    return Chip(chip, RingId(chip), logical=chip)


def _reboots(node: Node, chip: Chip) -> bool:
    ring = node.rings.get(chip.ring)
    return ring is not None and ring.phase in REBOOTING


def _set_apart(names: dict[Any, Any], known: Iterable[Any], now: Iterable[Any]) -> None:
    """Give those of the known that have no name a number that no other has: their own where that is free."""
    taken = {*now, *names.values()}
    for number in sorted(set(known) - names.keys()):
        names[number] = number if number not in taken else max(APART, *taken) + 1
        taken.add(names[number])


def _rings(
    node: Node, known: Mapping[ChipId, Chip], names: Mapping[ChipId, ChipId], now: Mapping[ChipId, Chip]
) -> dict[RingId, RingId]:
    """Return the ring that the chips of each ring are in now. Where they are in several, the first one counts."""
    if all(old == new for old, new in names.items()):
        return {}
    found: dict[RingId, RingId] = {}
    # Where rings have become one, an episode goes on.
    for chip in sorted(known, key=lambda chip: (not _is_busy(node, known[chip].ring), chip)):
        ring = now[names[chip]].ring if names[chip] in now else None
        if ring is not None and ring not in found.values():
            found.setdefault(known[chip].ring, ring)
    _set_apart(found, {*node.rings, *(chip.ring for chip in known.values())}, {chip.ring for chip in now.values()})
    return found


def _is_busy(node: Node, ring: RingId) -> bool:
    return ring in node.rings and node.rings[ring].in_episode


def _renamed(node: Node, names: Names) -> Node:
    if all(old == new for each in names.values() for old, new in each.items()):
        return node
    rename = _renaming(Node)
    assert rename is not None
    renamed: Node = rename(node, names)
    return renamed


_Rename = Callable[[Any, Names], Any]


@cache
def _renaming(hint: Any) -> _Rename | None:
    """Return how a value of this type is put under other numbers; None where nothing in it names a chip or a ring."""
    if hint in (ChipId, RingId):
        return lambda value, names: names[hint].get(value, value)
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _renaming(inner[0])
    if origin in (Union, UnionType):
        way = next(filter(None, map(_renaming, inner)), None)
        return way and (lambda value, names: None if value is None else way(value, names))
    if is_dataclass(hint):
        return _of_fields(get_type_hints(hint, include_extras=True))
    return _of_many(origin, [_renaming(each) or _same for each in inner if each is not ...])


def _same(value: Any, _: Names) -> Any:
    return value


def _of_fields(hints: Mapping[str, Any]) -> _Rename | None:
    ways = {name: way for name, hint in hints.items() if (way := _renaming(hint)) is not None}
    if not ways:
        return None
    return lambda value, names: replace(value, **{f: way(getattr(value, f), names) for f, way in ways.items()})


def _of_many(origin: Any, ways: list[_Rename]) -> _Rename | None:
    if all(way is _same for way in ways):
        return None
    first, last = ways[0], ways[-1]
    if origin is Mapping:
        return lambda value, names: {first(k, names): last(v, names) for k, v in value.items()}
    if origin is tuple and len(ways) > 1:
        return lambda value, names: tuple(way(each, names) for way, each in zip(ways, value, strict=True))
    if origin is frozenset:
        return lambda value, names: frozenset(first(each, names) for each in value)
    return lambda value, names: tuple(first(each, names) for each in value)
