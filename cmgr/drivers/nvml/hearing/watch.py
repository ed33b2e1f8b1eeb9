"""Hearing of faults: from NVML's events, from the kernel's log, and by asking, for whatever neither told.

Rules:
1. One thread waits for events, one reads the log, one asks. The first two only note and tell; asking is the third's.
2. The same Xid of a GPU within a few seconds is one, of the same process if it passes: both sources tell it.
3. An event that something of a GPU changed has the GPU asked, and the difference is told.
4. Each GPU's events come from the process that asks it. Where that ends, or hears nothing any more, the GPU is listened
   to anew and then read: nobody was told of what came meanwhile.
5. Never alive but deaf: without events the driver says so, and goes on trying.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import partial

from cmgr.drivers.looks import Looks, Silence
from cmgr.drivers.nvml import codes
from cmgr.drivers.nvml import read as nvml_read
from cmgr.drivers.nvml.hearing import kernel_log
from cmgr.drivers.nvml.hearing.culprits import Culprits
from cmgr.drivers.nvml.hearing.heard import Heard
from cmgr.drivers.nvml.hearing.nvlink5 import Decision
from cmgr.drivers.nvml.hearing.reboots import SETTLE as TOGETHER
from cmgr.drivers.nvml.hearing.reboots import Reboots
from cmgr.drivers.nvml.hearing.switches import Switches
from cmgr.drivers.nvml.hearing.xids import BY_WORDS, Xids
from cmgr.drivers.nvml.library import abi, worker
from cmgr.drivers.nvml.library.calls import Event, Refused
from cmgr.drivers.nvml.library.session import Ended, InReset, Opening, Session
from cmgr.drivers.nvml.machine import Machine, renumbered
from cmgr.errors import DriverError
from cmgr.frozen import dataclass, replace
from cmgr.model.values.chips import Chip, ChipId
from cmgr.model.values.faults import Assertion, Severity
from cmgr.model.values.messages.facts import ChipsListed, FaultReported, ReadNeeded, Remarked
from cmgr.ports import DriverFact
from cmgr.sentences.sentence import because, chained, parts, say

WANTED = (
    abi.XID
    | abi.DOUBLE_BIT_ECC
    | abi.MIG_CHANGED
    | abi.DRAM_RETIRED
    | abi.DRAM_RETIREMENT_FAILED
    | abi.POISON
    | abi.FATAL_POISON
    | abi.UNAVAILABLE
    | abi.RECOVERY_ACTION
)

MODULE = "GPU"
RETRY_MOST = 30.0

IDLE = 60.0
"""Seconds of one wait for events. The end of the driver cuts it short."""

_CONDITIONS = partial(worker.ask, nvml_read.told)
_ACTION = partial(worker.ask_if_open, nvml_read.told_of_action)

NOT_BEGUN = -1
"""The number among Xids of the news that the driver could not begin with a GPU."""


@dataclass(frozen=True, slots=True)
class Pace:
    """In seconds: one call; before events are listened for again when that failed; in which the same Xid is one;
    between sweeps over all GPUs; between looks for new GPUs."""

    call: float
    retry: float
    same: float
    sweep: float
    relist: float


@dataclass(frozen=True, slots=True)
class Ears:
    """Everything that faults are heard by. `mismatch` as `Reboots` has it."""

    session: Session
    machine: Machine
    xids: Xids
    log: kernel_log.XidLog | None
    culprits: Culprits
    mismatch: Callable[[], str]

    def action(self, bus: str, seconds: float) -> nvml_read.Reading:
        """Return all that a GPU is asked which may hang: the action that its driver wants. Raises `DriverError`."""
        return self.session.ask_if_open(bus, seconds, nvml_read.action) or nvml_read.Reading()

    def lets_go(self, chip: ChipId) -> bool:
        """Return whether no call about the GPU and its ring is under way, which perhaps does not come back."""
        ring = next((each.ring for each in self.machine.chips() if each.id == chip), None)
        return not any(self.session.is_busy(each.bus) for each in self.machine.chips() if each.ring == ring)


@dataclass(frozen=True, slots=True)
class _Deaf:
    """`why` a GPU's events are not heard, or nothing once they are; when that is tried again, and after which pause.

    `lost`: a lost GPU tells none, which is no fault of the library's.
    """

    why: str
    at: float
    pause: float
    lost: bool


class Watch:
    """From `start` to `close`. `asleep` says which GPUs are in a reset: they are asked nothing."""

    def __init__(self, ears: Ears, pace: Pace, asleep: Callable[[], Set[ChipId]]) -> None:
        self._ears = ears
        self._pace = pace
        self._asleep = asleep
        self._tell: Callable[[DriverFact], None] = lambda _: None
        self._nudged = threading.Event()
        self._stopped = threading.Event()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._asked: set[ChipId] = set()
        self._later: list[tuple[float, ChipId]] = []
        self._heard = Heard(pace.same)
        self._reboots = Reboots(self.say, ears.machine.buses, ears.mismatch)
        self.look_at_machine = self._reboots.tell_changed
        self._swept: dict[ChipId, frozenset[str] | Silence] = {}
        self._switches = Switches()
        self._sweep_at = 0.0
        self._looks = Looks(pace.relist)
        self._deaf: dict[ChipId, _Deaf] = {}
        self._listless = ""
        self._stumble = ""

    def start(self, tell: Callable[[DriverFact], None]) -> None:
        """Listen, on threads of its own. Raises `DriverError` the second time."""
        if self._threads or self._stopped.is_set():
            raise DriverError(say("driver.watched-already"))
        self._tell = tell
        now = time.monotonic()
        self._looks.start(now)
        self._sweep_at = now + self._pace.sweep
        self._listen_to_all()  # From now on nothing is missed; where it fails the thread goes on trying.
        self._recall()
        runs = {"nvml-watch": self._ask, "nvml-events": self._listen}
        if self._ears.log is not None:
            runs["nvml-log"] = self._read_log
        for name, run in runs.items():
            self._threads.append(threading.Thread(target=run, name=name, daemon=True))
            self._threads[-1].start()

    def close(self) -> None:
        self._stopped.set()
        self._nudged.set()
        self._ears.session.nudge()
        if self._ears.log is not None:
            self._ears.log.close()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(timeout=1)

    def trouble(self) -> tuple[str, ...]:
        """Return why faults are not told as they should be."""
        told = []
        with self._lock:
            deaf = {deaf.why for deaf in self._deaf.values() if deaf.why and not deaf.lost}
        if deaf:
            told.append(say("driver.gpus-tell-nothing", why=parts(sorted(deaf)), seconds=f"{self._pace.sweep:g}"))
        if self._stumble:
            told.append(say("driver.gpus-not-asked", why=self._stumble))
        if self._listless:
            told.append(say("driver.new-gpus-unseen", why=self._listless))
        return tuple(told)

    # Events of the library, on a thread of their own.

    def _listen(self) -> None:
        while not self._stopped.is_set():
            try:
                for bus, told in self._ears.session.events(self._ears.culprits.left(IDLE)):
                    chip = self._ears.machine.at(bus)
                    if chip is not None:
                        self._take(chip, bus, told)
                for chip, xid in self._ears.culprits.due():
                    self._hear(chip, xid)
                self._nudged.set()
            except Exception as error:
                # The last thing that hears of faults must not end; what it misses is found by asking.
                self._stumble = chained(error)
                self._stopped.wait(self._pace.retry)

    def _take(self, chip: ChipId, bus: str, told: Event | DriverError) -> None:
        if isinstance(told, DriverError):
            if not (isinstance(told, Ended) or _is_lost(told)):
                self._ears.session.begin_anew(bus)
            self._is_deaf(chip, told)
            self._ask_soon((chip,))
        elif told.type == abi.XID:
            self._hear_event(chip, kernel_log.Xid(bus, told.data, part=told.instance))
        elif told.type == abi.MIG_CHANGED:
            self.look_soon()
        else:
            self._ask_soon((chip,))

    def _is_deaf(self, chip: ChipId, error: DriverError) -> None:
        now, retry = time.monotonic(), self._pace.retry
        with self._lock:
            before = self._deaf.get(chip)
            again = before is not None and now < before.at + RETRY_MOST
            pause = min(RETRY_MOST, 2 * before.pause) if again and before is not None else retry
            self._deaf[chip] = _Deaf(chained(error), now + pause, pause, _is_lost(error))

    def _listen_to_all(self) -> None:
        """Listen to each GPU that is not heard and may be now."""
        asleep, now = self._asleep(), time.monotonic()
        for chip in self._ears.machine.chips():
            deaf = self._deaf.get(chip.id)
            hushed = self._ears.xids.hushed(chip.bus)
            if not hushed and chip.id not in asleep and not (deaf and deaf.why and now < deaf.at):
                self._listen_to(chip.id)

    def _listen_to(self, chip: ChipId) -> None:
        known = self._ears.machine.here(chip)
        if known is None:
            return
        try:
            fresh = self._ears.session.hear(known.bus, self._pace.call)
        except InReset:
            return
        except Opening as error:
            with self._lock:  # No failure: it is heard as soon as it is open.
                self._deaf[chip] = _Deaf(chained(error), time.monotonic() + self._pace.retry, self._pace.retry, False)
            return
        except DriverError as error:
            self._is_deaf(chip, error)
            return
        with self._lock:
            deaf = self._deaf.get(chip)
            if deaf is not None and deaf.why:
                self._deaf[chip] = replace(deaf, why="")
            if fresh:
                self._later.append((0.0, chip))  # Nobody was told of what came before.
                self._nudged.set()

    # The kernel's log.

    def _recall(self) -> None:
        """Learn from the log what still counts of the time before."""
        ears, last = self._ears, 0
        for last, line in ears.log.so_far() if ears.log is not None else ():
            self._take_line(last, line, fresh=False)
        ears.xids.begin(last)
        for chip in ears.machine.chips():
            if ears.xids.is_ill(self._bus(chip.id)):
                self.say(ReadNeeded(chip.id))

    def _bus(self, chip: ChipId) -> str:
        known = self._ears.machine.find(chip)
        return "" if known is None else known.bus

    def _read_log(self) -> None:
        assert self._ears.log is not None
        for number, line in self._ears.log.lines():
            self._take_line(number, line, fresh=True)
            self._ears.xids.heard(number)

    def _take_line(self, number: int, line: kernel_log.Line, *, fresh: bool) -> None:
        match line:
            case kernel_log.SwitchXid():
                self.say(self._switches.heard(line))
            case kernel_log.Loaded():
                self._ears.xids.loaded(number)
                self._reboots.memory(failed=False)
            case kernel_log.MemoryFailed():
                self._reboots.memory(failed=True)
            case _ if (chip := self._ears.machine.at(line.bus)) is not None:
                self._take_line_of(chip, number, line, fresh=fresh)
            case kernel_log.NotProbed():
                self._reboots.not_probed(line.bus)

    def _take_line_of(self, chip: ChipId, number: int, line: kernel_log.OfGpu, *, fresh: bool) -> None:
        match line:
            case kernel_log.Xid():
                for xid in self._ears.xids.meant(line.number, line.asks):
                    if fresh:
                        self._ears.culprits.has_line(chip, xid)
                        self._hear(chip, replace(line, number=xid))
                    elif self._ears.xids.lasts(xid) and self._decision(chip, line) is not Decision.IGNORE:
                        self._ears.xids.recall(line.bus, xid, number)
            case kernel_log.NotProbed() if fresh:
                self._hear(chip, kernel_log.Xid(line.bus, kernel_log.LOST))
            case kernel_log.NotBegun() if fresh and chip not in self._asleep() and self._heard.is_news(chip, NOT_BEGUN):
                # The driver says so each time that anybody opens it, whoever reads it here as well.
                self.say(FaultReported(chip, codes.NOT_BEGUN, Assertion.OCCURRED, MODULE, Severity.major))
                self.say(ReadNeeded(chip))
            case kernel_log.TakenOut() if fresh:
                # The kernel waits for whoever has it open, and with it whoever plugs anything in.
                self._ears.session.begin_anew(line.bus)
                self.look_soon()

    def cured(self, chips: Iterable[ChipId]) -> None:
        """These were reset: what was heard of them is over, and the same Xid is another one."""
        gone = frozenset(chips)
        self._ears.xids.cured(map(self._bus, gone))
        self._heard.forget(gone)

    def _read_after(self, chip: ChipId, seconds: float) -> None:
        with self._lock:
            self._later.append((time.monotonic() + seconds, chip))
        self._nudged.set()

    def _hear_event(self, chip: ChipId, xid: kernel_log.Xid) -> None:
        number, waits = xid.number, self._ears.xids.waits_for_line(xid.number)
        if self._ears.log is None or number == codes.RECOVERY_ACTION_XID or not waits:
            self._hear(chip, xid)
        elif number not in BY_WORDS or not self._heard.is_known(chip, (_as_heard(number, d) for d in Decision)):
            self._ears.culprits.wait(chip, xid)

    def _decision(self, chip: ChipId, said: kernel_log.Xid) -> Decision:
        known = self._ears.machine.find(chip)
        return self._ears.xids.decision(said, 0 if known is None else known.wired.architecture)

    def _hear(self, chip: ChipId, said: kernel_log.Xid) -> None:
        """Tell of an Xid, once. All else waits until it is told, its file, too: the kernel's log has it meanwhile."""
        xids, xid, decision = self._ears.xids, said.number, self._decision(chip, said)
        xids.eases(self._bus(chip), xid)
        lasts = xids.lasts(xid) and decision is not Decision.IGNORE
        news = self._heard.is_news(chip, _as_heard(xid, decision), 0 if lasts else said.pid)
        if news and xid == codes.RECOVERY_ACTION_XID:
            self._ask_soon((chip,))
        elif news:
            if lasts:
                xids.add(self._bus(chip), xid, asks=decision is Decision.ASK)
            self._tell_xid(chip, said, decision)
            xids.keep()
            if decision is Decision.ASK or (xids.is_judged(xid) and decision is not Decision.IGNORE):
                self._read_after(chip, xids.settle(xid))

    def _tell_xid(self, chip: ChipId, said: kernel_log.Xid, decision: Decision) -> None:
        xid, code = said.number, codes.code_of(said.number)
        if decision is not Decision.LEVEL:
            where, why = "" if said.nvlink is None else said.nvlink.where, say("driver.asks-nothing")
            if decision is Decision.ASK:
                judged = self._ears.xids.is_judged(xid)
                why = say("driver.until-asked") if judged else say("driver.until-known")
            ring = next((each.ring for each in self._ears.machine.chips() if each.id == chip), None)
            what = say("driver.code-of", code=code, chip=chip)
            what = say("driver.code-at", code=code, chip=chip, where=where) if where else what
            self.say(Remarked(because(what, why), ring, loud=decision is Decision.ASK))
        elif self._ears.xids.lasts(xid):
            severity = Severity.major if codes.is_known(xid) else None
            self._say_fault(FaultReported(chip, code, Assertion.OCCURRED, MODULE, severity))
        else:
            module = MODULE if said.part is None else f"{MODULE} instance {said.part}"
            whose = self._ears.culprits.whose(chip, said.pid, said.part)
            self._say_fault(FaultReported(chip, code, Assertion.ONCE, module, Severity.minor, whose=whose))

    def _say_fault(self, fact: FaultReported) -> None:
        """Tell of a fault; of one that lasts only once it is known whether cmgr itself can let go of the GPU.

        The read-out tells of it otherwise, when the call that is under way has come back. Containers would be stopped
        for a reset that cannot be.
        """
        self._reboots.tell_changed()
        lets_go = fact.assertion is not Assertion.OCCURRED or self._ears.lets_go(fact.chip)
        self.say(fact if lets_go else ReadNeeded(fact.chip))

    # Asking.

    def look_soon(self) -> None:
        """Look for new GPUs at the next opportunity."""
        self._looks.soon()
        self._nudged.set()

    def _ask_soon(self, chips: Iterable[ChipId]) -> None:
        with self._lock:
            self._asked.update(chips)
        self._nudged.set()

    def _ask(self) -> None:
        while not self._stopped.is_set():
            try:
                self._step(time.monotonic())
            except Exception as error:
                self._stumble = chained(error)
                self._stopped.wait(self._pace.retry)
            else:
                self._stumble = ""
            self._nudged.wait(self._left(time.monotonic()))
            self._nudged.clear()

    def _left(self, now: float) -> float:
        with self._lock:
            deaf = (deaf.at for deaf in self._deaf.values() if deaf.why)
            due = min([self._sweep_at, self._looks.at, *(at for at, _ in self._later), *deaf])
        return max(0.01, due - now)

    def _step(self, now: float) -> None:
        with self._lock:
            asked, self._asked = self._asked, set()
            due = [chip for at, chip in self._later if at <= now]
            self._later = [(at, chip) for at, chip in self._later if at > now]
        self._listen_to_all()
        for chip in due:
            self.say(ReadNeeded(chip))
        for chip in sorted(asked):
            self._tell_difference(chip)
        if now >= self._sweep_at:
            self._sweep()
            self._sweep_at = time.monotonic() + self._pace.sweep
        if now >= self._looks.at:
            self._looks.begin(time.monotonic())
            self._relist()

    def _tell_difference(self, chip: ChipId) -> None:
        """Ask the GPU, and tell of each condition that came or went since it was asked last."""
        if chip in self._asleep():
            return
        before = self._swept.get(chip, frozenset())
        ((_, found),) = self._conditions((chip,))
        self._swept[chip] = found
        if isinstance(found, Silence) or isinstance(before, Silence):
            self.say(ReadNeeded(chip))
            return
        for code in sorted(found - before):
            self._say_fault(FaultReported(chip, code, Assertion.OCCURRED, MODULE, Severity.major))
        for code in sorted(before - found):
            self.say(FaultReported(chip, code, Assertion.CLEARED, MODULE, Severity.major))

    def _sweep(self) -> None:
        asleep = self._asleep()
        awake = [chip.id for chip in self._ears.machine.chips() if chip.id not in asleep]
        for chip, found in self._conditions(awake):
            if self._stopped.is_set():
                return
            if found != self._swept.get(chip, frozenset()):
                self._swept[chip] = found
                self.say(ReadNeeded(chip))
        self._reboots.tell_changed(anyway=True)

    def sift(self, chip: ChipId, conditions: tuple[str, ...]) -> tuple[str, ...]:
        """Return those of a GPU's conditions that are its own, and tell those of the machine. Any thread."""
        own, waits = self._reboots.sift(chip, conditions)
        if waits:
            self._read_after(chip, TOGETHER)
        return own

    def _conditions(self, chips: Iterable[ChipId]) -> Iterator[tuple[ChipId, frozenset[str] | Silence]]:
        """Ask these GPUs all at once, and yield what each says, as it comes."""
        asked, hushed = dict[str, ChipId](), self._ears.xids.hushed
        for chip in chips:
            if known := self._ears.machine.here(chip):
                asked[known.bus] = chip
            else:
                yield chip, frozenset()
        questions = {bus: _ACTION if hushed(bus) else _CONDITIONS for bus in asked}
        for bus, said in self._ears.session.ask_each(questions, self._pace.call):
            if isinstance(said, InReset):
                yield asked[bus], self._swept.get(asked[bus], frozenset())
            elif isinstance(said, DriverError):
                # The same silence is no news; a new one is.
                yield asked[bus], Silence(said.message)
            else:
                yield asked[bus], frozenset(self.sift(asked[bus], said or ()))

    def _relist(self) -> None:
        known = self._ears.machine.chips()
        try:
            now = self._ears.machine.look()
        except DriverError as error:
            self._listless = error.message
            return
        self._listless = ""
        if self._ears.machine.opens:
            self._looks.soon()
        self.tell_changes(known, now)
        if now != known:
            self._listen_to_all()

    def tell_changes(self, before: Sequence[Chip], now: tuple[Chip, ...]) -> None:
        """Tell what has become of the list of chips, where that is another than before. Any thread."""
        if now != before:
            self.say(ChipsListed(now))
        for text in renumbered(before, now):
            self.say(Remarked(text, loud=True))

    def say(self, fact: DriverFact) -> None:
        """Tell this, too, unless the end has come. Any thread."""
        if not self._stopped.is_set():
            self._tell(fact)


def _as_heard(xid: int, decision: Decision) -> int:
    """Return the number by which an Xid was heard: one with another decision is another one."""
    return xid + (0 if decision is Decision.LEVEL else (1 + decision) * 1_000_000)


def _is_lost(error: DriverError) -> bool:
    return isinstance(error, Refused) and error.code == abi.GPU_IS_LOST
