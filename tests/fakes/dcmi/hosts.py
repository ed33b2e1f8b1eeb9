"""Machines as docs/dcmi.md tells of them, by the chips that the library lists."""

from cmgr.model.values.chips import ChipId
from tests.fakes.dcmi.standin import FakeChip

BROTHERS = [ChipId(number) for number in (0, 1, 8, 9)]
"""The dies of the first two brothers of an A3; their logical ids are 0 to 3 where the machine has only these."""


def host_910a(chips: int = 8) -> tuple[FakeChip, ...]:
    return tuple(FakeChip(n, 0, n, n // 4, "910A", 0x100) for n in range(chips))


def host_910b(chips: int = 8, board: int = 0x01) -> tuple[FakeChip, ...]:
    ring = 8 if chips <= 8 else 16
    return tuple(FakeChip(n, 0, n, n // ring, "910B3", board) for n in range(chips))


def host_910b_infer(chips: int = 4, board: int = 0x28) -> tuple[FakeChip, ...]:
    return tuple(FakeChip(n, 0, n, n, "910B4", board) for n in range(chips))


def host_a3(cards: int = 4) -> tuple[FakeChip, ...]:
    """Two dies on a card; cards 0 and 4 are brothers, 1 and 5, and so on (dcmi_basic_info_intf.c:2064-2105).

    A machine has eight cards, and dies of physical id twice the card's number and the die's. Few are brothers, too.
    """
    there = sorted((0, 4, 1, 5, 2, 6, 3, 7)[:cards])
    return tuple(
        FakeChip(card, die, 2 * card + die, card % 4, "910_93", 0xB0, brother=(card + 4) % 8)
        for card in there
        for die in (0, 1)
    )


def host_duo(
    cards: int = 3, plain: int = 0, board: int = 0x97, product: str = "Atlas 300I Duo"
) -> tuple[FakeChip, ...]:
    """Cards of two chips that are reset as one, by their first; then plain 310P cards of one chip."""
    duo = [FakeChip(n // 2, n % 2, n, n // 2, "310P3", board, product) for n in range(2 * cards)]
    first = 2 * cards
    return (*duo, *(FakeChip(cards + n, 0, first + n, 100 + n, "310P3", 0x20, "Atlas 300I Pro") for n in range(plain)))


def host_single(name: str, chips: int = 2) -> tuple[FakeChip, ...]:
    """Chips without mates: 310, 310B, 310P."""
    return tuple(FakeChip(n, 0, n, n, name, 0x20) for n in range(chips))


def host_950(chips: int = 8) -> tuple[FakeChip, ...]:
    return host_950_in_slots(*range(chips))


def host_950_in_slots(*slots: int) -> tuple[FakeChip, ...]:
    """The physical id of a 950 on PCIe is that of its slot, and the logical one its rank."""
    return tuple(FakeChip(n, 0, slot, n, "Ascend950PR", 0x1A) for n, slot in enumerate(slots))
