"""The queue of facts in front of the deciding thread.

Rules:
1. Memory is bounded: facts that say again what is queued already are merged, and beyond a limit per chip its events are
   dropped and a reading of that chip is asked for instead, which finds whatever is still true.
2. No chip's events delay another's by more than one batch.
3. A chip that storms is heard every 80 ms: each step and each save has a price of its own, however much is in it.
   Everything else is heard at once, with what the storm has brought by then.
4. A signal handler may call `stop` and `nudge`, and nothing else.
"""

import threading
from collections.abc import Hashable
from contextlib import suppress
from datetime import datetime, timedelta
from queue import Empty, SimpleQueue

from cmgr.drivers.storms import PAUSE, Storms
from cmgr.frozen import replace
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion, whose_of_both
from cmgr.model.values.messages import facts
from cmgr.ports import Clock

CHIP_LIMIT = 512
BATCH = 128

_PAUSE = timedelta(seconds=PAUSE)


class _Again:
    """A fault that is queued, and what was told of it since: counted, and made a fact of when it is taken out."""

    __slots__ = ("at", "earlier", "fact", "first", "repeated", "whose")

    def __init__(self, at: datetime, fact: facts.FaultReported) -> None:
        self.at, self.fact = at, fact
        self.earlier, self.first, self.repeated, self.whose = fact.earlier, fact.first, fact.repeated, fact.whose

    def add(self, fact: facts.FaultReported) -> None:
        before, occurred = self.fact.assertion, Assertion.OCCURRED
        self.earlier += (before is not Assertion.CLEARED) + fact.earlier
        self.first = self.first or before
        self.repeated += (before is occurred and (fact.first or fact.assertion) is occurred) + fact.repeated
        self.whose = whose_of_both(self.whose, fact.whose)
        self.fact = fact

    def event(self) -> facts.Event:
        last = replace(self.fact, earlier=self.earlier, first=self.first, repeated=self.repeated, whose=self.whose)
        return facts.Event(self.at, last)


class Inbox:
    """Facts go in from any thread, stamped as they come; events come out on one thread."""

    def __init__(self, clock: Clock, chip_limit: int = CHIP_LIMIT) -> None:
        self._clock = clock
        self._chip_limit = chip_limit
        self._lock = threading.Lock()
        self._queued: dict[Hashable, facts.Event | _Again] = {}
        self._per_chip: dict[ChipId, int] = {}
        self._storms = Storms()
        self._ripe: datetime | None = None
        self._serial = 0
        # Reentrant, unlike the lock: a signal may come while the same thread is in `put`.
        self._bell: SimpleQueue[None] = SimpleQueue()
        self._nudged = False
        self._stopped = False
        self.merged = 0
        self.dropped = 0

    def put(self, fact: facts.Fact) -> None:
        """Take the fact in. Never blocks for long, never raises."""
        with self._lock:
            at, first, waits = self._clock.now(), not self._queued, False
            if isinstance(fact, facts.FaultReported):
                waits = self._storms.has(fact.chip, at.timestamp())
                self._put_fault(fact, at)
            else:
                key = self._key(fact)
                self._queued.pop(key, None)
                self._queued[key] = facts.Event(at, fact)
            ring = first or (self._ripe is not None and not waits)
            if ring:
                self._ripe = at + _PAUSE if waits else None
        if ring:
            self._bell.put(None)

    def take_back(self, fact: facts.Fact) -> bool:
        """Forget this very fact. Return whether nobody has taken it out yet. Any thread."""
        with self._lock:
            keys = [key for key, event in self._queued.items() if event.fact is fact]
            for key in keys:
                del self._queued[key]
        return bool(keys)

    def _put_fault(self, fact: facts.FaultReported, at: datetime) -> None:
        key = (fact.chip, fact.code, fact.module)
        queued = self._queued.get(key)
        if queued is not None:
            self.merged += 1
            if not isinstance(queued, _Again):
                assert isinstance(queued.fact, facts.FaultReported)
                self._queued[key] = queued = _Again(queued.at, queued.fact)
            queued.add(fact)
        elif self._per_chip.get(fact.chip, 0) < self._chip_limit:
            self._per_chip[fact.chip] = self._per_chip.get(fact.chip, 0) + 1
            self._queued[key] = facts.Event(at, fact)
        else:
            self.dropped += 1
            needed = facts.ReadNeeded(fact.chip)
            self._queued.setdefault(self._key(needed), facts.Event(at, needed))

    def _key(self, fact: facts.Fact) -> Hashable:
        match fact:
            case facts.ContainerSeen() if fact.container.exit is not None:
                # It is not told once more by a container that is gone, or lives again: no later word takes its place.
                return ("end", fact.container.key)
            case facts.ContainerSeen():
                return ("container", fact.container.key)
            case facts.ContainerRemoved():
                return ("container", fact.key)
            case facts.MachineTold():
                return ("machine", fact.source)  # Each says all that its source finds.
            case facts.ReadNeeded() | facts.Tick() | facts.Resync():
                return fact
            case _:
                self._serial += 1
                return self._serial

    def take(self, until: datetime | None) -> list[facts.Event]:
        """Return the next events in order, at most `BATCH`; none when `until` has passed or somebody called.

        Blocks until there is something. One thread only.
        """
        while True:
            self._hush()
            now, ripe = self._clock.now(), self._ripe
            events = self._batch() if ripe is None or ripe <= now or self._stopped else []
            if events or self._stopped or self._was_nudged():
                return events
            if until is not None and until <= now:
                return []
            wakes = [moment for moment in (until, ripe) if moment is not None]
            with suppress(Empty):
                self._bell.get(timeout=(min(wakes) - now).total_seconds() if wakes else None)

    def _hush(self) -> None:
        """Forget what rang so far: the look that follows sees what it rang for."""
        with suppress(Empty):
            while True:
                self._bell.get_nowait()

    def _was_nudged(self) -> bool:
        # Not cleared unless it is set: a signal may come between the two.
        if not self._nudged:
            return False
        self._nudged = False
        return True

    def _batch(self) -> list[facts.Event]:
        with self._lock:
            self._ripe = None
            if len(self._queued) <= BATCH:
                events = [each.event() if isinstance(each, _Again) else each for each in self._queued.values()]
                self._queued = {}
                self._per_chip = {}
                return events
            keys = self._fair_keys()
            for key in keys:
                if isinstance(key, tuple) and isinstance(key[0], int):
                    self._per_chip[ChipId(key[0])] -= 1
            taken = map(self._queued.pop, keys)
            return [each.event() if isinstance(each, _Again) else each for each in taken]

    def _fair_keys(self) -> list[Hashable]:
        """Return the keys of a batch: everything that is not a fault, and of each chip the oldest faults in turn."""
        turn: dict[Hashable, int] = {}
        ranked = []
        for place, (key, event) in enumerate(self._queued.items()):
            rank = 0
            if isinstance(event.fact, facts.FaultReported):
                rank = turn[event.fact.chip] = turn.get(event.fact.chip, 0) + 1
            ranked.append((rank, place, key))
        chosen = sorted(ranked, key=lambda r: r[:2])[:BATCH]
        return [key for _, _, key in sorted(chosen, key=lambda r: r[1])]

    def nudge(self) -> None:
        """Let `take` return once, even without events."""
        self._nudged = True
        self._bell.put(None)

    def stop(self) -> None:
        """Let `take` return at once from now on."""
        self._stopped = True
        self._bell.put(None)

    def is_stopped(self) -> bool:
        return self._stopped

    def __len__(self) -> int:
        return len(self._queued)
