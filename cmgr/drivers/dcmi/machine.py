"""The Ascend chips of this machine: which there are, what each is called by whom, and what is reset together.

The library makes its list once, when it begins. Only a chip that is listed, and did not say its number at the
first look, is taken in later. A chip's ring stays what it was then; chips that are taken in join it.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import TypeVar

from cmgr.drivers.caller import Caller, Hangs
from cmgr.drivers.dcmi import missing, vdevices
from cmgr.drivers.dcmi.library import topology
from cmgr.drivers.dcmi.library.calls import Library, Location, Refused
from cmgr.drivers.dcmi.library.topology import Place, Type, Wiring
from cmgr.errors import DriverError
from cmgr.frozen import dataclass
from cmgr.model.values.chips import Chip, ChipId, RingId, Share, listed, rings_of
from cmgr.sentences.sentence import parts, say

STRANGER = 10_000
"""Added to a logical id that nobody knows: a number that is no chip's, and never chip 0."""

MOST_PHYSICAL = 255

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Known:
    """A chip as it was seen last."""

    place: Place
    bus: str = ""
    serial: str = ""
    on_board: str = ""
    shares: tuple[Share, ...] = ()
    pod: int | None = None
    server: int | None = None

    @property
    def location(self) -> Location:
        return Location(self.place.logical, self.place.card, self.place.device)


def owner_of(location: Location) -> str:
    """Return the name under which calls about this chip are counted as one chip's."""
    return f"logical id {location.logical}"


