"""Chips that a program drives, which is replaced by another of its kind whenever it no longer serves.

Makers' libraries hang, crash, can be subscribed to once in a process, and know only the chips that there were when they
began. So none is loaded into the service: it waits for no call, and never ends because of one.

Rules:
1. A program that ends, hangs or says what nobody understands has a successor at once, then ever more slowly.
2. A program that says that only a new one would know the chips as they are goes on serving until its successor does,
   and then until the resets that it was asked for have returned.
3. Nothing that happens in between is lost: every ring is read once the successor is told of faults.
4. A chip that an earlier program knew and this one does not has not booted, and is gone in the end.
5. Until a first program has begun no chip is known, and `refusal` says why: that is never a machine without chips.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from types import MappingProxyType
from typing import Any

from cmgr import typed
from cmgr.drivers.program import wire
from cmgr.drivers.program.link import Late, Link, Lost, Unasked
from cmgr.drivers.resets import refusal
from cmgr.errors import DriverError, ResetRefused
from cmgr.frozen import dataclass
from cmgr.model.pieces import matched
from cmgr.model.values.chips import Chip, ChipId, ChipReport, Share, rings_of
from cmgr.model.values.messages.facts import ChipsListed, ReadNeeded, Remarked
from cmgr.model.values.ranks import Device
from cmgr.ports import Doubt, DriverFact, SoftFault
from cmgr.sentences import sentence
from cmgr.sentences.sentence import because, chained, say

READ_SECONDS = 5.0
MEASURE_SECONDS = 3.0
CLOSE_SECONDS = 1.5
MOST_PAST = 4
"""So many may be left that were told to end: a call that hangs in the kernel keeps its process for ever."""

HANGS = 30.0
"""So many seconds a program may take to say how it is, for which it asks nobody."""

SLOW = 10.0
"""After so many seconds it is said that a library has not begun yet."""

_NOTHING: Mapping[str, Any] = MappingProxyType({"text": "", "share_obstacle": say("driver.chips-unknown")})
"""The words of a program that has not begun."""


@dataclass(frozen=True, slots=True)
class Pace:
    """In seconds: `beat` between two questions how the program is; from `first` to `most` between two new programs.

    They are asked for ever more slowly: the next one after an eighth of the time since which one is needed. `most` is
    for as long as one serves; while none does there are at most `alone` seconds between them. `gone`: after so long
    without a program that knows it a chip is gone. Another program may reset it until then.
    """

    beat: float = 5.0
    first: float = 1.0
    most: float = 600.0
    alone: float = 60.0
    gone: float = 600.0


class ProgramDriver:
    """Implements `ChipDriver`, `Ailing`, `Beginning`, `Describing`, `Dividing`, `Drilling`, `Gauge` and `Ranking`.

    `launch` starts a program; `settings` is what it is to begin with. `name`: the driver's, until a program says it.
    Opening waits for nothing.
    """

    def __init__(self, launch: Callable[[], Link], settings: str, pace: Pace, name: str = "") -> None:
        self.name = name
        self.concurrency = 1
        self._launch = launch
        self._settings = settings
        self._pace = pace
        self._lock = threading.Lock()
        self._known: dict[ChipId, Chip] = {}
        self._away: dict[ChipId, float] = {}
        self._in_reset: set[ChipId] = set()
        self._tell: Callable[[DriverFact], None] | None = None
        self._told: tuple[str, ...] = ()
        self._stale = ""
        self._trouble = self._no_other = ""
        self._past: list[Link] = []
        self._needed: float | None = None
        self._due = 0.0
        self._nudged = threading.Event()
        self._closed = False
        self._link: Link | None = None
        self._said = _NOTHING
        self._coming: Link | None = None
        self._began: float | None = None
        self._tried = threading.Condition()
        self._refusal: DriverError | None = None
        self._refused = self._waited_for = 0
        threading.Thread(target=self._keep, name="chips-keeper", daemon=True).start()

    # The port.

    def begins(self, seconds: float) -> bool:
        with self._tried:
            self._tried.wait_for(lambda: self._link is not None or self._refused > self._waited_for, seconds)
            self._waited_for = self._refused
        return self._link is not None

    def refusal(self) -> DriverError | None:
        if self._link is not None:
            return None
        began, refusal = self._began, self._refusal
        seconds = time.monotonic() - began if began is not None else 0.0
        if refusal is not None and seconds < SLOW:
            return refusal
        # In steps: whoever logs what is new does not log every second.
        passed = timedelta(seconds=seconds // SLOW * SLOW if seconds < 60 else seconds // 60 * 60)
        return DriverError(say("driver.not-begun-for", span=passed), hint=say("driver.dead-chip"))

    def chips(self) -> tuple[Chip, ...]:
        known = self._known
        return tuple(known[chip] for chip in sorted(known))

    def watch(self, tell: Callable[[DriverFact], None]) -> None:
        with self._lock:
            if self._tell is not None or self._closed:
                raise DriverError(say("driver.watched-already"))
            self._tell = tell
        # The keeper tells those that begin to serve from now on.
        self._ask("watch", HANGS)

    def read(self, chips: Sequence[ChipId]) -> tuple[ChipReport, ...]:
        with self._lock:
            found = {chip: report for chip in chips if (report := self._unasked(chip)) is not None}
        asked = [chip for chip in chips if chip not in found]
        try:
            said = self._ask("read", READ_SECONDS, chips=asked) if asked else []
            found |= {each.chip: each for each in _reports(said)}
        except DriverError as error:
            found |= {chip: ChipReport(chip, error=error.message) for chip in asked}
        silent = say("driver.does-not-say")
        return tuple(found.get(chip, ChipReport(chip, error=silent)) for chip in chips)

    def _unasked(self, chip: ChipId) -> ChipReport | None:
        """Return what is known of a chip that the program is not to be asked about."""
        since = self._away.get(chip)
        if since is not None and chip not in self._in_reset and time.monotonic() - since >= self._pace.gone:
            return ChipReport(chip, error=say("driver.listed-no-more"))
        return None if since is None and chip not in self._in_reset else ChipReport(chip, booted=False)

    def reset(self, chips: Sequence[ChipId], faulty: Sequence[ChipId], codes: frozenset[str]) -> None:
        with self._lock:
            if self._in_reset.intersection(chips):
                raise refusal(chips, say("driver.earlier-reset"))
            self._in_reset.update(chips)
        try:
            self._ask("reset", chips=list(chips), faulty=list(faulty), codes=sorted(codes))
        except Unasked as error:
            raise ResetRefused(say("driver.cannot-reset", chips=chips)) from error
        except Lost as error:
            raise DriverError(say("driver.how-unknown", chips=chips)) from error
        finally:
            with self._lock:
                self._in_reset.difference_update(chips)

    def make_shares(self, shares: Mapping[ChipId, Sequence[Share]]) -> None:
        self._ask("make_shares", shares={str(chip): typed.plain(each) for chip, each in shares.items()})

    def share_obstacle(self) -> str:
        return _text(self._said["share_obstacle"])

    def soft_fault(self, chip: ChipId) -> SoftFault:
        found: SoftFault = typed.value(SoftFault, self._ask("soft_fault", READ_SECONDS, chip=chip))
        return found

    def measure(self, chips: Sequence[ChipId]) -> Mapping[ChipId, Mapping[str, float | str]]:
        try:
            said = self._ask("measure", MEASURE_SECONDS, chips=list(chips))
        except DriverError:
            return {}
        return {ChipId(int(chip)): each for chip, each in said.items()}

    def devices(self, chips: Sequence[ChipId]) -> Mapping[ChipId, Device | DriverError]:
        try:
            said = self._ask("devices", MEASURE_SECONDS, chips=list(chips))
        except DriverError as error:
            return dict.fromkeys(chips, error)
        return {
            ChipId(int(chip)): wire.failed(each["error"]) if "error" in each else typed.value(Device, each)
            for chip, each in said.items()
        }

    def describe(self) -> str:
        return _text(self._said["text"])

    def doubts(self) -> tuple[Doubt, ...]:
        try:
            found: tuple[Doubt, ...] = typed.value(tuple[Doubt, ...], self._ask("doubts", HANGS))
        except DriverError as error:
            return (Doubt(error.message, error.hint),)
        return found

    def trouble(self) -> tuple[str, ...]:
        refusal, link = self.refusal(), self._link
        if refusal is not None or link is None:
            return (chained(refusal),) if refusal is not None else ()
        own = self._trouble or (because(say("driver.none-serves"), link.lost) if link.lost else self._no_other)
        return (*((own,) if own else ()), *self._told)

    def close(self) -> None:
        self._closed = True
        self._nudged.set()
        with self._lock:
            link, coming = self._link, self._coming
        if coming is not None:
            coming.kill()  # Its library may take minutes to begin.
        if link is not None:
            link.close(CLOSE_SECONDS)

    # Its programs.

    def _ask(self, do: str, seconds: float | None = None, **words: Any) -> Any:
        """Return the answer of the program that serves. Raises as `Link.ask`; `Unasked` before one does."""
        link = self._link
        if link is None:
            refusal = self.refusal()
            raise Unasked(because(say("driver.cannot-drive"), "" if refusal is None else refusal.message))
        return link.ask(do, seconds, **words)

    def _begun(self) -> tuple[Link, Mapping[str, Any]]:
        """Return a program that has begun, and what it says of itself, however long that takes. Raises `DriverError`.

        A library with a dead chip takes ten minutes to begin.
        """
        self._began = time.monotonic()
        try:
            link = self._launch()
            link.start(lambda fact: self._take(link, fact), self._nudged.set)
            answer = link.begin("begin", version=wire.VERSION, settings=self._settings)
            with self._lock:
                self._coming = link
            if self._closed:
                link.kill()
            # Its sentences are looked through in Chinese, too: that catalog is read while the program begins.
            with suppress(OSError):
                sentence.catalog(sentence.CHINESE)
            answer.come.wait()
        finally:
            self._began = self._coming = None
        try:
            said = link.answered(answer)
            typed.value(tuple[Chip, ...], said["chips"])
        except (LookupError, ValueError, TypeError) as error:
            link.kill()
            raise DriverError(
                because(say("driver.cannot-drive"), say("driver.not-understood", error=str(error)))
            ) from error
        except DriverError:
            link.kill()
            raise
        return link, said

    def _see(self, chips: Sequence[Chip]) -> None:
        """Under the lock."""
        here, now = {chip.id: chip for chip in chips}, time.monotonic()
        # A piece that has another number now is not away under its old one.
        moved = {old for old, new in matched(self._known.values(), chips).items() if old != new}
        self._known = {**{id_: chip for id_, chip in self._known.items() if id_ not in moved}, **here}
        self._away = {chip: self._away.get(chip, now) for chip in self._known if chip not in here}

    def _take(self, link: Link, fact: DriverFact) -> None:
        if self._tell is None or self._closed:
            return
        if isinstance(fact, ChipsListed):
            with self._lock:
                if link is not self._link:
                    return  # Its whole list comes when it begins to serve.
                self._see(fact.chips)
            fact = ChipsListed(self.chips())
        self._tell(fact)

    def _serves(self) -> bool:
        return self._link is not None and not self._link.lost

    def _keep(self) -> None:
        """Look after the program until the end. Never raises."""
        while not self._closed:
            try:
                self._look(time.monotonic())
            except Exception as error:
                # Without this thread nobody would hear of faults any more.
                self._cannot(error)
            left = self._pace.beat if self._serves() else self._due - time.monotonic()
            self._nudged.wait(max(0.01, min(left, self._pace.beat)))
            self._nudged.clear()

    def _cannot(self, error: Exception) -> None:
        if self._serves():
            self._no_other = because(say("driver.no-other"), chained(error))
        else:
            self._trouble = because(say("driver.none-serves"), chained(error))
        with self._tried:
            self._refusal = error if isinstance(error, DriverError) else DriverError(chained(error))
            self._refused += 1
            self._tried.notify_all()

    def _look(self, now: float) -> None:
        if self._link is not None:
            self._ask_how_it_is(self._link)
        if self._serves() and (self._in_reset or not self._stale):
            self._needed = None
            return
        self._needed = now if self._needed is None else self._needed
        if now >= self._due and not self._many_hang():
            self._replace(self._needed)

    def _many_hang(self) -> bool:
        self._past = [link for link in self._past if link.lives()]
        if len(self._past) < MOST_PAST:
            return False
        self._trouble = say("driver.many-do-not-end", count=MOST_PAST)
        return True

    def _ask_how_it_is(self, link: Link) -> None:
        try:
            said = link.ask("state", HANGS)
        except Lost:
            return
        except Late:
            self._trouble = say("driver.program-silent", seconds=f"{HANGS:g}")
            if not self._in_reset:
                link.kill()
            return
        self._told, self._stale, self._trouble = tuple(map(_text, said["troubles"])), _text(said["stale"]), ""
        if not self._stale:
            self._no_other = ""

    def _replace(self, since: float) -> None:
        """Have a program serve that has just begun. Raises `DriverError` when none can."""
        began, was = time.monotonic(), {chip.id for chip in self.chips()}
        try:
            link, said = self._begun()
            old = self._handed_over(link, said)
        finally:
            now = time.monotonic()
            # A library that takes minutes to begin does not begin all the time.
            pause = max(self._pace.first, (now - since) / 8, now - began)
            self._due = now + min(self._pace.most if self._serves() else self._pace.alone, pause)
        if self._closed:
            link.close()
        self._ask_how_it_is(link)
        if old is None:
            return
        died = old.lost
        old.retire()
        self._past.append(old)
        if died:
            self._say(Remarked(say("driver.program-ended", why=died), loud=True))
        if {chip.id for chip in self.chips()} != was:
            self._say(ChipsListed(self.chips()))
        for chips in rings_of(self.chips()).values():
            self._say(ReadNeeded(chips[0]))

    def _handed_over(self, link: Link, said: Mapping[str, Any]) -> Link | None:
        """Have this program serve, and tell of faults if its predecessor, which is returned, was to."""
        watching = False
        while True:
            with self._lock:
                if watching or self._tell is None:
                    old, self._link, self._said, self._trouble, self._no_other = self._link, link, said, "", ""
                    self.name, self.concurrency = str(said["name"]), int(said["concurrency"])
                    self._see(typed.value(tuple[Chip, ...], said["chips"]))
                    break
            try:
                link.ask("watch", HANGS)
            except DriverError:
                link.close()
                raise
            watching = True
        with self._tried:
            self._tried.notify_all()
        return old

    def _say(self, fact: DriverFact) -> None:
        if self._tell is not None and not self._closed:
            self._tell(fact)


def _text(said: object) -> str:
    return said if isinstance(said, str) else str(said)  # `str` would make a bare text of a sentence.


def _reports(said: Any) -> tuple[ChipReport, ...]:
    try:
        found: tuple[ChipReport, ...] = typed.value(tuple[ChipReport, ...], said)
    except ValueError as error:
        raise DriverError(say("driver.chips-not-understood", error=str(error))) from error
    return found
