"""The driver of Ascend chips, over Huawei's libdcmi.so. docs/dcmi.md says what it believes of that library."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TypeVar

from cmgr.drivers import libraries
from cmgr.drivers.caller import MEASURE_SECONDS, READ_SECONDS, Caller
from cmgr.drivers.dcmi import vdevices
from cmgr.drivers.dcmi.downs import Downs
from cmgr.drivers.dcmi.library import abi, soft_fault
from cmgr.drivers.dcmi.library import gauges as dcmi_gauges
from cmgr.drivers.dcmi.library import read as dcmi_read
from cmgr.drivers.dcmi.library.calls import Library, Location, Refused
from cmgr.drivers.dcmi.library.load import WANTED, check_host
from cmgr.drivers.dcmi.library.severities import LIST, Severities
from cmgr.drivers.dcmi.library.topology import ASKING_ALL, Type
from cmgr.drivers.dcmi.machine import Known, Machine, owner_of
from cmgr.drivers.dcmi.missing import DEVICES
from cmgr.drivers.dcmi.optics import Optics
from cmgr.drivers.dcmi.reset import Means, Resetter, StillUnderWay
from cmgr.drivers.dcmi.resetting import kills
from cmgr.drivers.dcmi.resetting.rescans import Rescans
from cmgr.drivers.dcmi.settings import Dcmi
from cmgr.drivers.dcmi.watch import Pace, Watch
from cmgr.drivers.processes import Holder, process_of
from cmgr.drivers.resets import Resets, of_one_ring, refusal
from cmgr.errors import DriverError
from cmgr.frozen import dataclass
from cmgr.model.values.chips import Chip, ChipId, ChipReport, Process, Reported, Share
from cmgr.model.values.faults import Assertion
from cmgr.model.values.messages.facts import FaultReported
from cmgr.model.values.ranks import Device
from cmgr.ports import Doubt, DriverFact, SoftFault
from cmgr.sentences.sentence import parts, say

T = TypeVar("T")

NETWORK_SECONDS = 0.3
"""The time for the question about one chip's network: after its card has dropped there may be no answer."""

STUCK_SECONDS = 60.0
"""A call that has not come back for so long is taken for one that never will."""


@dataclass(frozen=True, slots=True)
class Files:
    """Places of the driver's own files: how grave it calls each fault, the directory of the chips' device files, and
    the processes that it is to kill before a reset, which it opens for writing. `state`: the directory of cmgr's own,
    where it is to remember anything.
    """

    severities: Path = LIST
    devices: Path = DEVICES
    processes: Path = kills.FILE
    state: Path | None = None


FILES = Files()