class Machine:
    """Any thread."""

    def __init__(self, library: Library, caller: Caller, seconds: float, devices: Path) -> None:
        self._library = library
        self._caller = caller
        self._seconds = seconds
        self.devices = devices
        self._looking = threading.Lock()
        self._known: Mapping[ChipId, Known] = {}
        self._rings: Mapping[ChipId, RingId] = {}
        self._whys: Mapping[RingId, str] = {}
        self._wiring = Wiring()
        self._logical: Mapping[int, ChipId] = {}
        self.kind: Type | None = None
        self.troubles: tuple[str, ...] = ()
        self._missing = 0
        self._left_out: tuple[str, ...] = ()

    def look(self) -> tuple[Chip, ...]:
        """List the chips anew and return all that are known, ordered. Raises `DriverError` when no list can be had."""
        with self._looking:
            troubles: list[str] = []
            fresh: dict[ChipId, Known] = {}
            for location in self._locations(troubles):
                known = self._seen(location, troubles)
                if known is not None:
                    fresh[known.place.physical] = known
            self._left_out = tuple(troubles)
            if not fresh:
                troubles.append(say("driver.lists-no-chips"))
            self._settle(fresh, troubles)
            return self.chips()

    def _locations(self, troubles: list[str]) -> list[Location]:
        found: list[Location] = []
        cards = self._caller.call("the list", self._seconds, self._library.cards)
        self._missing = sum(card < 0 for card in cards)
        for card in cards:
            if card < 0:
                continue
            try:
                found += self._caller.call(f"card {card}", self._seconds, partial(self._library.on_card, card))
            except DriverError as error:
                # One bad card is no reason to do without the others, nor to forget what is known of it.
                known = [k.location for k in self._known.values() if k.place.card == card]
                found += known
                if not known:
                    troubles.append(say("driver.card-left-out", card=card, why=error.message))
        return found

    def without(self) -> str:
        """Return what the library began without, and so is without for the life of this process; nothing else."""
        if self._left_out and not self._missing:
            return ""  # Those that are left out are listed, and taken in as soon as they answer.
        by_logical = self.kind is Type.A950
        numbers = {k.place.logical if by_logical else k.place.physical for k in self._known.values()}
        return missing.in_words(self._missing, missing.unlisted(self.devices, numbers))

    def beside(self, ring: Mapping[ChipId, Known]) -> str:
        """Return why a reset of this ring could hit a chip that is not known; nothing when it cannot."""
        without = self.without() or parts(self._left_out)
        # One chip by itself has no link to any that is known, which says nothing.
        wiring = self._wiring if len(self._known) > 1 else Wiring()
        if not without or not missing.could_be_hit([known.place for known in ring.values()], self.kind, wiring):
            return ""
        return say("driver.reset-could-hit", without=without)

    def chips(self) -> tuple[Chip, ...]:
        """Return the chips that are known."""
        known, rings = self._known, self._rings
        return tuple(_chip(known[chip], rings[chip], self.kind) for chip in sorted(known))

    def all(self) -> Mapping[ChipId, Known]:
        return self._known

    def find(self, chip: ChipId) -> Known | None:
        return self._known.get(chip)

    def physical(self, logical: int) -> ChipId | None:
        """Return the chip that the driver's own events call so."""
        return self._logical.get(logical)

    @property
    def resets_boards(self) -> bool:
        """Whether the driver resets no chip by itself, as far as is known, but a board of four: 910As in SMP."""
        return self.kind is Type.A910 and self._wiring.is_smp is not False

    def one_of_each_ring(self) -> tuple[ChipId, ...]:
        return tuple({ring: chip for chip, ring in self._rings.items()}.values())

    def _settle(self, fresh: Mapping[ChipId, Known], troubles: list[str]) -> None:
        known = {**self._known, **fresh}
        places = [k.place for k in known.values()]
        if places and self.kind is None:
            self.kind = topology.type_of_machine(places)
            if self.kind is None:
                said = {
                    say("driver.on-board", name=p.name or say("driver.no-name"), board=f"{p.board:#x}") for p in places
                }
                hint = say("driver.known-chips", page="docs/dcmi.md")
                raise DriverError(say("driver.unknown-chips", chips=sorted(said)), hint=hint)
        if self.kind is Type.A910A3:
            troubles += [say("driver.no-brother", chip=p.physical) for p in places if p.brother is None]
        if self.kind is not None:
            if known.keys() - self._rings.keys():
                self._wiring = self._wired(self.kind, [k.location for k in known.values()])
            wired = topology.rings(places, self.kind, self._wiring)
            self._rings = self._joined({chip: found.ring for chip, found in wired.items()}, troubles)
            self._whys = {self._rings[chip]: found.why for chip, found in wired.items()}
        self._known = known
        self._logical = {k.place.logical: chip for chip, k in fresh.items()}
        self.troubles = tuple(troubles)

    def _wired(self, kind: Type, places: Sequence[Location]) -> Wiring:
        if kind is Type.A910B:
            return Wiring(links=self._links(places))
        if kind is Type.A910:
            with suppress(DriverError):
                return Wiring(is_smp=self._asked(places[0], partial(self._library.is_smp, places[0])))
        return Wiring()

    def _links(self, places: Sequence[Location]) -> bool | None:
        """Return whether HCCS joins any two chips: one link is enough. None where the driver does not tell of all."""
        told = True
        for one, other in combinations(places, 2):
            try:
                if self._asked(one, partial(self._library.is_linked, one, other)):
                    return True
            except DriverError:
                told = False
        return False if told else None

    def _asked(self, place: Location, question: Callable[[], T]) -> T:
        return self._caller.call(owner_of(place), self._seconds, question)

    def describe(self) -> str:
        """Return the type of the chips, and each ring with why it is one."""
        members: dict[str, list[str]] = {}
        for ring, chips in rings_of(self.chips()).items():
            members.setdefault(self._whys[ring], []).append(listed(chips).partition(" ")[2])
        told = [say("driver.ring", rings=" / ".join(found), why=why) for why, found in members.items()]
        return parts([str(self.kind) if self.kind else say("driver.no-chips"), *told])

    def _joined(self, wired: Mapping[ChipId, RingId], troubles: list[str]) -> Mapping[ChipId, RingId]:
        """Return the rings: as they were for chips that were known, and for the others the ring of their mates."""
        names: dict[RingId, RingId] = {}
        for chip, ring in sorted(wired.items()):
            if chip in self._rings:
                was = names.setdefault(ring, self._rings[chip])
                if was != self._rings[chip]:
                    troubles.append(say("driver.ring-larger", chip=chip))
        return {chip: self._rings.get(chip, names.get(ring, ring)) for chip, ring in wired.items()}

    def _seen(self, location: Location, troubles: list[str]) -> Known | None:
        """Return the chip at this location; None, and a trouble, when not even its number can be read."""

        def look() -> Known:
            physical = self._library.physical(location)
            if physical > MOST_PHYSICAL:
                raise DriverError(say("driver.physical-id", number=physical))
            return self._described(ChipId(physical), location)

        before = next((k for k in self._known.values() if k.location == location), None)
        try:
            return self._caller.call(owner_of(location), self._seconds, look)
        except DriverError as error:
            # The number does not change in one life: what was known goes on being known.
            if before is None:
                troubles.append(say("driver.logical-left-out", chip=location.logical, why=error.message))
                return None
            return before

    def _described(self, physical: ChipId, location: Location) -> Known:
        before = self._known.get(physical)
        if before is not None and before.location == location and before.place.name and before.place.board:
            return replace(before, shares=self._shares(physical, location, before.shares))
        library = self._library
        product = _or_default(lambda: library.product(location), "")
        place = Place(
            location.logical,
            physical,
            location.card,
            location.device,
            _or_default(lambda: library.board(location), 0),
            _or_default(lambda: library.name(location), ""),
            product,
            _or_default(lambda: library.brother(location), None),
        )
        bus = _or_default(lambda: library.bus(location), "")
        die = _or_default(lambda: library.die(location), "")
        on_board = _or_default(lambda: library.board_serial(location), "")
        known = Known(place, bus, die, on_board, shares=self._shares(physical, location, ()))
        in_pod: tuple[int, int, int] | None = None
        if topology.type_of_machine([place]) in (Type.A910A3, Type.A950):
            in_pod = _or_default(lambda: library.pod(location), None)
        return known if in_pod is None else replace(known, pod=in_pod[0], server=in_pod[1])

    def _shares(self, chip: ChipId, location: Location, before: tuple[Share, ...]) -> tuple[Share, ...]:
        found = vdevices.shares(self._library, location, chip)
        return before if found is None else found


def _or_default(ask: Callable[[], T], default: T) -> T:
    """Return the answer; the default when the chip does not give it: it is there all the same."""
    try:
        return ask()
    except Hangs:
        raise
    except Refused:
        return default


def _chip(known: Known, ring: RingId, kind: Type | None) -> Chip:
    """Return the chip. Device files, requests and npu-smi call that of a 950 by its logical id.

    Of all others npu-smi's NPU is the card.
    """
    by_logical = kind is Type.A950
    place = known.place
    return Chip(
        place.physical, ring, place.logical, place.card, place.device, place.name, known.bus, known.serial,
        aliases=vdevices.usual_names(place.physical), shares=known.shares,
        pod=known.pod, server=known.server, boots_alone=kind in topology.ASKING_ALL,
        number=place.logical if by_logical else None,
        tool_name=f"NPU {place.logical}" if by_logical else f"NPU {place.card} chip {place.device}",
        board=known.on_board,
    )  # fmt: skip
