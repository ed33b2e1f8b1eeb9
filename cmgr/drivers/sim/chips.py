"""Simulated chips: what is wrong with them, who uses them, what a reset does to them.

Nothing here locks or reads a clock: the driver does both.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from cmgr.config.sim import Sim, SimDivided
from cmgr.drivers.processes import in_words
from cmgr.errors import DriverError
from cmgr.model.values.chips import Chip, ChipId, ChipReport, Process, Reported, RingId, Share
from cmgr.model.values.faults import FaultCode, FaultKey
from cmgr.model.values.handling.catalog import normal_code
from cmgr.sentences.sentence import say

NEVER = math.inf

_FIRST, _APART = 100, 16
"""The ids of a chip's shares begin with 100 + 16 times its own."""


class SimChip:
    """One chip. `faults`: severity by fault; those in `curing` are gone once it has booted, at `boot_at`.

    `lost`: the ids of its shares that a reset took and nobody has made again.
    """

    def __init__(self, chip: Chip) -> None:
        self.chip = chip
        self.lost: set[str] = set()
        self.faults: dict[FaultKey, int] = {}
        self.curing: set[FaultKey] = set()
        self.boot_at: float | None = None
        self.processes: dict[int, Process] = {}
        self.silent = False

    @property
    def piece(self) -> int:
        """Which piece of hardware it is, whatever number the driver gives it."""
        return self.chip.card

    def report(self) -> ChipReport:
        if self.silent:
            return ChipReport(self.chip.id, error=say("driver.silent"))
        faults = tuple(Reported(key.code, severity) for key, severity in sorted(self.faults.items()))
        processes = tuple(self.processes.values())
        return ChipReport(self.chip.id, self.boot_at is None, faults, processes, shares=self.shares())

    def shares(self) -> tuple[Share, ...]:
        """Return those that there are now."""
        return tuple(share for share in self.chip.shares if share.id not in self.lost)

    def found(self) -> Chip:
        """Return the chip as it is now."""
        return replace(self.chip, shares=self.shares())


class SimChips:
    """All chips by id."""

    def __init__(self, settings: Sim) -> None:
        self._chips = {chip.id: SimChip(chip) for chip in topology(settings)}
        self.incurable = {normal_code(code) for code in settings.incurable}
        for process in settings.processes:
            self.chip(process.chip).processes[process.pid] = Process(process.pid, process.name)
        for number in settings.silent:
            self.chip(number).silent = True

    def all(self) -> tuple[SimChip, ...]:
        return tuple(self._chips.values())

    def chip(self, number: int) -> SimChip:
        """Return the chip. Raises `DriverError` when there is none of that number."""
        found = self._chips.get(ChipId(number))
        if found is None:
            raise DriverError(say("driver.no-simulated-chip", chip=number))
        return found

    def report(self, number: ChipId) -> ChipReport:
        found = self._chips.get(number)
        return found.report() if found else ChipReport(number, error=say("driver.no-such-chip"))

    def occur(self, number: int, key: FaultKey, severity: int) -> None:
        chip = self.chip(number)
        chip.faults[key] = severity
        # It came (again) after the reset, which therefore does not cure it.
        chip.curing.discard(key)

    def clear(self, number: int, code: FaultCode, module: str | None = None) -> dict[FaultKey, int]:
        """Remove a code's faults, of one module or of all, and return them."""
        chip = self.chip(number)
        gone = {k: s for k, s in chip.faults.items() if k.code == code and module in (None, k.module)}
        self._remove(chip, gone)
        return gone

    def objection(self, chips: Sequence[ChipId], faulty: Collection[ChipId], codes: Collection[str]) -> str:
        """Return what speaks against a reset, or nothing."""
        for number in chips:
            chip = self.chip(number)
            if chip.silent:
                return say("driver.sim-silent", chip=number)
            for process in chip.processes.values():
                return say("driver.process-on-chip", process=in_words(process), chip=number)
        wanted = {normal_code(code) for code in codes}
        if wanted and not any(key.code in wanted for number in faulty for key in self.chip(number).faults):
            return say("driver.reports-none", chips=list(faulty), codes=sorted(codes))
        return ""

    def reset(self, chips: Sequence[ChipId], boot_at: float) -> None:
        for number in chips:
            chip = self.chip(number)
            chip.boot_at = boot_at
            chip.lost = {share.id for share in chip.chip.shares}
            chip.curing = {key for key in chip.faults if key.code not in self.incurable}

    def make(self, number: int, shares: Iterable[Share]) -> None:
        """Make these shares of the chip, as far as they are not there."""
        self.chip(number).lost -= {share.id for share in shares}

    def settle(self, now: float) -> list[tuple[ChipId, FaultKey, int]]:
        """Let chips finish booting whose time has come, and return the faults that are gone with it."""
        gone: list[tuple[ChipId, FaultKey, int]] = []
        for chip in self._chips.values():
            if chip.boot_at is not None and chip.boot_at <= now:
                chip.boot_at = None
                gone += [(chip.chip.id, key, chip.faults[key]) for key in sorted(chip.curing)]
                self._remove(chip, set(chip.curing))
        return gone

    def next_boot(self) -> float:
        """Return when the next chip finishes booting; `NEVER` when none does."""
        return min((chip.boot_at for chip in self._chips.values() if chip.boot_at is not None), default=NEVER)

    @staticmethod
    def _remove(chip: SimChip, keys: Collection[FaultKey]) -> None:
        for key in keys:
            del chip.faults[key]
            chip.curing.discard(key)


def topology(settings: Sim) -> tuple[Chip, ...]:
    """Return the chips that are there, as the driver numbers them."""
    made = _made(settings)
    there = [made[piece] for piece in settings.pieces or range(len(made))]
    first: dict[RingId, RingId] = {}
    for number, chip in enumerate(there):
        first.setdefault(chip.ring, RingId(number))
    return tuple(replace(chip, id=ChipId(n), ring=first[chip.ring], logical=n) for n, chip in enumerate(there))


def _made(settings: Sim) -> tuple[Chip, ...]:
    """Return all pieces, ring by ring, as the driver numbers them when none is missing."""
    divided = {each.chip: _shares(each) for each in settings.divided}
    full, rest = divmod(settings.chips, settings.ring)
    sizes = settings.rings or (settings.ring,) * full + ((rest,) if rest else ())
    chips: list[Chip] = []
    for size in sizes:
        ring = RingId(len(chips))
        chips += [_chip(number, ring, settings.model) for number in range(len(chips), len(chips) + size)]
    return tuple(replace(chip, shares=divided.get(chip.id, ())) for chip in chips)


def _chip(number: int, ring: RingId, model: str) -> Chip:
    bus = f"0000:{number:02x}:00.0"
    return Chip(ChipId(number), ring, number, card=number, model=model, bus=bus, serial=f"SIM{number:04d}")


def _shares(divided: SimDivided) -> tuple[Share, ...]:
    first = _FIRST + _APART * divided.chip
    numbers = range(first, first + divided.shares)
    return tuple(Share(str(n), divided.template, aliases=frozenset({f"{divided.chip}:{n}"})) for n in numbers)
