"""Hearing of faults from libdcmi: by subscription, and by asking, for what no event told; and noticing new chips.

Rules:
1. The library's callback copies a few numbers and tells them. It never raises and never waits.
2. Whatever could not be told as it was (a bug, an odd event, a gap before the subscription) becomes a `ReadNeeded`.
3. Events are hints: every chip is asked for its codes again and again, and read when they are others than before.
4. Never alive but deaf: without a subscription that is done more often, the driver says so, and subscribing goes on.
"""

import ctypes
import threading
import time
from collections.abc import Callable, Set
from typing import Any

from cmgr.drivers.caller import Caller
from cmgr.drivers.dcmi.library import abi
from cmgr.drivers.dcmi.library import read as dcmi_read
from cmgr.drivers.dcmi.library.calls import Library
from cmgr.drivers.dcmi.machine import STRANGER, Machine, owner_of
from cmgr.drivers.looks import Looks, Silence
from cmgr.errors import CmgrError, DriverError, chain
from cmgr.frozen import dataclass
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion
from cmgr.model.values.messages.facts import ChipsListed, FaultReported, ReadNeeded
from cmgr.ports import DriverFact
from cmgr.words import counted

TRIES = 3
RETRY_MOST = 300.0
"""Seconds between tries to subscribe, once there were many."""

MOST_STRANGERS = 64

_ASSERTIONS = {abi.CLEARED: Assertion.CLEARED, abi.OCCURRED: Assertion.OCCURRED, abi.ONCE: Assertion.ONCE}


@dataclass(frozen=True, slots=True)
class Pace:
    """In seconds: one call; between tries to subscribe; between sweeps over all chips, when the driver tells of no
    faults (`poll`) and when it does; between looks for new chips."""

    call: float
    retry: float
    poll: float
    sweep: float
    relist: float


