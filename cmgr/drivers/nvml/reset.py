"""Resetting NVIDIA GPUs: the last look before, letting go of them, and nvidia-smi."""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from cmgr.drivers.nvml import read as nvml_read
from cmgr.drivers.nvml.machine import Known
from cmgr.drivers.nvml.settings import Nvml
from cmgr.drivers.nvml.tool import DONE, Ended, Tool
from cmgr.drivers.nvml.watch import Ears
from cmgr.drivers.processes import Holder, in_words, process_of
from cmgr.errors import DriverError, ResetRefused
from cmgr.model.values.catalog import normal_code
from cmgr.model.values.chips import ChipId, Process, listed

T = TypeVar("T")

LET_GO = 1.0
"""Seconds, beyond those of a call, in which everybody comes out of the library."""


def holders_of(minor: int, proc: Path = Path("/proc")) -> tuple[Process, ...]:
    """Return the processes that have this GPU's device file open, also those that NVML does not list."""
    found = []
    for descriptors in proc.glob("[0-9]*/fd"):
        try:
            names = [file.readlink().as_posix() for file in descriptors.iterdir()]
        except OSError:
            continue  # It has ended, or is nobody's business.
        if f"/dev/nvidia{minor}" in names:
            found.append(process_of(Holder(int(descriptors.parent.name), 0), proc))
    return tuple(found)


class Resetter:
    """Resets one ring at a time as its caller decides; any thread."""

    def __init__(self, ears: Ears, settings: Nvml, proc: Path = Path("/proc")) -> None:
        self._ears = ears
        self._tool = Tool(settings.tool)
        self._divider = Tool(settings.mig_tool, "nvml.mig_tool") if settings.mig_tool else None
        self._divided: set[str] = set()
        self._call_seconds = settings.call_timeout.total_seconds()
        self._reset_seconds = settings.reset_timeout.total_seconds()
        self._proc = proc
        self._persistent: set[str] = set()

    def last_look(self, ring: Mapping[ChipId, Known], faulty: Sequence[ChipId], codes: frozenset[str]) -> None:
        """Raise `ResetRefused` when a GPU is used, or none of `faulty` has one of `codes`; `DriverError` with MIG."""
        for chip, known in ring.items():
            objection = self._used(chip, known)
            if objection:
                raise ResetRefused(f"cannot reset {listed(ring)}: {objection}")
        divided = [chip for chip, known in ring.items() if self._ask(known, self._ears.library.is_divided)]
        if divided and self._divider is None:
            why = f"{listed(divided)} is divided by MIG, and a reset would destroy the parts"
            hint = "set nvml.mig_tool to a program that makes them again, or reset it and make them by hand"
            raise DriverError(f"cannot reset {listed(ring)}: {why}", hint=hint)
        self._divided.update(ring[chip].bus for chip in divided)
        wanted = {normal_code(code) for code in codes}
        if codes and not any(wanted & self._codes(chip, ring) for chip in faulty if chip in ring):
            reported = ", ".join(sorted(codes))
            raise ResetRefused(f"cannot reset {listed(ring)}: {listed(faulty)} reports none of {reported} any more")

    def _used(self, chip: ChipId, known: Known) -> str:
        try:
            holders = self._ask(known, self._ears.library.holders)
        except DriverError as error:
            return f"chip {chip} does not answer the question who uses it: {error.message}"
        return "" if not holders else f"{in_words(process_of(holders[0], self._proc))} is on chip {chip}"

    def _codes(self, chip: ChipId, ring: Mapping[ChipId, Known]) -> set[str | None]:
        ears, bus = self._ears, ring[chip].bus

        def ask() -> nvml_read.Reading:
            with ears.session.inside():
                return nvml_read.conditions(ears.library, lambda: ears.session.handle(bus))

        try:
            found = ears.caller.call(bus, self._call_seconds, ask)
        except DriverError as error:
            why = f"chip {chip} does not answer the question what is wrong with it: {error.message}"
            raise ResetRefused(f"cannot reset {listed(ring)}: {why}") from error
        return {normal_code(code) for code in (*found.conditions, *ears.xids.codes(chip, found.action))}

    def _ask(self, known: Known, question: Callable[..., T]) -> T:
        ears = self._ears

        def ask() -> T:
            with ears.session.inside():
                return question(ears.session.handle(known.bus))

        return ears.caller.call(known.bus, self._call_seconds, ask)

    def reset(self, ring: Mapping[ChipId, Known]) -> threading.Event | None:
        """Reset the GPUs. Return nothing when that is over, else what is set once it is.

        Raises `DriverError`; `ResetRefused` when somebody has one open. Until it is over none is asked anything.
        """
        buses = [known.bus for known in ring.values()]
        self._persistent.update(known.bus for known in ring.values() if self._is_persistent(known))
        seconds, session = self._call_seconds + LET_GO, self._ears.session
        try:
            self._ears.caller.call("the library", 2 * seconds, lambda: session.let_go(buses, seconds))
        except DriverError as error:
            raise ResetRefused(f"cannot reset {listed(ring)}: cmgr itself cannot let go of it") from error
        pending: threading.Event | None = None
        try:
            ended = self._tool.reset(buses, self._reset_seconds)
            if isinstance(ended, Ended) and ended.in_use and self._persistent.intersection(buses):
                # The daemon that keeps it open lets go when the mode is turned off.
                self._persist(buses, on=False)
                ended = self._tool.reset(buses, self._reset_seconds)
            if isinstance(ended, threading.Event):
                pending = ended
                return pending
            self._judge(ended, ring)
            return None
        finally:
            if pending is None:
                self.take_back(buses)

    def divide(self, ring: Mapping[ChipId, Known]) -> None:
        """Have the parts made again that the reset of these GPUs has destroyed. Raises `DriverError`."""
        buses = sorted(self._divided.intersection(known.bus for known in ring.values()))
        if not buses or self._divider is None:
            return
        ended = self._divider.run(buses, self._reset_seconds)
        if isinstance(ended, threading.Event):
            how = f"nvml.mig_tool has not ended within {self._reset_seconds:g} s"
        else:
            how = f"nvml.mig_tool ended with {ended.status}: {ended.first_line}" if ended.status != DONE else ""
        if how:
            raise DriverError(f"cannot make the parts of {listed(ring)} again, which were reset: {how}")
        self._divided.difference_update(buses)

    def take_back(self, buses: Sequence[str]) -> None:
        """Let these GPUs be asked again, and be as persistent as they were. Does not raise."""
        self._ears.session.take_back(buses)
        self._persist(buses, on=True)
        self._persistent.difference_update(buses)

    def _persist(self, buses: Sequence[str], *, on: bool) -> None:
        asked = [bus for bus in buses if bus in self._persistent]
        with suppress(DriverError):  # Of the program itself the reset has told.
            if asked:
                self._tool.persist(asked, self._reset_seconds, on=on)

    def _is_persistent(self, known: Known) -> bool:
        try:
            return self._ask(known, self._ears.library.is_persistent)
        except DriverError:
            return False

    def _judge(self, ended: Ended, ring: Mapping[ChipId, Known]) -> None:
        if ended.status == DONE:
            return
        if not ended.in_use:
            said = f"nvidia-smi ended with {ended.status}: {ended.first_line}"
            raise DriverError(f"cannot reset {listed(ring)}: {said}")
        open_by = {p.pid: p for known in ring.values() for p in holders_of(known.minor, self._proc)}
        who = ", ".join(in_words(open_by[pid]) for pid in sorted(open_by)) or "somebody whom cmgr cannot see"
        raise ResetRefused(f"cannot reset {listed(ring)}: it is held open by {who}")
