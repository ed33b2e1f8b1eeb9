"""Chips, the rings they are reset in, and what the driver last said of each."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NewType

from cmgr.frozen import dataclass, replace
from cmgr.model.values.life import ThisLife
from cmgr.model.values.lookup import grouped, kept
from cmgr.sentences.sentence import say
from cmgr.words import runs

ChipId = NewType("ChipId", int)
"""The physical id: the number that people say, and mostly containers and device files, too (`Chip.asked_as`)."""

RingId = NewType("RingId", int)
"""The lowest physical id that belongs to the ring by its wiring, whether or not that chip exists."""

ALL_CHIPS = "all"
"""The claim of a container that asks for every chip."""


SLOT = "cmgr.io/slot="
"""The claim of a container that asks for the chips of a slot begins so; the slot's name follows."""

BY_ID = "cmgr.io/chip="
"""The claim of a container that asks for a chip by its physical id begins so, whatever number its maker gives it."""

UNCLEAR = "?"
"""The claim of a container that can reach chips, while nothing in its definition tells which."""


@dataclass(frozen=True, slots=True)
class Share:
    """A part of a chip that a container can be given, as each maker has them under a name of its own.

    `id`: what the driver calls it. `template`: what it was made as, in the driver's words, where that is told; `group`:
    where in the chip, as a number of the driver's. `aliases`: what a claim may call it. `by_hand`: the command by which
    a person makes it again.
    `there`: the driver lists it. `kept`: a reset was ordered that may take it, and it is to be there again afterwards.
    `why`: why it could not be made again.
    """

    id: str
    template: str = ""
    group: int | None = None
    aliases: frozenset[str] = frozenset()
    by_hand: str = ""
    there: bool = True
    kept: bool = False
    why: str = ""

    @property
    def title(self) -> str:
        if self.template:
            return say("chip.share-of", id=self.id, template=self.template)
        return say("chip.share", id=self.id)


@dataclass(frozen=True, slots=True)
class Chip:
    """One accelerator as the driver numbers it.

    `aliases`: what else a claim may call it, such as device files. `shares`: its parts, in order of their ids: those
    that there are, and those that are to be there again. `pod`: the number of the SuperPod that it is in, and `server`
    that of its machine there; None where the driver does not tell. `number`: the one by which containers ask for it and
    that its device file has, where that is another than its id. `tool_name`: what the maker's own tool calls it, with
    the numbers that this tool takes; empty where it takes the id. `boots_alone`: its driver resets no chip while
    another one of the machine boots. `counted`: the number by which containers ask for it is its place in the driver's
    list, in which no chip is that is being reset. `serial`: what its maker burnt into it; `board`: the serial number
    of what carries it, which other chips may be on, too. Both are empty where the driver does not tell.
    """

    id: ChipId
    ring: RingId
    logical: int
    card: int = 0
    device: int = 0
    model: str = ""
    bus: str = ""
    serial: str = ""
    aliases: frozenset[str] = frozenset()
    shares: tuple[Share, ...] = ()
    pod: ThisLife[int | None] = None
    server: ThisLife[int | None] = None
    boots_alone: ThisLife[bool] = False
    counted: ThisLife[bool] = False
    number: int | None = None
    tool_name: str = ""
    board: str = ""

    @property
    def piece(self) -> str:
        """Return in words what tells it from all others, whatever its number is: the surest that is known."""
        if self.serial:
            return self.serial
        if self.board:
            return say("chip.on-board", place=str(self.device), board=self.board)
        return say("chip.at-bus", bus=self.bus) if self.bus else ""

    @property
    def asked_as(self) -> int:
        """Return the number by which containers ask for it."""
        return self.id if self.number is None else self.number


@dataclass(frozen=True, slots=True)
class MissingChip:
    """A piece that was there, and is not. All that is remembered of it goes by `id`, which no chip has.

    `number`: the one that it had when it was there last. `since`: when it was found to be missing.
    """

    id: ChipId
    chip: Chip
    number: int
    since: datetime

    @property
    def title(self) -> str:
        piece = self.chip.piece
        return say("chip.titled", chip=self.number, piece=piece) if piece else say("chip.number", chip=self.number)


def with_shares(chip: Chip, found: Iterable[Share]) -> Chip:
    """Return the chip with the shares that the driver lists now. Those that are to be made again stay known."""
    now = {share.id: share for share in found}
    kept = {share.id for share in chip.shares if share.kept}
    gone = [replace(share, there=False) for share in chip.shares if share.kept and share.id not in now]
    there = [replace(share, kept=share.id in kept) for share in now.values()]
    return replace(chip, shares=tuple(sorted((*there, *gone), key=lambda share: share.id)))


def lost_names(chip: Chip) -> Mapping[str, Share]:
    """Return what claims called the shares that are not there, where nothing else of the same make is called so."""
    there = {(alias, share.template) for share in chip.shares if share.there for alias in share.aliases}
    gone = [share for share in chip.shares if not share.there]
    return {alias: share for share in gone for alias in share.aliases if (alias, share.template) not in there}


