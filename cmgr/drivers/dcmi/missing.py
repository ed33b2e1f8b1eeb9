"""Chips that the library began without: its process never knows them, and a reset can hit them all the same."""

import re
from collections.abc import Iterable, Sequence, Set
from pathlib import Path

from cmgr.drivers.dcmi.library.topology import BOARDS_WITHOUT_RING, Place, Type, Wiring, is_duo
from cmgr.sentences.sentence import say

DEVICES = Path("/dev")

_DEVICE = re.compile(r"davinci([0-9]+)")


def unlisted(devices: Path, known: Set[int]) -> tuple[int, ...]:
    """Return the numbers of the device files that are of no chip that is known."""
    try:
        names = [path.name for path in devices.iterdir()]
    except OSError:
        return ()
    return tuple(sorted({int(found[1]) for name in names if (found := _DEVICE.fullmatch(name))} - known))


def in_words(cards: int, numbers: Iterable[int]) -> str:
    """Return what the library began without, by its own count of cards and by device files; nothing else."""
    files = [f"/dev/davinci{number}" for number in numbers]
    if not cards:
        return say("driver.began-without", names=files) if files else ""
    if not files:
        return say("driver.began-without-cards", cards=cards)
    return say("driver.began-without-both", cards=cards, names=files)


def could_be_hit(ring: Sequence[Place], kind: Type | None, wiring: Wiring) -> bool:
    """Return whether a reset of this ring can reset a chip that is not known."""
    if kind is Type.A910B:
        # With links between chips the whole machine is reset.
        by_board = any(place.board not in BOARDS_WITHOUT_RING for place in ring)
        return by_board if wiring.links is None else wiring.links
    if kind is Type.A910A3:
        alone = all(place.brother is not None and place.brother < 0 for place in ring)
        return len(ring) < (2 if alone else 4)
    if kind is Type.A910:
        return wiring.is_smp is not False and len(ring) < 4
    return is_duo(ring[0], kind) and len(ring) < 2
