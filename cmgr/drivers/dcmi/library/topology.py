"""Which Ascend chips are reset together: chip type and ring from what the chips say of themselves. Pure functions.

The rules and their order are section "rings" of docs/dcmi.md.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

from cmgr.drivers.dcmi.library.abi import UNREAD
from cmgr.frozen import dataclass
from cmgr.model.values.chips import ChipId, RingId
from cmgr.sentences.sentence import say

DUO_BOARDS = frozenset({0x97, 0x99})
DUO = re.compile(r"(Atlas )?A?300I Duo")
"""A Duo is told by its board, 0x97 or, for the DuoA, 0x99. Its product's name takes the card's controller to answer."""

A3_BOARDS = frozenset({0xB0, 0xB1, 0xB2, 0xB3, 0xB4, 0x81, 0x83, 0xD1, 0xD3})
BOARDS_WITHOUT_RING = frozenset({0x10, 0x11, 0x12, 0x13, 0x28, 0x29, 0x33, 0x37, 0x3C})
"""The 910B cards that have no HCCS, where the topology does not tell that."""


class Type(StrEnum):
    """A make of chips, spelled as Ascend's own tools do."""

    A910 = "Ascend910"
    A910B = "Ascend910B"
    A910A3 = "Ascend910A3"
    A950 = "Ascend950"
    A310 = "Ascend310"
    A310B = "Ascend310B"
    A310P = "Ascend310P"


ASKING_ALL = frozenset({Type.A910B, Type.A910A3})
"""For these the driver asks every chip of the machine who uses it before it resets one; a chip that boots is silent."""


@dataclass(frozen=True, slots=True)
class Place:
    """The place that one chip says it has. `brother`: the card that it is wired to; None where it names none."""

    logical: int
    physical: ChipId
    card: int
    device: int
    board: int = UNREAD
    name: str = ""
    product: str = ""
    brother: int | None = None


def type_of(name: str, board: int) -> Type | None:
    """Return the chip's type; None when nobody knows it. The order of the questions counts."""
    # Some boards of the 310B have the numbers of A3s.
    if board in A3_BOARDS and "310" not in name:
        return Type.A910A3
    if name.startswith("Ascend950"):
        return Type.A950
    # The same chip is called 910B3 by one library and Ascend910B3 by another.
    bare = name.removeprefix("Ascend")
    patterns = (
        (r"310P\d?|I2\d?", Type.A310P),
        (r".*310B", Type.A310B),
        (r".*310", Type.A310),
        (r"910B\d|A2G\d", Type.A910B),
        (r"910", Type.A910),
    )
    return next((kind for pattern, kind in patterns if re.match(pattern, bare)), None)


def type_of_machine(places: Iterable[Place]) -> Type | None:
    """Return the type of the first chip that tells it: a machine has chips of one type."""
    places = list(places)
    return next((kind for p in places if (kind := type_of(p.name, _board(p, places)))), None)


def is_duo(place: Place, kind: Type | None) -> bool:
    """Return whether the chip is one of two that are reset as one card, ordered for its device 0."""
    return kind is Type.A310P and (place.board in DUO_BOARDS or DUO.match(place.product) is not None)


@dataclass(frozen=True, slots=True)
class Wiring:
    """How the driver says that chips hang together; None where it does not say.

    `links`: whether any two chips of type 910B are joined by HCCS. `is_smp`: whether the work mode of a 910A is SMP.
    """

    links: bool | None = None
    is_smp: bool | None = None


class Wired(NamedTuple):
    """The ring of a chip, and in words why it is that."""

    ring: RingId
    why: str


def rings(places: Iterable[Place], kind: Type, wiring: Wiring) -> Mapping[ChipId, Wired]:
    """Return each chip's ring: only chips that exist are in one, and no chip stands in for another."""
    places = sorted(places, key=lambda p: p.physical)
    if kind is Type.A910A3:
        by_card = _rings_by_cards(places, {p.card: p.brother for p in places if p.brother is not None})
        return {chip: Wired(ring, say("driver.card-and-brother")) for chip, ring in by_card.items()}
    by_card = _rings_by_cards([p for p in places if is_duo(p, kind)], {})
    duos = {chip: Wired(ring, say("driver.card-of-two")) for chip, ring in by_card.items()}
    found = {}
    for place in places:
        size, why = _size(kind, _board(place, places), wiring)
        found[place.physical] = Wired(RingId(place.physical // size * size if size else 0), why)
    return {**found, **duos}


def _board(place: Place, places: Iterable[Place]) -> int:
    return next((p.board for p in (place, *places) if p.board not in (UNREAD, 0)), 0)


def _size(kind: Type, board: int, wiring: Wiring) -> tuple[int, str]:
    """Return how many chips are reset together, 0: all of the machine; and why."""
    if kind is Type.A910:
        if wiring.is_smp is None:
            return 4, say("driver.mode-not-told")
        return (4, say("driver.mode", mode="SMP")) if wiring.is_smp else (1, say("driver.mode", mode="AMP"))
    if kind is not Type.A910B:
        return 1, say("driver.each-alone", kind=str(kind))
    if wiring.links is None:
        return 1 if board in BOARDS_WITHOUT_RING else 0, say("driver.links-not-told", board=f"{board:#x}")
    # With any link the driver resets every chip of the machine, those without one too.
    return (0, say("driver.links")) if wiring.links else (1, say("driver.no-links"))


def _rings_by_cards(places: list[Place], brothers: Mapping[int, int]) -> dict[ChipId, RingId]:
    """Put the chips of a card, and of cards of which either names the other, into one ring."""
    group = {p.card: p.card for p in places}
    for card, brother in brothers.items():
        if brother in group:
            joined, left = group[card], group[brother]
            group = {c: joined if g == left else g for c, g in group.items()}
    first: dict[int, RingId] = {}
    for place in places:
        first.setdefault(group[place.card], RingId(place.physical))
    return {p.physical: first[group[p.card]] for p in places}