class DcmiDriver:
    """Implements `ChipDriver`, `Ailing`, `Renewable`, `Lasting`, `Dividing`, `Drilling`, `Gauge` and `Ranking`."""

    name = "dcmi"
    # A ring whose chip hangs, and resets, which last minutes, must leave room for others.
    concurrency = 16

    def __init__(
        self,
        settings: Dcmi,
        sweep: timedelta,
        relist: timedelta,
        pause: Callable[[float], None] = time.sleep,
        files: Files = FILES,
    ) -> None:
        self._settings = settings
        self._files = files
        self._seconds = settings.call_timeout.total_seconds()
        self._severities = Severities(files.severities)
        self._unasked: set[ChipId] = set()
        self._downs = Downs()
        self._resets = Resets()
        path = libraries.find(libraries.Where(WANTED, settings.library))
        check_host()
        # However long that takes: it may be ten minutes for each chip that does not answer.
        self._library = Library(path)
        self._caller = Caller("libdcmi")
        self._machine = Machine(self._library, self._caller, self._seconds, files.devices)
        pace = Pace(
            self._seconds,
            settings.poll.total_seconds(),
            sweep.total_seconds(),
            relist.total_seconds(),
        )
        self._watch = Watch(self._library, self._caller, self._machine, pace, self._resets.asleep)
        self._optics = Optics(settings.hccn_tool)
        self._rescans = Rescans(files.state)
        means = Means(self._library, self._caller, self._machine, self._resets, pause, self._rescans, files.processes)
        self._resetter = Resetter(means, settings)
        self._late: frozenset[ChipId] = frozenset()
        try:
            self._machine.look()
        except DriverError:
            self._caller.close()
            raise

    def describe(self) -> str:
        """Return the library and its family, for `cmgr check`."""
        symbols = "dcmi_*" if self._library.family == 1 else "dcmiv2_*"
        return say("driver.library-with", path=self._library.path, symbols=symbols, chips=self._machine.describe())

    def doubts(self) -> tuple[Doubt, ...]:
        """Return whom the driver kills for a reset, and what the library says no earlier than when one is due."""
        return tuple(kills.doubts(self._files.processes)) if self._machine.kind in ASKING_ALL else ()

    def chips(self) -> tuple[Chip, ...]:
        return self._machine.chips()

    def watch(self, tell: Callable[[DriverFact], None]) -> None:
        def hear(fact: DriverFact) -> None:
            if isinstance(fact, FaultReported) and fact.severity is not None:
                self._severities.tell(fact.code, fact.severity)
                if fact.code == abi.CARD_DROPPED and fact.chip not in self._resets.asleep():
                    self._downs.tell(fact.chip, dropped=fact.assertion is Assertion.OCCURRED)
            tell(fact)

        self._watch.start(hear)
        if self._rescans.due:
            threading.Thread(target=self._rescan, name="dcmi-rescan", daemon=True).start()

    def _rescan(self) -> None:
        """Look for the chips that an earlier life took off the bus, and did not look for."""
        self._resetter.rescan_due()
        self._watch.look_soon()

    def _process(self, holder: Holder) -> Process:
        yields = self._machine.kind in ASKING_ALL and kills.kills(self._files.processes, holder.pid)
        return replace(process_of(holder), yields=yields)

    def read(self, chips: Sequence[ChipId]) -> tuple[ChipReport, ...]:
        until = time.monotonic() + READ_SECONDS
        return tuple(self._report(chip, until) for chip in chips)

    def _report(self, chip: ChipId, until: float) -> ChipReport:
        known = self._machine.find(chip)
        if known is None:
            self._watch.look_soon()
            return ChipReport(chip, error=say("driver.no-such-chip"))
        sleep = self._resets.of(chip)
        if sleep.in_reset:
            return ChipReport(chip, booted=False, in_reset=True)
        if time.monotonic() >= until:
            return ChipReport(chip, error=say("driver.others-slow"))
        lost = self._watch.lost
        try:
            reading = self._reading(known, until, after_reset=sleep.since is not None)
        except DriverError as error:
            self._watch.could_not_read(chip)
            return ChipReport(chip, error=error.message)
        if not reading.booted:
            return ChipReport(chip, booted=False)
        self._watch.has_read(chip, lost)
        self._resets.is_up(chip, sleep)
        if abi.CARD_DROPPED not in reading.codes:
            self._downs.is_up(chip)
        for code, severity in reading.severities.items():
            self._severities.tell(code, severity)
        faults = tuple(Reported(code, self._severities.of(code, reading.health)) for code in reading.codes)
        (self._unasked.add if reading.unasked else self._unasked.discard)(chip)
        return ChipReport(
            chip,
            True,
            faults,
            tuple(map(self._process, self._holders(reading))),
            shares=reading.shares,
            unasked=reading.unasked,
            blind=reading.holders is None,
        )

    def _holders(self, reading: dcmi_read.Reading) -> Sequence[Holder]:
        """Return who is on the chip: the driver tells of the first vNPU's processes at the most."""
        listed = reading.holders or ()
        told = {holder.pid for holder in listed}
        divided = vdevices.holders(self._files.devices, (int(share.id) for share in reading.shares or ()))
        return (*listed, *(holder for holder in divided if holder.pid not in told))

    def _reading(self, known: Known, until: float, *, after_reset: bool) -> dcmi_read.Reading:
        place, finished = known.location, self._settings.booted
        owner = owner_of(place)

        def ask() -> dcmi_read.Reading:
            found = dcmi_read.read(self._library, place, finished)
            if not found.booted and not after_reset and self._downs.is_down(known.place.physical):
                return dcmi_read.dropped(self._library, place)
            shares = vdevices.shares(self._library, place, known.place.physical) if found.booted else None
            return replace(found, shares=shares)

        reading = self._asked(owner, until, ask)
        if not reading.unasked:
            return reading
        try:
            # An owner of its own: a chip is not silent because the controller of its card hangs.
            whole = partial(dcmi_read.with_controller, self._library, place, reading)
            return self._asked(f"controller of {owner}", until, whole)
        except DriverError:
            return reading

    def _asked(self, owner: str, until: float, ask: Callable[[], T]) -> T:
        return self._caller.call(owner, max(0.0, min(self._seconds, until - time.monotonic())), ask)

    def reset(self, chips: Sequence[ChipId], faulty: Sequence[ChipId], codes: frozenset[str]) -> None:
        known = of_one_ring(chips, self._machine.find, self._machine.chips)
        if beside := self._machine.beside(known):
            raise refusal(chips, beside)
        self._resets.begin(chips)
        try:
            self._late -= known.keys()
            try:
                self._resetter.reset(known, faulty, codes)
            except StillUnderWay:
                # No failure: until the call comes back its chips are in a reset, and then they boot.
                self._late |= known.keys()
            self._downs.forget(chips)
            self._resets.expect_boots(chips)
        finally:
            self._resets.end(chips)

    def make_shares(self, shares: Mapping[ChipId, Sequence[Share]]) -> None:
        failed = []
        for chip, wanted in shares.items():
            known = self._machine.find(chip)
            try:
                if known is None:
                    raise DriverError(say("driver.no-chip-to-divide", chip=chip))
                self._make(known.location, wanted)
            except DriverError as error:
                failed.append(error.message)
        if failed:
            raise DriverError(parts(failed))

    def share_obstacle(self) -> str:
        return "" if self._library.makes_vdevices else say("driver.no-function")

    def _make(self, place: Location, wanted: Sequence[Share]) -> None:
        seconds = self._settings.reset_timeout.total_seconds()
        self._caller.call(owner_of(place), seconds, lambda: vdevices.make(self._library, place, wanted))

    def soft_fault(self, chip: ChipId) -> SoftFault:
        known = self._machine.find(chip)
        if known is None:
            raise DriverError(say("driver.does-not-list", chip=chip))
        return soft_fault.of(self._library.path, known.location.logical)

    def measure(self, chips: Sequence[ChipId]) -> Mapping[ChipId, Mapping[str, float | str]]:
        until = time.monotonic() + MEASURE_SECONDS
        found: dict[ChipId, Mapping[str, float | str]] = {}
        for chip in chips:
            known = self._machine.find(chip)
            if known is not None and time.monotonic() < until:
                found[chip] = {**self._facts(known), **self._measured(known, until), **self._links(known)}
        return found

    def _links(self, known: Known) -> Mapping[str, float]:
        """Return what the vendor's tool says of the chip, which calls a 950 by its logical id."""
        place = known.place
        if self._machine.kind is Type.A950:
            return self._optics.of(place.logical, by_ports=True)
        return self._optics.of(place.physical)

    def _facts(self, known: Known) -> Mapping[str, str]:
        place = known.place
        facts = {"type": str(self._machine.kind or ""), "board": f"{place.board:#x}", "product": place.product}
        return {name: value for name, value in facts.items() if value}

    def _measured(self, known: Known, until: float) -> Mapping[str, float]:
        """Return what a chip measures that is well: of one with a fault the management may be dead, as in a reset."""
        place, chip = known.location, known.place.physical
        if chip in self._resets.asleep():
            return {}
        # Owners of their own: a chip is not silent, and its reset not kept, because it does not measure.
        owner = f"gauges of {owner_of(place)}"
        # But the host itself knows the health of all but a 950.
        healthy = owner if self._machine.kind is Type.A950 else owner_of(place)
        found = self._gauged(healthy, until, partial(dcmi_gauges.health, self._library, place)) or {}
        for gauge in dcmi_gauges.GAUGES if found.get("health") == 0 else ():
            values = self._gauged(owner, until, partial(gauge, self._library, place))
            if values is None:
                return found
            found |= values
        if place.device and self._machine.kind is Type.A910A3:
            found.pop("power_watts", None)  # The power is the card's, and told with its first die.
        if found.get("health") == 0:
            soon = min(until, time.monotonic() + NETWORK_SECONDS)
            network = partial(dcmi_gauges.network, self._library, place)
            found |= self._gauged(f"network of {owner_of(place)}", soon, network) or {}
        return found

    def _gauged(self, owner: str, until: float, ask: Callable[[], Mapping[str, float]]) -> dict[str, float] | None:
        """Return what this gauge says, as long as it may take; None when the next ones need not be tried."""
        seconds = min(self._seconds, until - time.monotonic())
        if seconds <= 0:
            return None
        try:
            return dict(self._caller.call(owner, seconds, ask))
        except Refused:
            return {}
        except DriverError:
            return None

    def devices(self, chips: Sequence[ChipId]) -> Mapping[ChipId, Device | DriverError]:
        until, found = time.monotonic() + MEASURE_SECONDS, dict[ChipId, Device | DriverError]()
        for chip in chips:
            try:
                found[chip] = self._device(chip, until)
            except DriverError as error:
                found[chip] = error
        return found

    def _device(self, chip: ChipId, until: float) -> Device:
        known, seconds = self._machine.find(chip), min(self._seconds, until - time.monotonic())
        if known is None or seconds <= 0:
            raise DriverError(say("driver.chip-silent", chip=chip))
        place, in_pods = known.location, self._machine.kind is Type.A910A3
        try:
            asked = partial(self._caller.call, owner_of(place), seconds)
            address = asked(lambda: self._library.address(place))
            pod, _, number = asked(lambda: self._library.pod(place)) if in_pods else (None, 0, 0)
        except DriverError as error:
            raise DriverError(say("driver.place-unknown", chip=chip, why=error.message)) from error
        if not address:
            hint = say("driver.address-hint", shows=f"hccn_tool -i {chip} -ip -g", sets="-ip -s")
            raise DriverError(say("driver.no-address", chip=chip), hint=hint)
        return Device(chip, address, None if pod == abi.UNREAD else pod, number)

    def trouble(self) -> tuple[str, ...]:
        without, told = self._machine.without(), list[str]()
        told += [without] if without else []
        if unasked := tuple(self._unasked):
            told.append(say("driver.controller-silent", chips=unasked))
        if late := [chip for chip in sorted(self._late) if self._resets.of(chip).in_reset]:
            told.append(say("driver.reset-late", chips=late))
        told += self._resetter.lost()
        return (*told, *self._machine.troubles, *self._downs.trouble(), *self._watch.trouble())

    def stale(self) -> str:
        if self._resets.is_called():
            return ""  # A library that begins in the midst of a reset would lack its chips.
        return self._machine.without() or self._watch.stale() or self._stuck()

    def finish(self) -> None:
        self._resets.finish()

    def _stuck(self) -> str:
        """Return which chips nobody can ask anything any more here; that a reset lasts long is no reason."""
        owners, asleep = self._caller.stuck(STUCK_SECONDS), self._resets.asleep()
        chips = [chip for chip, known in self._machine.all().items() if owner_of(known.location) in owners]
        chips = [chip for chip in sorted(chips) if chip not in asleep]
        return say("driver.call-stuck", chips=chips, seconds=f"{STUCK_SECONDS:g}") if chips else ""

    def close(self) -> None:
        self._optics.close()
        self._resets.close()
        self._watch.close()
        self._caller.close()
