"""Resetting Ascend chips: the last look before, the call itself, and the way around when that fails."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from cmgr.drivers.caller import Caller
from cmgr.drivers.dcmi import vdevices
from cmgr.drivers.dcmi.library import abi
from cmgr.drivers.dcmi.library import read as dcmi_read
from cmgr.drivers.dcmi.library.calls import Library, Location, Refused
from cmgr.drivers.dcmi.library.topology import DUO, Type
from cmgr.drivers.dcmi.machine import Known, owner_of
from cmgr.drivers.dcmi.settings import Dcmi
from cmgr.drivers.processes import in_words, process_of
from cmgr.errors import DriverError, ResetRefused
from cmgr.model.values.chips import ChipId, listed
from cmgr.model.values.handling.catalog import normal_code

T = TypeVar("T")

RESCAN_PAUSE = 3.0
"""Seconds between the out-of-band reset and the rescan, as the vendor's own program waits."""


class Resetter:
    """Resets one ring at a time as its caller decides; any thread."""

    def __init__(self, library: Library, caller: Caller, settings: Dcmi, pause: Callable[[float], None]) -> None:
        self._library = library
        self._caller = caller
        self._settings = settings
        self._pause = pause

    def last_look(self, ring: Mapping[ChipId, Known], faulty: Sequence[ChipId], codes: frozenset[str]) -> ChipId:
        """Return the chip to reset: the first of `faulty` that still reports one of `codes`; the first without codes.

        Raises `ResetRefused`.
        """
        for chip, known in ring.items():
            objection = self._used(chip, known)
            if objection:
                raise ResetRefused(f"cannot reset {listed(ring)}: {objection}")
        if not codes:
            return next(chip for chip in faulty if chip in ring)
        wanted = {normal_code(code) for code in codes}
        for chip in faulty:
            if chip in ring and wanted.intersection(map(normal_code, self._codes(chip, ring))):
                return chip
        reported = ", ".join(sorted(codes))
        raise ResetRefused(f"cannot reset {listed(ring)}: {listed(faulty)} reports none of {reported} any more")

    def _used(self, chip: ChipId, known: Known) -> str:
        try:
            holders = self._ask(known, lambda place: self._library.holders(place))
        except DriverError as error:
            return f"chip {chip} does not answer the question who uses it: {error.message}"
        return "" if not holders else f"{in_words(process_of(holders[0]))} is on chip {chip}"

    def _codes(self, chip: ChipId, ring: Mapping[ChipId, Known]) -> Sequence[str]:
        try:
            return self._ask(ring[chip], lambda place: dcmi_read.codes(self._library, place))
        except DriverError as error:
            why = f"chip {chip} does not answer the question what is wrong with it: {error.message}"
            raise ResetRefused(f"cannot reset {listed(ring)}: {why}") from error

    def _ask(self, known: Known, function: Callable[[Location], Sequence[T]]) -> Sequence[T]:
        place = known.location
        return self._caller.call(owner_of(place), self._settings.call_timeout.total_seconds(), lambda: function(place))

    def reset(self, target: Known, kind: Type | None, chips: Mapping[ChipId, Known]) -> None:
        """Reset the chip, and with it its ring. Raises `DriverError`; `ResetRefused` when the library refuses."""
        place, ring = _addressed(target, kind), listed(chips)
        try:
            self._in_band(place, chips)
        except Refused as refused:
            if refused.code == abi.OCCUPIED:
                raise ResetRefused(f"cannot reset {ring}: the driver says that a chip of it is in use") from refused
            if not self._settings.out_of_band:
                raise DriverError(f"cannot reset {ring}") from refused
            self._out_of_band(place, ring, refused)
        except DriverError as error:
            raise DriverError(f"cannot tell how the reset of {ring} went") from error

    def _in_band(self, place: Location, chips: Mapping[ChipId, Known]) -> None:
        seconds = self._settings.reset_timeout.total_seconds()

        def reset() -> None:
            self._caller.call(owner_of(place), seconds, lambda: self._library.reset(place, abi.IN_BAND))

        try:
            reset()
        except Refused as refused:
            # A driver may reset no divided chip. Nobody is on the vNPUs, and it is stored which are to be made again.
            divided = [self._undivided(k) for k in chips.values()] if refused.code == abi.NOT_PERMITTED else []
            if not any(divided):
                raise
            reset()

    def _undivided(self, known: Known) -> bool:
        place, seconds = known.location, self._settings.call_timeout.total_seconds()
        try:
            return self._caller.call(owner_of(place), seconds, lambda: vdevices.destroy(self._library, place))
        except Refused:
            return False

    def _out_of_band(self, place: Location, ring: str, refused: Refused) -> None:
        seconds = self._settings.reset_timeout.total_seconds()
        library = self._library
        if self._channel(place, seconds) != abi.CHANNEL_USABLE:
            why = f"cannot reset {ring}, and its out-of-band channel cannot be used"
            raise DriverError(why) from refused
        try:
            self._caller.call(owner_of(place), seconds, lambda: library.pre_reset(place))
            self._caller.call(owner_of(place), seconds, lambda: library.reset(place, abi.OUT_OF_BAND))
            self._pause(RESCAN_PAUSE)
            self._caller.call(owner_of(place), seconds, lambda: library.rescan(place))
        except DriverError as error:
            raise DriverError(f"cannot reset {ring} out of band either ({refused.message})") from error

    def _channel(self, place: Location, seconds: float) -> int:
        try:
            return self._caller.call(owner_of(place), seconds, lambda: self._library.channel(place))
        except Refused:
            return 0


def _addressed(target: Known, kind: Type | None) -> Location:
    """Return what the reset is ordered for: the chip, but the first of the card where the card is reset as one."""
    place = target.location
    duo = kind is Type.A310P and target.place.product == DUO
    return Location(place.logical, place.card, 0) if duo else place