def lost_shares(chip: Chip) -> tuple[Share, ...]:
    """Return the shares that are not there, nor another of the same make in their place."""
    if all(share.there for share in chip.shares):
        return ()  # Everything asks here, and most chips have none at all.
    names = lost_names(chip)
    return tuple(share for share in chip.shares if not share.there and names.keys() >= share.aliases)


@dataclass(frozen=True, slots=True)
class Process:
    """A process that the driver sees on a chip. `memory` is in bytes, `container` the id of the one that it is in.

    `share`: the id of the share that it is on, where the driver tells. `yields`: the driver ends it itself for a reset,
    so that it is in nobody's way. `around`: the ids of the containers that `container` runs in, the outermost first.
    `gone`: there is no such process, though the driver lists it: only the driver's own word, or a reset, ends that.
    `owner`: the orchestrator in whose control group it is, as in `Container`.
    """

    pid: int
    name: str = ""
    memory: int = 0
    container: str = ""
    share: str = ""
    yields: bool = False
    around: tuple[str, ...] = ()
    gone: bool = False
    owner: str = ""

    @property
    def containers(self) -> tuple[str, ...]:
        """Return the ids of all containers that it is in, the outermost first."""
        return (*self.around, self.container) if self.container else ()


@dataclass(frozen=True, slots=True)
class Reported:
    """One fault in a chip's read-out. Its module is not known: drivers list codes only.

    `severity`: the driver calls it no graver than this; None: nobody knows.
    """

    code: str
    severity: int | None = None


@dataclass(frozen=True, slots=True)
class ChipReport:
    """The driver's answer about one chip.

    With `error` set the chip did not answer, and the other fields mean nothing. `unwell`: it has answered, and
    somebody else says, in these words, that it is not fit for use yet; or what one that has not booted waits for.
    `shares`: None where it does not say which it has. `unasked`: the beginnings of codes that nobody answered
    for; faults with these codes are as they were. `blind`: its driver cannot list the processes on it. `in_reset`: the
    call that resets it has not come back, and so it has not booted.
    """

    chip: ChipId
    booted: bool = True
    faults: tuple[Reported, ...] = ()
    processes: tuple[Process, ...] = ()
    error: str = ""
    unwell: str = ""
    shares: tuple[Share, ...] | None = ()
    unasked: tuple[str, ...] = ()
    blind: bool = False
    in_reset: bool = False

    @property
    def is_up(self) -> bool:
        """Return whether the chip has answered, and has booted."""
        return not self.error and self.booted


@dataclass(frozen=True, slots=True)
class Straggler:
    """A chip that runs more slowly than the others of its model with which it works. `words`: by how much."""

    chip: ChipId
    since: datetime
    words: str


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

    A claim is the number of a chip in decimal digits (`Chip.asked_as`), its id (`BY_ID`), `ALL_CHIPS`, `UNCLEAR`, a
    slot, a chip's serial, bus id or alias, an alias of one of its shares, or the place of a share on a chip (`0:1`).
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
            warnings += [] if name in slots else [say("chip.no-slot", slot=name)]
        elif named := _named(claim, chips):
            found.update(named)
        else:
            warnings.append(say("chip.no-chip", chip=claim.removeprefix(BY_ID)))
    return frozenset(found), tuple(warnings)


def _named(claim: str, chips: Mapping[ChipId, Chip]) -> Sequence[ChipId]:
    by_id, claim = claim.startswith(BY_ID), claim.removeprefix(BY_ID)
    # ASCII digits only: int() would also take "1_0" and other alphabets' digits.
    is_number = re.fullmatch(r"[0-9]{1,4}", claim) is not None
    if is_number and by_id and int(claim) in chips:
        return [ChipId(int(claim))]
    known = _called(chips)
    if is_number and not by_id and (named := known.get(int(claim))):
        return named
    if found := known.get(("share", claim)):
        return found
    if is_number:
        return ()
    if place := re.fullmatch(r"([0-9]{1,4}):[0-9]{1,4}", claim):
        return _named(place[1], chips)
    return known.get(claim, ()) if claim else ()


@kept
def _called(chips: Mapping[ChipId, Chip]) -> Mapping[object, Sequence[ChipId]]:
    """Return the chips by the number that claims have for them, by names of their shares, and by names of their own."""
    pairs: list[tuple[object, ChipId]] = []
    for chip in chips.values():
        pairs += [(name, chip.id) for name in (chip.asked_as, chip.serial, chip.bus, *chip.aliases)]
        pairs += [(("share", alias), chip.id) for share in chip.shares for alias in share.aliases]
    return grouped(pairs)


def listed(chips: Iterable[ChipId]) -> str:
    """Return chip ids as a person reads them: `chip 3`, `chips 0-3,7`."""
    numbers = list(chips)
    text = runs(numbers)
    return f"chip {text}" if len(numbers) == 1 else f"chips {text}"
