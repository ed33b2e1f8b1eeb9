"""Which Ascend chips are reset together: chip type and ring from what the chips say of themselves. Pure functions.

The rules and their order are section "rings" of docs/dcmi.md.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum

from cmgr.drivers.dcmi.library.abi import UNREAD
from cmgr.frozen import dataclass
from cmgr.model.values.chips import ChipId, RingId

DUO = "Atlas 300I Duo"

A3_BOARDS = frozenset({0xB0, 0xB1, 0xB2, 0xB3, 0xB4, 0x81, 0x83, 0xD1, 0xD3})
BOARDS_WITHOUT_RING = frozenset({0x28, 0x29, 0x33, 0x3C})
"""The 910B cards for inference that have no HCCS."""


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
    if board in A3_BOARDS:
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
    board = next((p.board for p in places if p.board not in (UNREAD, 0)), 0)
    return next((kind for p in places if p.name and (kind := type_of(p.name, board))), None)


def rings(places: Iterable[Place], kind: Type) -> Mapping[ChipId, RingId]:
    """Return each chip's ring: only chips that exist are in one, and no chip stands in for another."""
    places = sorted(places, key=lambda p: p.physical)
    if kind is Type.A910A3:
        return _rings_by_cards(places, {p.card: p.brother for p in places if p.brother is not None})
    by_card = _rings_by_cards([p for p in places if kind is Type.A310P and p.product == DUO], {})
    board = next((p.board for p in places if p.board not in (UNREAD, 0)), 0)
    found = {}
    for place in places:
        own = place.board if place.board not in (UNREAD, 0) else board
        size = _size(kind, own, len(places))
        found[place.physical] = RingId(place.physical // size * size)
    return {**found, **by_card}


def _size(kind: Type, board: int, chips: int) -> int:
    if kind is Type.A910:
        return 4
    if kind is Type.A910B and board not in BOARDS_WITHOUT_RING:
        return 8 if chips <= 8 else 16
    return 1


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
