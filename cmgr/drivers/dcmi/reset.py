"""Resetting Ascend chips: the last look before, the call itself, what its refusals mean, and the way around."""

import threading
from collections.abc import Callable, Mapping, Sequence, Set
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from cmgr.drivers.caller import Caller, Hangs
from cmgr.drivers.dcmi import vdevices
from cmgr.drivers.dcmi.library import abi
from cmgr.drivers.dcmi.library import read as dcmi_read
from cmgr.drivers.dcmi.library.calls import Library, Location, Refused
from cmgr.drivers.dcmi.library.topology import ASKING_ALL, Type, is_duo
from cmgr.drivers.dcmi.machine import Known, Machine, owner_of
from cmgr.drivers.dcmi.resetting import kills
from cmgr.drivers.dcmi.resetting.rescans import Rescans
from cmgr.drivers.dcmi.settings import Dcmi
from cmgr.drivers.processes import Holder, in_words, process_of
from cmgr.drivers.resets import Resets, refusal
from cmgr.errors import DriverError, ResetRefused
from cmgr.model.values.chips import ChipId
from cmgr.model.values.handling.catalog import normal_code
from cmgr.sentences.sentence import say

T = TypeVar("T")

RESCAN_PAUSE = 3.0
"""Seconds between the out-of-band reset and the rescan, as the vendor's own program waits."""

TRIES = 4
"""How often a reset is ordered at once, as the maker's tools do: any program's question to a chip is in its way."""

_MEANT: Mapping[int, str] = {
    abi.WRONG_PARAMETER: say("driver.being-asked"),
    abi.TIMED_OUT: say("driver.computes-or-resets"),
    abi.NO_DEVICE: say("driver.starts-or-divided"),
    abi.NOT_READY: say("driver.chip-not-ready"),
    abi.IN_CONTAINER: say("driver.busy"),
    abi.FILE_FAILED: say("driver.cannot-write", path=str(kills.FILE)),
    abi.UPGRADING: say("driver.upgrading"),
    abi.OCCUPIED: say("driver.occupied"),
    abi.NOT_PERMITTED: say("driver.only-root"),
    abi.UNSUPPORTED: say("driver.no-such-reset", command="npu-smi set -t reset"),
}
"""The errors of an in-band reset that say that nothing has begun. The kernel's own come through as other ones: EBUSY as
timed out, EINVAL as wrong parameter, EPERM and EAGAIN as no device, "busy" as inside a container. Those that are above
zero are not translated at all: the chip is in no table of the driver."""


class StillUnderWay(DriverError):
    """The reset was ordered, and the call has not come back in time: whether it works is not known yet."""


class Means(NamedTuple):
    """All that resets are made with. `resets` is told which calls are inside the library; `pause` waits, in seconds.

    `kills`: the file that names those whom the driver kills for a reset.
    """

    library: Library
    caller: Caller
    machine: Machine
    resets: Resets
    pause: Callable[[float], None]
    rescans: Rescans
    kills: Path


