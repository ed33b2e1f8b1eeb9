"""Resetting NVIDIA GPUs: the last look before, whatever keeps them open out of the way, and nvidia-smi."""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from cmgr.drivers.nvml import read as nvml_read
from cmgr.drivers.nvml.hearing.watch import Ears
from cmgr.drivers.nvml.hearing.xids import Asked
from cmgr.drivers.nvml.library.calls import Library
from cmgr.drivers.nvml.machine import Known
from cmgr.drivers.nvml.resetting.holders import users_of, who_holds
from cmgr.drivers.nvml.resetting.promises import Promised, Promises
from cmgr.drivers.nvml.resetting.set_again import set_again
from cmgr.drivers.nvml.resetting.tool import DONE, PERSISTENT, RESCAN, Ended, Tool, done
from cmgr.drivers.nvml.resetting.units import Units
from cmgr.drivers.nvml.settings import Nvml
from cmgr.drivers.processes import Holder, in_words, process_of
from cmgr.drivers.resets import refusal
from cmgr.errors import CmgrError, DriverError
from cmgr.frozen import dataclass
from cmgr.host.host import Host
from cmgr.model.values.chips import ChipId, Process, RingId
from cmgr.model.values.handling.catalog import normal_code
from cmgr.model.values.messages.facts import Remarked
from cmgr.sentences.sentence import because, say

LET_GO = 1.0
"""Seconds, beyond those of a call, in which the processes that ask the GPUs end."""


@dataclass(frozen=True, slots=True)
class Aside:
    """All that is put aside for a reset, and the one who is told of that. `host`: where the tools run."""

    promises: Promises
    units: Units
    host: Host
    remark: Callable[[Remarked], None]


