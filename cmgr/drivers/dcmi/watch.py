"""Hearing of faults from libdcmi: by subscription, and by asking, for what no event told; and noticing new chips.

Rules:
1. The library's callback copies a few numbers and tells them. It never raises and never waits.
2. Whatever could not be told as it was (a bug, an odd event, a gap before the subscription) becomes a `ReadNeeded`.
3. Events are hints: every chip is asked for its codes again and again, and read when they are others than before.
4. Never alive but deaf: without a subscription that is done more often, and the driver says so. One process subscribes
   once: when that was refused, or the library's thread has ended, only another process can hear of faults.
"""

import ctypes
import threading
import time
from collections.abc import Callable, Set
from pathlib import Path
from typing import Any

from cmgr.drivers.caller import Caller
from cmgr.drivers.dcmi.library import abi
from cmgr.drivers.dcmi.library import read as dcmi_read
from cmgr.drivers.dcmi.library.calls import Library, Refused
from cmgr.drivers.dcmi.machine import STRANGER, Machine, owner_of
from cmgr.drivers.looks import APART, Looks, Silence
from cmgr.errors import DriverError
from cmgr.frozen import dataclass
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion
from cmgr.model.values.messages.facts import ChipsListed, FaultReported, ReadNeeded
from cmgr.ports import DriverFact
from cmgr.sentences.sentence import because, say

TELLER = "fault_event_sub"
"""The name of the library's thread that calls back (the maker's driver of 2026-07)."""

MOST_STRANGERS = 64

SELDOM = 600.0
"""The longest time, in seconds, between two questions to a chip that is away."""

_ASSERTIONS = {abi.CLEARED: Assertion.CLEARED, abi.OCCURRED: Assertion.OCCURRED, abi.ONCE: Assertion.ONCE}

_kept = threading.local()