class Resetter:
    """Resets one ring at a time as its caller decides; any thread."""

    def __init__(self, means: Means, settings: Dcmi) -> None:
        self._library, self._caller, self._machine, self._resets, self._pause, self._rescans, self._kills = means
        self._settings = settings

    def reset(self, ring: Mapping[ChipId, Known], faulty: Sequence[ChipId], codes: frozenset[str]) -> None:
        """Reset the ring for the first of `faulty` that still reports one of `codes`; without codes, for the first.

        Raises `ResetRefused` when nothing has begun, `StillUnderWay`, or `DriverError` when it has failed.
        """
        place = self._addressed(ring[self._reason(ring, faulty, codes)], ring)
        try:
            self._in_band(place, ring)
        except Refused as refused:
            if refused.code > 0 or refused.code in _MEANT or self._is_by_board(refused):
                raise refusal(ring, self._meant(refused.code, ring)) from refused
            if not self._settings.out_of_band:
                raise DriverError(say("driver.cannot-reset", chips=list(ring))) from refused
            self._out_of_band(place, ring, refused)

    def _reason(self, ring: Mapping[ChipId, Known], faulty: Sequence[ChipId], codes: frozenset[str]) -> ChipId:
        if not codes:
            return next(chip for chip in faulty if chip in ring)
        wanted = {normal_code(code) for code in codes}
        for chip in faulty:
            if chip in ring and wanted.intersection(map(normal_code, self._codes(chip, ring, codes))):
                return chip
        raise refusal(ring, say("driver.reports-none", chips=faulty, codes=sorted(codes)))

    def _check_free(self, ring: Mapping[ChipId, Known]) -> None:
        """Raise `ResetRefused` when somebody is on the ring. Right before each call: not every kernel looks again."""
        for chip, known in ring.items():
            objection = self._used(chip, known)
            if objection:
                raise refusal(ring, objection)

    def _used(self, chip: ChipId, known: Known) -> str:
        try:
            on, numbers = self._divided(chip, known)
            if on:
                return say("driver.vnpu-used", vnpus=on, chip=chip)
            on_chip = (*self._ask(known, self._library.holders), *vdevices.holders(self._machine.devices, numbers))
            holders = [holder for holder in on_chip if not self._yields(holder)]
        except DriverError as error:
            return self._boots({chip: known}) or say("driver.silent-on-users", chip=chip, why=error.message)
        process = in_words(process_of(holders[0])) if holders else ""
        return say("driver.process-on-chip", process=process, chip=chip) if process else ""

    def _divided(self, chip: ChipId, known: Known) -> tuple[str, Sequence[int]]:
        """Return which vNPUs of the chip containers use, in words, and which it may have. Raises `DriverError`."""
        try:
            return self._ask(known, partial(vdevices.used, self._library))
        except Refused:
            # A chip that is not up tells of none, and whoever has one open is known without it.
            if not self._down({chip: known}):
                raise
            return "", vdevices.usual_numbers(chip)

    def _yields(self, holder: Holder) -> bool:
        return self._machine.kind in ASKING_ALL and kills.kills(self._kills, holder.pid)

    def _codes(self, chip: ChipId, ring: Mapping[ChipId, Known], wanted: Set[str]) -> Sequence[str]:
        library, booted = self._library, self._settings.booted
        try:
            return self._ask(ring[chip], lambda place: dcmi_read.codes(library, place, booted, wanted))
        except DriverError as error:
            why = say("driver.silent-on-faults", chip=chip, why=error.message)
            raise refusal(ring, why) from error

    def _down(self, chips: Mapping[ChipId, Known]) -> list[ChipId]:
        """Return which of these say that they have not booted."""
        found = []
        for chip, known in chips.items():
            with suppress(DriverError):
                found += [] if self._ask(known, self._library.boot_status) == self._settings.booted else [chip]
        return found

    def _ask(self, known: Known, function: Callable[[Location], T]) -> T:
        place = known.location
        return self._caller.call(owner_of(place), self._settings.call_timeout.total_seconds(), lambda: function(place))

    def _boots(self, ring: Mapping[ChipId, Known]) -> str:
        """Return which chips that have not booted keep the ring from a reset, in words; nothing where none does."""
        if self._machine.kind not in ASKING_ALL:
            down = self._down(ring)
            return say("driver.not-booted", chips=down) if down else ""
        down = self._down(self._machine.all())
        return say("driver.not-booted-all", chips=down) if down else ""

    def _is_by_board(self, refused: Refused) -> bool:
        return refused.code == abi.INNER and self._machine.resets_boards

    def _meant(self, code: int, ring: Mapping[ChipId, Known]) -> str:
        """Return why nothing has begun, in words."""
        if code == abi.INNER:
            place = next(iter(ring.values())).location
            return say("driver.smp", command=f"npu-smi set -t reset -i {place.card} -c {place.device} -m 1")
        if code == abi.TIMED_OUT and self._machine.kind is Type.A910A3:
            return say("driver.other-reset")  # Of an A3 the driver does not ask who computes on it.
        if code in (abi.WRONG_PARAMETER, abi.NO_DEVICE) or code > 0:
            boots = self._boots(ring)
            if boots:
                return boots
        divided = [
            say("driver.chip-has", chip=chip, vnpus=on) for chip, known in ring.items() if (on := self._vdevices(known))
        ]
        if code == abi.NO_DEVICE and divided:
            return say("driver.divided-not-reset", chips=divided)
        return _MEANT.get(code, say("driver.in-no-table"))

    def _in_band(self, place: Location, ring: Mapping[ChipId, Known]) -> None:
        def reset() -> None:
            self._check_free(ring)
            self._call(place, ring, lambda: self._library.reset(place, abi.IN_BAND))

        try:
            _repeated(reset)
        except Refused as refused:
            # No divided chip is reset. Nobody is on the vNPUs, and it is stored which are to be made again.
            if refused.code not in (abi.NOT_PERMITTED, abi.NO_DEVICE) or not self._undivide(ring):
                raise
            reset()

    def _undivide(self, ring: Mapping[ChipId, Known]) -> bool:
        """Destroy the vNPUs of the ring. Return whether there were any. Raises `ResetRefused` where that cannot be."""
        there = False
        for chip, known in ring.items():
            on = self._vdevices(known)
            try:
                there |= bool(on) and bool(self._ask(known, lambda place: vdevices.destroy(self._library, place)))
            except DriverError as error:
                why = say("driver.vnpu-stays", chip=chip, vnpus=on, why=error.message)
                raise refusal(ring, why) from error
        return there

    def _vdevices(self, known: Known) -> str:
        try:
            return vdevices.named(self._ask(known, self._library.vdevices))
        except DriverError:
            return ""

    def _call(self, place: Location, ring: Mapping[ChipId, Known], function: Callable[[], None]) -> None:
        """Make a call of the library's that resets. Raises `Refused`, `ResetRefused`, `StillUnderWay`."""
        begun = threading.Event()

        def call() -> None:
            with self._resets.called(ring):
                begun.set()
                function()

        try:
            self._caller.call(owner_of(place), self._settings.reset_timeout.total_seconds(), call)
        except Hangs as hangs:
            if begun.is_set():
                raise StillUnderWay(say("driver.how-unknown", chips=list(ring))) from hangs
            raise refusal(ring, say("driver.not-ordered")) from hangs

    def _out_of_band(self, place: Location, ring: Mapping[ChipId, Known], refused: Refused) -> None:
        if self._channel(place) != abi.CHANNEL_USABLE:
            raise DriverError(say("driver.no-channel", chips=list(ring))) from refused
        try:
            with self._rescans.alone():
                self._check_free(ring)
                self._taken_away_and_found(place, ring)
        except (StillUnderWay, ResetRefused):
            raise
        except DriverError as error:
            text = say("driver.not-out-of-band", chips=list(ring), why=refused.message)
            raise DriverError(text) from error

    def _taken_away_and_found(self, place: Location, ring: Mapping[ChipId, Known]) -> None:
        """Reset out of band. Whatever becomes of it, chips that were taken off the bus for it are looked for again."""
        places, library = [known.location for known in ring.values()], self._library
        self._rescans.add(places)
        try:
            self._call(place, ring, lambda: library.pre_reset(place))
        except (Refused, ResetRefused):
            self._rescans.done(places)
            raise
        failure = None
        try:
            self._call(place, ring, lambda: library.reset(place, abi.OUT_OF_BAND))
        except Refused as refused:
            failure = refused
        self._pause(RESCAN_PAUSE)
        self._call(place, ring, lambda: library.rescan(place))
        self._rescans.done(places)
        if failure is not None:
            raise failure

    def rescan_due(self) -> None:
        """Look for what an earlier life took off the bus: for each card, as the library has forgotten its brother."""
        seconds = self._settings.reset_timeout.total_seconds()
        with suppress(DriverError), self._rescans.alone():
            for place in {place.card: place for place in reversed(self._rescans.due)}.values():
                with suppress(DriverError):
                    self._caller.call(owner_of(place), seconds, partial(self._library.rescan, place))
                    self._rescans.done([each for each in self._rescans.due if each.card == place.card])

    def lost(self) -> list[str]:
        """Return, in words, which chips were taken off the bus for a reset, and not found again."""
        cards = {str(p.card) for p in self._rescans.due if not self._resets.asleep()}
        return [say("driver.not-looked-for", cards=sorted(cards))] if cards else []

    def _channel(self, place: Location) -> int:
        seconds = self._settings.reset_timeout.total_seconds()
        try:
            return self._caller.call(owner_of(place), seconds, lambda: self._library.channel(place))
        except DriverError:
            return 0

    def _addressed(self, target: Known, ring: Mapping[ChipId, Known]) -> Location:
        """Return what the reset is ordered for: the chip, or one that stands for it."""
        place, kind = target.location, self._machine.kind
        if is_duo(target.place, kind):
            return Location(place.logical, place.card, 0)
        if kind not in ASKING_ALL:
            return place
        # Each of them stands for its ring, and the driver perhaps does not find a chip that is not up.
        return next((known.location for known in (target, *ring.values()) if self._is_up(known)), place)

    def _is_up(self, known: Known) -> bool:
        try:
            return self._ask(known, self._library.boot_status) == self._settings.booted
        except DriverError:
            return False


def _repeated(reset: Callable[[], None]) -> None:
    for _ in range(TRIES - 1):
        try:
            return reset()
        except Refused as refused:
            if refused.code != abi.WRONG_PARAMETER:
                raise
    return reset()