class Resetter:
    """Resets one ring at a time as its caller decides; any thread."""

    def __init__(self, ears: Ears, settings: Nvml, aside: Aside, root: Path = Path("/")) -> None:
        self._ears = ears
        self._aside = aside
        self._tool = Tool(settings.tool, aside.host)
        self._divider = Tool(settings.mig_tool, aside.host, "nvml.mig_tool") if settings.mig_tool else None
        self._call_seconds = settings.call_timeout.total_seconds()
        self._reset_seconds = settings.reset_timeout.total_seconds()
        self._root = root
        self._transient: tuple[str, ...] = ()

    def last_look(self, ring: Mapping[ChipId, Known], faulty: Sequence[ChipId], codes: frozenset[str]) -> None:
        """Raise `ResetRefused` when a GPU is used or divided, or none of `faulty` has one of `codes`."""
        found: set[str | None] = set()
        for chip, known in ring.items():
            began, reading = time.monotonic(), self._reading(chip, ring)
            # Where the GPU does not say it, what is wrong with it is the reason for the reset, and no objection.
            users = tuple(process for process in self._named(reading.holders or ()) if not process.gone)
            # A process that is gone may be listed for good, or while another one has open what it had opened.
            if not users and (reading.holders is None or reading.holders):
                users = users_of(known.minor, self._root)
            if users:
                raise refusal(ring, say("driver.process-on-chip", process=in_words(users[0]), chip=chip))
            if chip in faulty:
                asked = Asked(reading.action, began, not reading.conditions)
                found.update(map(normal_code, (*reading.conditions, *self._ears.xids.codes(known.bus, asked))))
        divided = [chip for chip, known in ring.items() if self._is_divided(known)]
        if divided and self._divider is None:
            why = say("driver.divided-by-mig", chips=divided)
            hint = say("driver.set-mig-tool")
            raise refusal(ring, why, hint)
        if codes and not found.intersection(map(normal_code, codes)):
            raise refusal(ring, say("driver.reports-none", chips=faulty, codes=sorted(codes)))

    def _reading(self, chip: ChipId, ring: Mapping[ChipId, Known]) -> nvml_read.Reading:
        bus = ring[chip].bus
        question = partial(nvml_read.read, after_reset=False, ill=self._ears.xids.is_ill(bus))
        try:
            if self._ears.xids.hushed(bus):
                return self._ears.action(bus, self._call_seconds)
            return self._ears.session.judge(bus, self._call_seconds, question)
        except DriverError as error:
            why = say("driver.silent-on-both", chip=chip, why=error.message)
            raise refusal(ring, why) from error

    def _named(self, holders: Sequence[Holder]) -> tuple[Process, ...]:
        return tuple(process_of(holder, self._root / "proc") for holder in holders)

    def _is_divided(self, known: Known) -> bool:
        if self._ears.xids.hushed(known.bus):
            return bool(known.parts)
        try:
            return self._ears.session.ask(known.bus, self._call_seconds, Library.is_divided)
        except DriverError:
            return bool(known.parts)  # Its last good answer.

    def reset(self, ring: Mapping[ChipId, Known]) -> threading.Event | None:
        """Reset the GPUs. Return nothing when that is over, else what is set once it is.

        Raises `DriverError`; `ResetRefused` when somebody has one open. Until it is over none is asked anything.
        """
        buses = [known.bus for known in ring.values()]
        pending: threading.Event | None = None
        if self._ears.machine.lacks_manager(ring.values()):
            self._say(say("driver.manager-elsewhere", chips=list(ring)), buses, loud=True)
        self._aside.units.expect()
        try:
            with self._aside.promises.handed_on(self._reset_seconds) as lock:
                self._put_aside(ring, buses)
                ended = self._tool.reset(buses, self._reset_seconds, lock)
                if isinstance(ended, Ended) and ended.in_use and self._persistent(buses):
                    # The daemon that keeps it open lets go when the mode is turned off.
                    self._persist(buses, on=False)
                    ended = self._tool.reset(buses, self._reset_seconds, lock)
            if isinstance(ended, threading.Event):
                pending = ended
                return pending
            self._judge(ended, ring)
            return None
        finally:
            if pending is None:
                self.take_back(buses)

    def _put_aside(self, ring: Mapping[ChipId, Known], buses: Sequence[str]) -> None:
        """Have nobody keep the GPUs open whom cmgr can keep from it. Raises `ResetRefused`."""
        found = {known.bus: self._settings(known) for known in ring.values()}
        persistent = tuple(bus for bus, words in found.items() if PERSISTENT in words)
        settings = tuple(f"{bus} {word}" for bus, words in found.items() for word in words if word != PERSISTENT)
        try:
            self._aside.promises.make(Promised((), persistent, tuple(buses), settings))
        except DriverError as error:
            raise refusal(ring, say("driver.nothing-taken")) from error
        try:
            stopped = self._aside.units.stop()
        except CmgrError as error:
            raise refusal(ring, say("driver.unit-in-the-way")) from error
        if stopped:
            self._say(say("driver.units-stopped", names=stopped, chips=list(ring)), buses)
        try:
            self._ears.session.let_go(buses, self._call_seconds + LET_GO)
        except DriverError as error:
            raise refusal(ring, say("driver.cannot-let-go")) from error

    def _say(self, text: str, buses: Sequence[str], *, loud: bool = False) -> None:
        machine = self._ears.machine
        chips = {machine.at(bus) for bus in buses}
        ring: RingId | None = next((chip.ring for chip in machine.chips() if chip.id in chips), None)
        self._aside.remark(Remarked(text, ring, loud=loud))

    def divide(self, ring: Mapping[ChipId, Known]) -> None:
        """Have the parts of these GPUs made again. Raises `DriverError`."""
        what = say("driver.cannot-divide", chips=list(ring))
        if self._divider is None:
            raise DriverError(because(what, say("driver.no-mig-tool")))
        ended = self._divider.divide(sorted(known.bus for known in ring.values()), self._reset_seconds)
        if isinstance(ended, threading.Event):
            late = say("driver.not-ended", program="nvml.mig_tool", seconds=f"{self._reset_seconds:g}")
            raise DriverError(because(what, late))
        if ended.status != DONE:
            said = say("driver.ended", program="nvml.mig_tool", status=ended.status, words=ended.words)
            raise DriverError(because(what, said))

    def rescan(self) -> str:
        """Have the kernel look for GPUs that a reset has removed. Return why that cannot be, or nothing."""
        shell, seconds = Tool("/bin/sh", self._aside.host), self._reset_seconds
        try:
            with self._aside.promises.handed_on(seconds) as lock:
                return done(lambda: shell.rescan(self._root / RESCAN, seconds, lock), seconds)
        except DriverError as error:
            return error.message

    def expect(self) -> None:
        """A reset that was begun before is under way; `take_back` has to follow."""
        self._aside.units.expect()

    def take_back(self, buses: Sequence[str]) -> None:
        """Let these GPUs be asked again, be set as they were, and the units run. Does not raise."""
        self._ears.session.take_back(buses)
        for bus in buses:
            with suppress(DriverError):  # Whoever listens tries again.
                self._ears.session.hear(bus, self._call_seconds)
        persistent = self._persistent(buses)
        transient = self._persist(buses, on=True)
        back = () if transient else persistent
        self._aside.promises.keep(Promised(persistent=back, resetting=tuple(buses)))
        unset = set_again(self._tool, self._aside.promises, buses, self._reset_seconds)
        self._transient = (*filter(None, (transient,)), *unset.values())
        self._aside.units.start(lambda names: self._say(say("driver.units-started", names=names), buses))

    def trouble(self) -> tuple[str, ...]:
        """Return what was not given back."""
        return (*self._transient, *filter(None, (self._aside.promises.trouble,)), *self._aside.units.trouble())

    def _persistent(self, buses: Sequence[str]) -> tuple[str, ...]:
        return tuple(bus for bus in buses if bus in self._aside.promises.all.persistent)

    def _persist(self, buses: Sequence[str], *, on: bool) -> str:
        """Turn the mode on or off where it was on. Return what went wrong, and what to type."""
        asked = self._persistent(buses)
        if not asked:
            return ""
        why = done(lambda: self._tool.persist(asked, self._reset_seconds, on=on), self._reset_seconds)
        if not why:
            return ""
        typed = say("back.type", command=f"nvidia-smi -pm {int(on)} -i {','.join(asked)}")
        return say("word.hinted", what=because(say("driver.persistence-other", names=asked), why), hint=typed)

    def _settings(self, known: Known) -> tuple[str, ...]:
        if self._ears.xids.hushed(known.bus):
            return known.settings
        try:
            return self._ears.session.ask(known.bus, self._call_seconds, Library.settings)
        except DriverError:
            return known.settings

    def _judge(self, ended: Ended, ring: Mapping[ChipId, Known]) -> None:
        if ended.status == DONE:
            return
        if peers := self._ears.machine.learn_peers(ended.said, ring):
            why = say("driver.wants-more", program="nvidia-smi", chips=sorted(peers))
            raise refusal(ring, why, say("driver.one-ring-now"))
        said = say("driver.ended", program="nvidia-smi", status=ended.status, words=ended.words)
        if not ended.in_use:
            if ended.not_begun:
                raise refusal(ring, said, ended.not_begun)
            raise DriverError(because(say("driver.cannot-reset", chips=list(ring)), said))
        who, hint = who_holds((known.minor for known in ring.values()), self._root)
        raise refusal(ring, say("driver.held-open", who=who, said=said), hint)
