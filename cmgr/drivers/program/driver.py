"""Chips that a program drives, which is replaced by another of its kind whenever it no longer serves.

Makers' libraries hang, crash, can be subscribed to once in a process, and know only the chips that there were when they
began. So none is loaded into the service: it waits for no call, and never ends because of one.

Rules:
1. A program that ends, hangs or says what nobody understands has a successor at once, then ever more slowly.
2. A program that says that only a new one would know the chips as they are goes on serving until its successor does,
   and then until the resets that it was asked for have returned.
3. Nothing that happens in between is lost: every ring is read once the successor is told of faults.
4. A chip that an earlier program knew and this one does not is one that has not booted.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cmgr.drivers.program import wire
from cmgr.drivers.program.link import Late, Link, Lost
from cmgr.errors import DriverError, ResetRefused, chain
from cmgr.frozen import dataclass
from cmgr.model.values.chips import Chip, ChipId, ChipReport, Share, listed, rings_of
from cmgr.model.values.messages.facts import ChipsListed, ReadNeeded, Remarked
from cmgr.model.values.ranks import Device
from cmgr.ports import Doubt, DriverFact, SoftFault

READ_SECONDS = 5.0
MEASURE_SECONDS = 3.0
CLOSE_SECONDS = 1.5
MOST_PAST = 4
"""So many may be left that were told to end: a call that hangs in the kernel keeps its process for ever."""

HANGS = 30.0
"""So many seconds a program may take to say how it is, for which it asks nobody."""


@dataclass(frozen=True, slots=True)
class Pace:
    """In seconds: `beat` between two questions how the program is; from `first` to `most` between two new programs.

    They are asked for ever more slowly: the next one after an eighth of the time since which one is needed.
    """

    beat: float = 5.0
    first: float = 1.0
    most: float = 600.0


class ProgramDriver:
    """Implements `ChipDriver`, `Ailing`, `Describing`, `Dividing`, `Drilling`, `Gauge` and `Ranking`.

    `launch` starts a program; `settings` is what it is to begin with. Opening waits for the library without a limit,
    and calls `waiting` with the seconds so far every second, which may raise `DriverError` to end that. Raises
    `DriverError` when the program cannot begin.
    """

    def __init__(
        self,
        launch: Callable[[], Link],
        settings: str,
        pace: Pace,
        waiting: Callable[[float], None] = lambda _: None,
    ) -> None:
        self._launch = launch
        self._settings = settings
        self._pace = pace
        self._lock = threading.Lock()
        self._known: dict[ChipId, Chip] = {}
        self._here: frozenset[ChipId] = frozenset()
        self._in_reset: set[ChipId] = set()
        self._tell: Callable[[DriverFact], None] | None = None
        self._told: tuple[str, ...] = ()
        self._stale = ""
        self._trouble = ""
        self._past: list[Link] = []
        self._needed: float | None = None
        self._due = 0.0
        self._nudged = threading.Event()
        self._closed = False
        self._link, self._said = self._begun(waiting)
        self._see(wire.value(tuple[Chip, ...], self._said["chips"]))
        self.name: str = self._said["name"]
        self.concurrency: int = self._said["concurrency"]

    # The port.

    def chips(self) -> tuple[Chip, ...]:
        known = self._known
        return tuple(known[chip] for chip in sorted(known))

    def watch(self, tell: Callable[[DriverFact], None]) -> None:
        if self._tell is not None or self._closed:
            raise DriverError("cannot watch the chips: they are watched already, or closed")
        self._tell = tell
        self._link.ask("watch", HANGS)
        threading.Thread(target=self._keep, name="chips-keeper", daemon=True).start()

    def read(self, chips: Sequence[ChipId]) -> tuple[ChipReport, ...]:
        with self._lock:
            asleep = {c for c in chips if c in self._in_reset or (c in self._known and c not in self._here)}
        asked = [chip for chip in chips if chip not in asleep]
        try:
            said = self._link.ask("read", READ_SECONDS, chips=asked) if asked else []
            found = {each.chip: each for each in _reports(said)}
        except DriverError as error:
            found = {chip: ChipReport(chip, error=error.message) for chip in asked}
        silent = "the program that drives the chips does not say"
        return tuple(
            ChipReport(chip, booted=False) if chip in asleep else found.get(chip, ChipReport(chip, error=silent))
            for chip in chips
        )

    def reset(self, chips: Sequence[ChipId], faulty: Sequence[ChipId], codes: frozenset[str]) -> None:
        with self._lock:
            if self._in_reset.intersection(chips):
                raise ResetRefused(f"cannot reset {listed(chips)}: an earlier reset is under way")
            self._in_reset.update(chips)
        try:
            self._link.ask("reset", chips=list(chips), faulty=list(faulty), codes=sorted(codes))
        except Lost as error:
            raise DriverError(f"cannot tell how the reset of {listed(chips)} went") from error
        finally:
            with self._lock:
                self._in_reset.difference_update(chips)

    def make_shares(self, shares: Mapping[ChipId, Sequence[Share]]) -> None:
        self._link.ask("make_shares", shares={str(chip): wire.plain(each) for chip, each in shares.items()})

    def share_obstacle(self) -> str:
        return str(self._said["share_obstacle"])

    def soft_fault(self, chip: ChipId) -> SoftFault:
        found: SoftFault = wire.value(SoftFault, self._link.ask("soft_fault", READ_SECONDS, chip=chip))
        return found

    def measure(self, chips: Sequence[ChipId]) -> Mapping[ChipId, Mapping[str, float | str]]:
        try:
            said = self._link.ask("measure", MEASURE_SECONDS, chips=list(chips))
        except DriverError:
            return {}
        return {ChipId(int(chip)): each for chip, each in said.items()}

    def devices(self, chips: Sequence[ChipId]) -> Mapping[ChipId, Device | DriverError]:
        try:
            said = self._link.ask("devices", MEASURE_SECONDS, chips=list(chips))
        except DriverError as error:
            return dict.fromkeys(chips, error)
        return {
            ChipId(int(chip)): wire.failed(each["error"]) if "error" in each else wire.value(Device, each)
            for chip, each in said.items()
        }

    def describe(self) -> str:
        return str(self._said["text"])

    def doubts(self) -> tuple[Doubt, ...]:
        found: tuple[Doubt, ...] = wire.value(tuple[Doubt, ...], self._said["doubts"])
        return found

    def trouble(self) -> tuple[str, ...]:
        return (*((self._trouble,) if self._trouble else ()), *self._told)

    def close(self) -> None:
        self._closed = True
        self._nudged.set()
        self._link.close(CLOSE_SECONDS)

    # Its programs.

    def _begun(self, waiting: Callable[[float], None] = lambda _: None) -> tuple[Link, Mapping[str, Any]]:
        """Return a program that has begun, and what it says of itself. Raises `DriverError`."""
        link = self._launch()
        link.start(lambda fact: self._take(link, fact), self._nudged.set)
        began = time.monotonic()
        answer = link.begin("begin", version=wire.VERSION, settings=self._settings)
        try:
            while not answer.come.wait(1.0):
                waiting(time.monotonic() - began)
                if self._closed:
                    link.kill()
            said = link.answered(answer)
            wire.value(tuple[Chip, ...], said["chips"])
        except (LookupError, ValueError, TypeError) as error:
            link.kill()
            raise DriverError(f"cannot drive the chips: the program says what cannot be understood: {error}") from error
        except DriverError:
            link.kill()
            raise
        return link, said

    def _see(self, chips: Sequence[Chip]) -> None:
        with self._lock:
            self._here = frozenset(chip.id for chip in chips)
            self._known = {**self._known, **{chip.id: chip for chip in chips}}

    def _take(self, link: Link, fact: DriverFact) -> None:
        if self._tell is None or self._closed:
            return
        if isinstance(fact, ChipsListed):
            if link is not self._link:
                return  # Its whole list comes when it begins to serve.
            self._see(fact.chips)
            fact = ChipsListed(self.chips())
        self._tell(fact)

    def _keep(self) -> None:
        """Look after the program until the end. Never raises."""
        while not self._closed:
            try:
                self._look(time.monotonic())
            except Exception as error:
                # Without this thread nobody would hear of faults any more.
                what = "the program that drives the chips does not serve"
                self._trouble = f"{what if self._link.lost else 'no other program can drive the chips'}: {chain(error)}"
            left = self._due - time.monotonic() if self._link.lost else self._pace.beat
            self._nudged.wait(max(0.01, min(left, self._pace.beat)))
            self._nudged.clear()

    def _look(self, now: float) -> None:
        self._ask_how_it_is()
        if not self._link.lost and (self._in_reset or not self._stale):
            self._needed = None
            return
        self._needed = now if self._needed is None else self._needed
        if now >= self._due and not self._many_hang():
            self._replace(self._needed)

    def _many_hang(self) -> bool:
        self._past = [link for link in self._past if link.lives()]
        if len(self._past) < MOST_PAST:
            return False
        self._trouble = f"{MOST_PAST} programs that drove the chips before do not end: no other one is started"
        return True

    def _ask_how_it_is(self) -> None:
        try:
            said = self._link.ask("state", HANGS)
        except Lost:
            return
        except Late:
            self._trouble = f"the program that drives the chips has said nothing for {HANGS:g} s"
            if not self._in_reset:
                self._link.kill()
            return
        self._told, self._stale, self._trouble = tuple(map(str, said["troubles"])), str(said["stale"]), ""

    def _replace(self, since: float) -> None:
        """Have another program serve. Raises `DriverError` when it cannot."""
        began = time.monotonic()
        try:
            link, said = self._begun()
            try:
                link.ask("watch", HANGS)
            except DriverError:
                link.close()
                raise
        finally:
            now = time.monotonic()
            # A library that takes minutes to begin does not begin all the time.
            pause = max(self._pace.first, (now - since) / 8, now - began)
            self._due = now + min(self._pace.most, pause)
        old, was = self._link, {chip.id for chip in self.chips()}
        self._link, self._said, self._trouble = link, said, ""
        self._see(wire.value(tuple[Chip, ...], said["chips"]))
        if self._closed:
            link.close()
        died = old.lost
        old.retire()
        self._past.append(old)
        self._ask_how_it_is()
        if died:
            self._say(Remarked(f"the program that drives the chips had ended ({died}): another one does", loud=True))
        if {chip.id for chip in self.chips()} != was:
            self._say(ChipsListed(self.chips()))
        for chips in rings_of(self.chips()).values():
            self._say(ReadNeeded(chips[0]))

    def _say(self, fact: DriverFact) -> None:
        if self._tell is not None and not self._closed:
            self._tell(fact)


def _reports(said: Any) -> tuple[ChipReport, ...]:
    try:
        found: tuple[ChipReport, ...] = wire.value(tuple[ChipReport, ...], said)
    except ValueError as error:
        raise DriverError(f"the program that drives the chips says what cannot be understood: {error}") from error
    return found