@dataclass(frozen=True, slots=True)
class Pace:
    """In seconds: one call; between sweeps over all chips, when the driver tells of no faults (`poll`) and when it
    does; between looks for new chips."""

    call: float
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
        self._unsupported = False
        self._deaf = ""
        self._before: Set[str] = set()
        self._tellers: Set[str] = set()
        self._serial = 0
        self._listless = ""
        self._sweep_at = self._read_at = 0.0
        self._looks = Looks(pace.relist)
        self._swept: dict[ChipId, frozenset[str] | Silence] = {}
        self._away: dict[ChipId, tuple[float, float]] = {}
        self._strangers: set[int] = set()
        self._unread = False
        self._reading = threading.Lock()
        self._read: dict[ChipId, int] = {}
        self._made_good = 0
        self.lost = 0

    def start(self, tell: Callable[[DriverFact], None]) -> None:
        """Subscribe, and keep at it on a thread. Raises `DriverError` the second time."""
        if self._thread is not None or self._closed:
            raise DriverError(say("driver.watched-already"))
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
        if stale := self.stale():
            told.append(because(stale, say("driver.polled", seconds=f"{self._pace.poll:g}")))
        if self._listless:
            told.append(say("driver.cannot-list", why=self._listless))
        if missed := self.lost - self._made_good:
            told.append(say("driver.events-missed", events=missed))
        return tuple(told)

    def stale(self) -> str:
        """Return why only another process could be told of faults; nothing while this one is, or none could."""
        return say("driver.tells-no-faults", why=self._deaf) if self._deaf and not self._unsupported else ""

    def has_read(self, chip: ChipId, lost: int) -> None:
        """A chip has told all its faults when it was asked, and so many events had been `lost` when that began."""
        if lost <= self._made_good:
            return
        with self._reading:
            self._read[chip] = max(lost, self._read.get(chip, 0))
            # Events that were made good once stay so, also when a chip comes that has not been read yet.
            read = (self._read.get(each.id, 0) for each in self._machine.chips())
            self._made_good = max(self._made_good, min(read, default=0))

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
        return max(0.01, (min(due, self._read_at) if self._unread else due) - now)

    def _step(self, now: float) -> None:
        if now >= self._sweep_at:
            self._listen_for_teller()
            self._sweep()
            self._sweep_at = time.monotonic() + self._apart()
        if now >= self._looks.at:
            self._looks.begin(time.monotonic())
            self._relist()
        if self._unread and now >= self._read_at:
            # In a storm each event may be the first after a gap.
            self._unread, self._read_at = False, now + APART
            self._read_all()

    def _apart(self) -> float:
        """Return the seconds between two sweeps."""
        return self._pace.sweep if self._subscribed else min(self._pace.poll, self._pace.sweep)

    def _subscribe(self) -> None:
        """Subscribe, the one time that the library allows. A call that was given up counts when it comes back."""

        def subscribe() -> None:
            try:
                self._library.subscribe(self._on_event)
            except Refused as refused:
                self._unsupported = refused.unsupported
                self._is_deaf(refused.message)
            else:
                self._hears()

        self._before = _tellers()
        try:
            self._caller.call("subscribing", self._pace.call, subscribe)
        except DriverError as error:
            if not self._subscribed:
                self._is_deaf(error.message)

    def _hears(self) -> None:
        """The library calls back. Nobody was told of what came between the last read-out and now."""
        self._subscribed, self._deaf = True, ""
        self._read_soon()

    def _is_deaf(self, why: str) -> None:
        self._subscribed, self._deaf = False, why
        self._sweep_at = min(self._sweep_at, time.monotonic() + self._apart())
        self._nudged.set()

    def _listen_for_teller(self) -> None:
        """Note when the library's thread has ended: nobody says so. Where it has another name, nobody can tell."""
        if self._subscribed:
            alive = _tellers()
            self._tellers = self._tellers or alive - self._before
            if self._tellers and self._tellers.isdisjoint(alive):
                self._is_deaf(say("driver.thread-ended"))

    def _read_all(self) -> None:
        for chip in self._machine.one_of_each_ring():
            self._say(ReadNeeded(chip))

    def _sweep(self) -> None:
        asleep = self._asleep()
        for chip in self._machine.chips():
            if self._closed:
                return
            if chip.id in asleep:
                self._away.pop(chip.id, None)
            elif not self._rests(chip.id):
                self._sweep_one(chip.id)

    def _sweep_one(self, chip: ChipId) -> None:
        found = self._ask(chip)
        if isinstance(found, Silence) or abi.CARD_DROPPED in found:
            # The library writes lines into the maker's log each time, which would push out all else in a day.
            now = time.monotonic()
            since, _ = self._away.get(chip, (now, now))
            self._away[chip] = since, now + min(SELDOM, (now - since) / 8)
        else:
            self._away.pop(chip, None)
        if found != self._swept.get(chip, frozenset()):
            self._swept[chip] = found
            self._say(ReadNeeded(chip))

    def _rests(self, chip: ChipId) -> bool:
        """Return whether the chip is away, and has been asked lately for how long it is."""
        return time.monotonic() < self._away.get(chip, (0.0, 0.0))[1]

    def _ask(self, chip: ChipId) -> frozenset[str] | Silence:
        known = self._machine.find(chip)
        if known is None:
            return frozenset()
        place = known.location
        try:
            return frozenset(
                self._caller.call(owner_of(place), self._pace.call, lambda: dcmi_read.hints(self._library, place))
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
            _keep_thread()
            if not self._subscribed:
                self._hears()
            self._take(pointer.contents)
        except BaseException:
            self.lost += 1
            self._read_soon()

    def _take(self, event: abi.Event) -> None:
        dms = event.u.dms
        self._count(dms.notify_serial_num)
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

    def _count(self, serial: int) -> None:
        """Have everything read after a gap: the kernel overwrites the oldest event that was not fetched, in silence."""
        missed = serial - self._serial - 1
        if self._serial and missed > 0:
            self._read_soon()
        self._serial = serial

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


def _keep_thread() -> None:
    """Keep what Python needs to know of the library's thread: ctypes makes it for each call, and throws it away."""
    if not hasattr(_kept, "thread"):
        # One reference more than ctypes takes. The documentation of CPython asks for a release each: this one is never
        # released, so that a thread that ended leaves its few hundred bytes, and a process subscribes once.
        _kept.thread = ctypes.pythonapi.PyGILState_Ensure()


def _tellers() -> Set[str]:
    """Return the ids of this process's threads that have the name of the library's."""
    return {task.name for task in Path("/proc/self/task").glob("*") if _read(task / "comm") == TELLER}


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""  # It has ended.


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
