"""Chips, the rings they are reset in, and what the driver last said of each."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NewType

ChipId = NewType("ChipId", int)
"""The physical id: the number that users, containers and device nodes say."""

RingId = NewType("RingId", int)
"""The lowest physical id that belongs to the ring by its wiring, whether or not that chip exists."""

ALL_CHIPS = "all"
"""The claim of a container that asks for every chip."""


SLOT = "cmgr.io/slot="
"""The claim of a container that asks for the chips of a slot begins so; the slot's name follows."""

UNCLEAR = "?"
"""The claim of a container that can reach chips, while nothing in its definition tells which."""


@dataclass(frozen=True, slots=True)
class Chip:
    """One accelerator as the driver numbers it. `aliases`: what else a claim may call it: device files, parts of it."""

    id: ChipId
    ring: RingId
    logical: int
    card: int = 0
    device: int = 0
    model: str = ""
    bus: str = ""
    serial: str = ""
    aliases: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Process:
    """A process that the driver sees on a chip. `memory` is in bytes, `container` the id of the one that it is in."""

    pid: int
    name: str = ""
    memory: int = 0
    container: str = ""


@dataclass(frozen=True, slots=True)
class Reported:
    """One fault in a chip's read-out. Its module is not known: drivers list codes only."""

    code: str
    severity: int | None = None


@dataclass(frozen=True, slots=True)
class ChipReport:
    """The driver's answer about one chip.

    With `error` set the chip did not answer, and the other fields mean nothing. `unwell`: it has answered, and
    somebody else says, in these words, that it is not fit for use yet.
    """

    chip: ChipId
    booted: bool = True
    faults: tuple[Reported, ...] = ()
    processes: tuple[Process, ...] = ()
    error: str = ""
    unwell: str = ""

    @property
    def is_up(self) -> bool:
        """Return whether the chip has answered, and has booted."""
        return not self.error and self.booted


def rings_of(chips: Iterable[Chip]) -> dict[RingId, tuple[ChipId, ...]]:
    """Return each ring's chips, in order."""
    rings: dict[RingId, list[ChipId]] = {}
    for chip in chips:
        rings.setdefault(chip.ring, []).append(chip.id)
    return {ring: tuple(sorted(rings[ring])) for ring in sorted(rings)}


SlotChips = Mapping[str, frozenset[ChipId]]
"""The chips of each slot, by its name."""


def resolve(
    claims: Iterable[str], chips: Mapping[ChipId, Chip], slots: SlotChips
) -> tuple[frozenset[ChipId], tuple[str, ...]]:
    """Return the chips that a container's claims mean here, and a warning for each claim that means none.

    A claim is a physical id in decimal digits, `ALL_CHIPS`, `UNCLEAR`, a slot, or a chip's serial, bus id or
    alias.
    """
    found: set[ChipId] = set()
    warnings = []
    for claim in sorted(claims):
        if claim == UNCLEAR:
            continue
        if claim == ALL_CHIPS:
            found.update(chips)
        elif claim.startswith(SLOT):
            name = claim.removeprefix(SLOT)
            found.update(slots.get(name, ()))
            warnings += [] if name in slots else [f"asks for slot {name}, which there is not: cmgr slot create {name}"]
        elif named := _named(claim, chips):
            found.update(named)
        else:
            warnings.append(f"asks for chip {claim}, which this machine does not have")
    return frozenset(found), tuple(warnings)


def _named(claim: str, chips: Mapping[ChipId, Chip]) -> set[ChipId]:
    # ASCII digits only: int() would also take "1_0" and other alphabets' digits.
    if re.fullmatch(r"[0-9]{1,4}", claim):
        number = ChipId(int(claim))
        return {number} if number in chips else set()
    return {c.id for c in chips.values() if claim and claim in (c.serial, c.bus, *c.aliases)}


def listed(chips: Iterable[ChipId]) -> str:
    """Return chip ids as a person reads them: `chip 3`, `chips 0-3,7`."""
    numbers = sorted(chips)
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    text = ",".join(str(a) if a == b else f"{a}-{b}" for a, b in spans)
    return f"chip {text}" if len(numbers) == 1 else f"chips {text}"