class Watch:
    """From `start` to `close`. `asleep` says which chips are in a reset: they are asked nothing."""

    def __init__(
        self, library: Library, caller: Caller, machine: Machine, pace: Pace, asleep: Callable[[], Set[ChipId]]
    ) -> None:
        self._library = library
        self._caller = caller
        self._machine = machine
        self._pace = pace
        self._asleep = asleep
        self._tell: Callable[[DriverFact], None] = lambda _: None
        self._nudged = threading.Event()
        self._closed = False
        self._thread: threading.Thread | None = None
        self._subscribed = False
        self._refusal = ""
        self._listless = ""
        self._tries = 0
        self._retry_at = self._sweep_at = 0.0
        self._looks = Looks(pace.relist)
        self._swept: dict[ChipId, frozenset[str] | Silence] = {}
        self._strangers: set[int] = set()
        self._unread = False
        self._reading = threading.Lock()
        self._read: dict[ChipId, int] = {}
        self._made_good = 0
        self.lost = 0

    def start(self, tell: Callable[[DriverFact], None]) -> None:
        """Subscribe, or begin to try; then keep at it on a thread. Raises `DriverError` the second time."""
        if self._thread is not None or self._closed:
            raise DriverError("cannot watch the chips: they are watched already, or closed")
        self._tell = tell
        now = time.monotonic()
        self._looks.start(now)
        self._sweep_at = now + self._pace.sweep
        self._subscribe()
        self._thread = threading.Thread(target=self._run, name="dcmi-watch", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._closed = True
        self._nudged.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(timeout=1)

    def trouble(self) -> tuple[str, ...]:
        """Return why faults are not told as they should be."""
        told = []
        if self._refusal and not self._subscribed:
            every = f"chips are polled every {self._pace.poll:g} s instead, and faults that come and go are missed"
            told.append(f"the driver tells of no faults ({self._refusal}): {every}")
        if self._listless:
            told.append(f"the chips cannot be listed, so new ones are not noticed: {self._listless}")
        if missed := self.lost - self._made_good:
            told.append(
                f"{counted(missed, 'fault event')} could not be taken in, and not every chip has been read since"
            )
        return tuple(told)

    def has_read(self, chip: ChipId, lost: int) -> None:
        """A chip has told all its faults when it was asked, and so many events had been `lost` when that began."""
        if lost <= self._made_good:
            return
        with self._reading:
            self._read[chip] = max(lost, self._read.get(chip, 0))
            here = (c.id for c in self._machine.chips() if (known := self._machine.find(c.id)) and known.here)
            # A subscription that was made good once stays so, also when a chip comes that has not been read yet.
            self._made_good = max(self._made_good, min((self._read.get(c, 0) for c in here), default=0))

    def could_not_read(self, chip: ChipId) -> None:
        """A read-out failed: what a sweep saw there is news as long as nobody has read it."""
        if not isinstance(self._swept.get(chip), Silence):
            self._swept.pop(chip, None)

    def look_soon(self) -> None:
        """Look for new chips at the next opportunity: somebody asked for one that nobody knows."""
        self._looks.soon()
        self._nudged.set()

    def _run(self) -> None:
        while not self._closed:
            try:
                self._step(time.monotonic())
            except Exception:
                # The last thing that hears of faults must not end; what it missed is read.
                self.lost += 1
                self._unread = True
            self._nudged.wait(self._wait(time.monotonic()))
            self._nudged.clear()

    def _wait(self, now: float) -> float:
        due = min(self._looks.at, self._sweep_at)
        return max(0.01, (due if self._subscribed else min(due, self._retry_at)) - now)

    def _step(self, now: float) -> None:
        if not self._subscribed and now >= self._retry_at:
            self._subscribe()
        if now >= self._sweep_at:
            self._sweep()
            self._sweep_at = time.monotonic() + self._apart()
        if now >= self._looks.at:
            self._looks.begin(time.monotonic())
            self._relist()
        if self._unread:
            self._unread = False
            self._read_all()

    def _apart(self) -> float:
        """Return the seconds between two sweeps."""
        deaf = not self._subscribed and self._tries >= TRIES
        return min(self._pace.poll, self._pace.sweep) if deaf else self._pace.sweep

    def _subscribe(self) -> None:
        try:
            self._caller.call("subscribing", self._pace.call, lambda: self._library.subscribe(self._on_event))
        except CmgrError as error:
            self._tries += 1
            self._refusal = chain(error)
            late = max(0, self._tries - TRIES)
            now = time.monotonic()
            self._retry_at = now + min(RETRY_MOST, self._pace.retry * 2**late)
            self._sweep_at = min(self._sweep_at, now + self._apart())
        else:
            self._subscribed = True
            # Nobody was told of what came between the last read-out and now.
            self._unread = True
            self._nudged.set()

    def _read_all(self) -> None:
        for chip in self._machine.one_of_each_ring():
            self._say(ReadNeeded(chip))

    def _sweep(self) -> None:
        asleep = self._asleep()
        for chip in self._machine.chips():
            if self._closed:
                return
            if chip.id in asleep:
                continue
            found = self._ask(chip.id)
            if found != self._swept.get(chip.id, frozenset()):
                self._swept[chip.id] = found
                self._say(ReadNeeded(chip.id))

    def _ask(self, chip: ChipId) -> frozenset[str] | Silence:
        known = self._machine.find(chip)
        if known is None or not known.here:
            return frozenset()
        place = known.location
        try:
            return frozenset(
                self._caller.call(owner_of(place), self._pace.call, lambda: dcmi_read.codes(self._library, place))
            )
        except DriverError as error:
            # The same silence is no news; a new one is: the card may have dropped.
            return Silence(error.message)

    def _relist(self) -> None:
        known = self._machine.chips()
        try:
            now = self._machine.look()
        except DriverError as error:
            self._listless = error.message
            return
        self._listless = ""
        if {c.id for c in now} != {c.id for c in known}:
            self._say(ChipsListed(now))

    def _on_event(self, pointer: Any) -> None:
        """Called by the library, on its own thread. Total."""
        if self._closed:
            return
        try:
            self._take(pointer.contents)
        except BaseException:
            self.lost += 1
            self._read_soon()

    def _take(self, event: abi.Event) -> None:
        dms = event.u.dms
        chip = self._machine.physical(dms.deviceid)
        assertion = _ASSERTIONS.get(dms.assertion)
        if event.type != abi.FAULT_EVENT or assertion is None:
            self._read_soon()
            return
        if not dms.event_id:
            return
        if chip is None:
            chip = self._stranger(dms.deviceid)
            if chip is None:
                return
        code = f"{dms.event_id:08X}"
        module = _module(dms)
        self._tell(FaultReported(chip, code, assertion, module, dms.severity))

    def _stranger(self, logical: int) -> ChipId | None:
        """Return a number that is no chip's, and look for new chips; None when there were many such already."""
        if logical not in self._strangers and len(self._strangers) >= MOST_STRANGERS:
            return None
        if logical not in self._strangers:
            self._strangers.add(logical)
            self.look_soon()
        return ChipId(STRANGER + logical)

    def _read_soon(self) -> None:
        self._unread = True
        self._nudged.set()

    def _say(self, fact: DriverFact) -> None:
        if not self._closed:
            self._tell(fact)


def _module(dms: abi.FaultEvent) -> str:
    """Return the type and the number of the part that has the fault, and of the part in that."""
    types = (_type(dms.node_type, dms.node_type_ex), _type(dms.sub_node_type, dms.sub_node_type_ex))
    numbers = (_signed(dms.node_id), _signed(dms.sub_node_id))
    return ".".join(str(part) for pair in zip(types, numbers, strict=True) for part in pair)


def _type(cut: int, whole: int) -> int:
    """Return the type of a part: `cut` to eight bits, or `whole`, which older drivers do not tell."""
    return whole if 0xFF < whole <= abi.MOST_NODE_TYPE and whole & 0xFF == cut else _signed(cut)


def _signed(byte: int) -> int:
    """Return the number as the vendor's own programs show it: 255 is -1, "none"."""
    return ctypes.c_int8(byte).value
