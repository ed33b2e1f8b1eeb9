"""The driver of NVIDIA GPUs, over NVIDIA's libnvidia-ml.so.1 and nvidia-smi. docs/nvml.md says what it believes."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import partial
from pathlib import Path

from cmgr import frozen
from cmgr.drivers import libraries
from cmgr.drivers.caller import BEGIN, MEASURE_SECONDS, READ_SECONDS
from cmgr.drivers.nvml import read as nvml_read
from cmgr.drivers.nvml.doubts import Seen, doubts
from cmgr.drivers.nvml.hearing.culprits import Culprits
from cmgr.drivers.nvml.hearing.kernel_log import XidLog
from cmgr.drivers.nvml.hearing.watch import WANTED as EVENTS
from cmgr.drivers.nvml.hearing.watch import Ears, Pace, Watch
from cmgr.drivers.nvml.hearing.xids import NAME as XIDS
from cmgr.drivers.nvml.hearing.xids import Asked, Xids
from cmgr.drivers.nvml.library import gauges as nvml_gauges
from cmgr.drivers.nvml.library.calls import Event, Fabric, Library, Link, Part
from cmgr.drivers.nvml.library.installed import Installed, installed, release_of
from cmgr.drivers.nvml.library.load import WANTED, check_host
from cmgr.drivers.nvml.library.session import Opening, Session
from cmgr.drivers.nvml.library.topology import Wired
from cmgr.drivers.nvml.machine import Known, Machine, fabric_is_managed
from cmgr.drivers.nvml.numbers import NAME as NUMBERS
from cmgr.drivers.nvml.numbers import Numbers
from cmgr.drivers.nvml.resetting.holders import users_of
from cmgr.drivers.nvml.resetting.promises import Promised, Promises
from cmgr.drivers.nvml.resetting.reset import LET_GO, Aside, Resetter
from cmgr.drivers.nvml.resetting.tool import RESCAN, in_its_root
from cmgr.drivers.nvml.resetting.units import Units
from cmgr.drivers.nvml.settings import Nvml
from cmgr.drivers.processes import Holder, process_of
from cmgr.drivers.resets import Resets, Sleep, of_one_ring
from cmgr.errors import DriverError, ResetRefused
from cmgr.frozen import dataclass
from cmgr.host.host import Host
from cmgr.model.values.chips import Chip, ChipId, ChipReport, Process, Reported, Share
from cmgr.model.values.faults import Severity
from cmgr.model.values.handling.policy import BOOT
from cmgr.model.values.messages.facts import ChipsListed
from cmgr.ports import Doubt, DriverFact
from cmgr.sentences.sentence import because, reason, say
from cmgr.vendor import OpenUnits

ANSWERS = (Event, Fabric, Holder, Known, Link, Part, nvml_read.Reading, Wired)
"""The classes of what the processes of GPUs say."""

SAME = 5.0
"""Seconds in which the same Xid of the same GPU is one, told by both sources."""


@dataclass(frozen=True, slots=True)
class Place:
    """The machine around the GPUs. `state`: the directory where promises are kept. `units` reaches systemd.

    `host`: where tools run. `managed` says whether the Fabric Manager runs. `root`: where the machine's files are.
    """

    state: Path
    units: OpenUnits | None
    host: Host
    managed: Callable[[], bool] = fabric_is_managed
    root: Path = Path("/")


class NvmlDriver:
    """Implements `ChipDriver`, `Ailing`, `Renewable`, `Dividing` and `Gauge`."""

    name = "nvml"
    # A ring whose GPU hangs, and resets, which last minutes, must leave room for others.
    concurrency = 16

    def __init__(
        self, settings: Nvml, sweep: timedelta, relist: timedelta, place: Place, boot: timedelta = BOOT
    ) -> None:
        check_host()
        path = libraries.find(libraries.Where(WANTED, settings.library))
        self._settings = settings = in_its_root(settings, path)
        self._seconds = settings.call_timeout.total_seconds()
        self._resets = Resets(boot.total_seconds())
        frozen.finish(*ANSWERS)  # Now for all: each process of a GPU would compile them for itself.
        self._session = Session(path, EVENTS)
        try:
            self._version = self._session.ask_library(BEGIN * self._seconds, Library.driver_version)
            self._xids = Xids(release_of(self._version), place.state / XIDS)
            numbers = Numbers(place.state / NUMBERS)
            self._machine = Machine(self._session, self._seconds, place.managed, self._xids.hushed, numbers)
            self._machine.look()
        except DriverError:
            self._session.close()
            raise
        self._log, self._deaf = _kernel_log(settings.kernel_log)
        self._root = place.root
        self._culprits = Culprits(self._machine.parts, place.root / "proc")
        self._ears = ears = Ears(
            self._session, self._machine, self._xids, self._log, self._culprits, lambda: self._installed().mismatch
        )
        pace = Pace(self._seconds, settings.retry.total_seconds(), SAME, sweep.total_seconds(), relist.total_seconds())
        self._watch = Watch(ears, pace, self._resets.asleep)
        self._promises = Promises(place.state)
        self._units = Units(settings.stop_units, place.units, self._promises)
        aside = Aside(self._promises, self._units, place.host, self._watch.say)
        self._resetter = Resetter(ears, settings, aside, place.root)
        self._late: frozenset[ChipId] = frozenset()
        self._gone: dict[str, str] = {}
        self._find_late()

    def describe(self) -> str:
        """Return the library and the driver's release, for `cmgr check`."""
        return say("driver.library-of", path=self._session.path, version=self._version)

    def doubts(self) -> tuple[Doubt, ...]:
        """Return what keeps GPUs from being reset here, or Xids from being heard."""
        minors = tuple(chip.logical for chip in self._machine.chips())
        seen = Seen(
            self._machine.modes(),
            minors,
            self._machine.is_divided(),
            self._machine.transient(),
            self._installed().mismatch,
        )
        return tuple(doubts(self._settings, seen, self._root))

    def chips(self) -> tuple[Chip, ...]:
        return self._machine.chips()

    def _find_late(self) -> None:
        """Ask nothing of GPUs that a program still resets which an earlier life has begun."""
        resetting = self._promises.all.resetting
        late = tuple(chip for chip in map(self._machine.at, resetting) if chip is not None)
        if late and self._promises.is_under_way():
            self._resets.begin(late)
            self._late = frozenset(late)
            with suppress(DriverError):  # Nobody but this thread has asked anything yet.
                self._session.let_go(resetting, self._seconds + LET_GO)

    def watch(self, tell: Callable[[DriverFact], None]) -> None:
        left = self._promises.all
        if left != Promised():
            self._resetter.expect()
            threading.Thread(target=self._make_good, args=(left,), name="nvml-promises", daemon=True).start()
        self._watch.start(tell)

    def _make_good(self, left: Promised) -> None:
        """Give back what an earlier life had taken away for resets, once the last of these is over."""
        late = tuple(self._late)
        self._promises.wait()
        self._find_again(left.resetting)
        self._resetter.take_back(tuple(bus for bus in left.buses if bus not in self._gone))
        self._was_reset(late)
        self._resets.end(late)
        self._late -= frozenset(late)

    def _find_again(self, buses: Sequence[str]) -> None:
        """Have those found that the driver does not list: a reset removes a GPU, and may have ended in its middle."""
        gone = self._not_listed(buses)
        if gone:
            why = self._resetter.rescan()
            self._gone = dict.fromkeys(self._not_listed(gone), why)
            self._watch.look_soon()

    def _not_listed(self, buses: Sequence[str]) -> tuple[str, ...]:
        with suppress(DriverError):
            self._machine.look()
        return tuple(bus for bus in buses if bus not in self._machine.buses())

    def read(self, chips: Sequence[ChipId]) -> tuple[ChipReport, ...]:
        until = time.monotonic() + READ_SECONDS
        self._watch.look_at_machine()
        return tuple(self._report(chip, until) for chip in chips)

    def _report(self, chip: ChipId, until: float) -> ChipReport:
        known = self._machine.find(chip)
        if known is None or not known.here:
            self._watch.look_soon()
            return ChipReport(chip, error=say("driver.listed-no-more") if known else say("driver.no-such-chip"))
        sleep = self._resets.of(chip)
        if sleep.in_reset:
            return ChipReport(chip, booted=False, in_reset=True)
        seconds = min(self._seconds, until - time.monotonic())
        if seconds <= 0:
            return ChipReport(chip, error=say("driver.others-slow"))
        began = time.monotonic()
        try:
            reading = self._reading(known, seconds, after_reset=sleep.boots)
        except Opening as error:
            # The first answer after a reset waits for the driver to initialise the GPU.
            return ChipReport(chip, booted=False) if sleep.boots else ChipReport(chip, error=error.message)
        except DriverError as error:
            return ChipReport(chip, error=error.message)
        if not reading.booted:
            return ChipReport(chip, booted=False, unwell=reading.awaits)
        if sleep.since is not None:
            self._is_up(chip, sleep)
        asked = Asked(reading.action, began, not reading.conditions)
        codes = (*self._watch.sift(chip, reading.conditions), *self._xids.codes(known.bus, asked))
        faults = tuple(Reported(code, Severity.major) for code in codes)
        if faults and (stuck := self._stuck(chip)):
            why = say("driver.call-hangs", chips=stuck)
            return ChipReport(chip, error=say("driver.nothing-can-be-done", codes=codes, why=why))
        shares = None if reading.parts is None else known.shares(reading.parts)
        return ChipReport(chip, True, faults, self._users(known, reading), shares=shares)

    def _stuck(self, chip: ChipId) -> list[ChipId]:
        """Return the GPUs of its ring that cmgr cannot let go of, so that nobody must be stopped for a reset."""
        hanging, chips = self._session.hanging(self._seconds), self._machine.chips()
        ring = next((each.ring for each in chips if each.id == chip), None)
        return [each.id for each in chips if each.ring == ring and each.bus in hanging]

    def _users(self, known: Known, reading: nvml_read.Reading) -> tuple[Process, ...]:
        if reading.holders is None:
            return users_of(known.minor, self._root)
        self._culprits.listed(known.wired.chip, reading.holders)
        return tuple(map(process_of, reading.holders))

    def _reading(self, known: Known, seconds: float, *, after_reset: bool) -> nvml_read.Reading:
        if not after_reset and self._xids.hushed(known.bus):
            return self._ears.action(known.bus, seconds)
        ill = not after_reset and self._xids.is_ill(known.bus)
        return self._session.judge(known.bus, seconds, partial(nvml_read.read, after_reset=after_reset, ill=ill))

    def _is_up(self, chip: ChipId, sleep: Sleep) -> None:
        """The GPU answers after its reset, which may have given it another device file."""
        before = self._machine.chips()
        with suppress(DriverError):  # The next look at all of them reads it.
            self._watch.tell_changes(before, self._machine.look_at(chip))
        self._resets.is_up(chip, sleep)

    def reset(self, chips: Sequence[ChipId], faulty: Sequence[ChipId], codes: frozenset[str]) -> None:
        asked = of_one_ring(chips, self._machine.find, self._machine.chips)
        ring = self._machine.whole_ring(asked)
        chips = tuple(ring)
        self._resets.begin(chips)
        pending: threading.Event | None = None
        try:
            self._resetter.last_look(ring, faulty, codes)
            pending = self._resetter.reset(ring)
            if pending is not None:
                self._late |= frozenset(chips)
                late = threading.Thread(target=self._wait_for, args=(ring, pending), name="nvml-reset", daemon=True)
                late.start()
                limit = self._settings.reset_timeout.total_seconds()
                how = say("driver.how-unknown", chips=chips)
                raise DriverError(because(how, say("driver.lasted", seconds=f"{limit:g}")))
            self._was_reset(chips)
        except DriverError as error:
            if pending is None and not isinstance(error, ResetRefused):
                self._find_again([known.bus for known in ring.values()])
            raise
        finally:
            if pending is None:
                self._resets.end(chips)
            if len(self._machine.whole_ring(asked)) > len(asked):
                self._watch.say(ChipsListed(self.chips()))  # Whoever is on the others has to be stopped, too.

    def _was_reset(self, chips: Sequence[ChipId]) -> None:
        self._watch.cured(chips)
        self._resets.expect_boots(chips)

    def _wait_for(self, ring: Mapping[ChipId, Known], over: threading.Event) -> None:
        """Take the GPUs back once the program that resets them has ended after all."""
        over.wait()
        self._find_again([known.bus for known in ring.values()])
        self._resetter.take_back([known.bus for known in ring.values()])
        self._was_reset(tuple(ring))
        self._resets.end(tuple(ring))
        self._late -= frozenset(ring)

    def make_shares(self, shares: Mapping[ChipId, Sequence[Share]]) -> None:
        found = {chip: self._machine.find(chip) for chip in shares}
        self._resetter.divide({chip: known for chip, known in found.items() if known is not None})
        self._watch.look_soon()  # New parts may have other UUIDs.

    def share_obstacle(self) -> str:
        return "" if self._settings.mig_tool else say("driver.no-mig-tool")

    def measure(self, chips: Sequence[ChipId]) -> Mapping[ChipId, Mapping[str, float | str]]:
        until = time.monotonic() + MEASURE_SECONDS
        found: dict[ChipId, Mapping[str, float | str]] = {}
        for chip in chips:
            known, left = self._machine.here(chip), until - time.monotonic()
            if known is not None and left > 0 and not self._xids.hushed(known.bus):
                found[chip] = {
                    "type": known.name,
                    "uuid": known.uuid,
                    **self._measured(known, min(left, self._seconds)),
                }
        return found

    def _measured(self, known: Known, seconds: float) -> Mapping[str, float]:
        try:
            return self._session.ask(known.bus, seconds, nvml_gauges.measure)
        except DriverError:
            return {}

    def stale(self) -> str:
        """Return that the module was loaded anew, from which the library that is loaded here is of another version."""
        now = self._installed()
        gone_on = now.library and now.library == now.module and now.file != self._session.path
        return say("driver.loaded-anew", version=now.module, path=self._session.path) if gone_on else ""

    def _installed(self) -> Installed:
        return installed(self._session.path, self._root)

    def trouble(self) -> tuple[str, ...]:
        return (
            *self._deaf,
            *self._machine.troubles,
            *self._watch.trouble(),
            *self._resetter.trouble(),
            *self._stays_stopped(),
            *self._hang(),
            *self._stays_gone(),
        )

    def _hang(self) -> Iterator[str]:
        hanging = self._session.hanging(self._seconds)
        if chips := [chip.id for chip in self._machine.chips() if chip.bus in hanging]:
            yield say("driver.nvml-hangs", chips=chips)

    def _stays_gone(self) -> Iterator[str]:
        for bus, why in self._gone.items():
            if bus not in self._machine.buses():
                hint = say("driver.rescan", command=f"echo 1 >/{RESCAN}")
                yield say("word.hinted", what=because(say("driver.gpu-gone", bus=bus), why), hint=hint)

    def _stays_stopped(self) -> Iterator[str]:
        units, late = self._promises.all.units, self._late
        if units and late:
            yield say("driver.stays-stopped", names=units, chips=sorted(late))

    def close(self) -> None:
        self._resets.close()
        self._watch.close()
        self._units.close()
        self._session.close()


def _kernel_log(path: str) -> tuple[XidLog | None, tuple[str, ...]]:
    """Return the log, or why faults that only it tells are missed."""
    if not path:
        return None, ()
    try:
        return XidLog(path), ()
    except DriverError as error:
        return None, (say("driver.xids-missed", why=reason(error, "")),)
