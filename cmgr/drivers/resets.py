"""Which chips are in a reset, or come up after one: what a driver remembers of its resets, whatever its library."""

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

from cmgr.errors import ResetRefused
from cmgr.frozen import dataclass
from cmgr.model.values.chips import Chip, ChipId
from cmgr.sentences.sentence import because, say

T = TypeVar("T")


def refusal(chips: Iterable[ChipId], why: str, hint: str = "") -> ResetRefused:
    return ResetRefused(because(say("driver.cannot-reset", chips=list(chips)), why), hint=hint)


def of_one_ring(
    chips: Sequence[ChipId], find: Callable[[ChipId], T | None], present: Callable[[], Iterable[Chip]]
) -> dict[ChipId, T]:
    """Return what `find` knows of each of the chips that are to be reset.

    Raises `ResetRefused` where it knows nothing of one, or those of them that are `present` are not of one ring.
    """
    ring: dict[ChipId, T] = {}
    for chip in chips:
        known = find(chip)
        if known is None:
            raise refusal(chips, say("driver.no-chip", chip=chip))
        ring[chip] = known
    if len({chip.ring for chip in present() if chip.id in ring}) != 1:
        raise refusal(chips, say("driver.not-one-ring"))
    return ring


@dataclass(frozen=True, slots=True)
class Sleep:
    """How a chip sleeps: in a reset, or after one, which was over at `since` (monotonic, seconds).

    It may be booting as long as it is not up, `until` it has had its time for that.
    """

    in_reset: bool = False
    since: float | None = None
    until: float = math.inf

    @property
    def boots(self) -> bool:
        """Whether a chip that is not up may be booting."""
        return self.since is not None and time.monotonic() < self.until


class Resets:
    """Any thread. `boot`: so many seconds chips may take to boot after a reset."""

    def __init__(self, boot: float = math.inf) -> None:
        self._boot = boot
        self._lock = threading.Condition()
        self._in_reset: set[ChipId] = set()
        self._called: set[ChipId] = set()
        self._booting: dict[ChipId, float] = {}
        self._closed = False

    def begin(self, chips: Sequence[ChipId]) -> None:
        """Note that a reset of these begins. Raises `ResetRefused` when one is under way, or closed."""
        with self._lock:
            if self._closed:
                raise refusal(chips, say("driver.is-closed"))
            if (self._in_reset | self._called).intersection(chips):
                raise refusal(chips, say("driver.earlier-reset"))
            self._in_reset.update(chips)

    @contextmanager
    def called(self, chips: Iterable[ChipId]) -> Iterator[None]:
        """Be in the library's call that resets these: they are in a reset until it comes back, whoever still waits."""
        with self._lock:
            self._called.update(chips)
        try:
            yield
        finally:
            with self._lock:
                self._called.difference_update(chips)
                self._lock.notify_all()

    def is_called(self) -> bool:
        """Return whether any such call is inside the library."""
        return bool(self._called)

    def finish(self) -> None:
        """Return once none is."""
        with self._lock:
            self._lock.wait_for(lambda: not self._called)

    def expect_boots(self, chips: Sequence[ChipId]) -> None:
        with self._lock:
            self._booting.update(dict.fromkeys(chips, time.monotonic()))

    def end(self, chips: Sequence[ChipId]) -> None:
        with self._lock:
            self._in_reset.difference_update(chips)

    def of(self, chip: ChipId) -> Sleep:
        with self._lock:
            return self._of(chip)

    def _of(self, chip: ChipId) -> Sleep:
        since = self._booting.get(chip)
        until = math.inf if since is None else since + self._boot
        return Sleep(chip in self._in_reset | self._called, since, until)

    def is_up(self, chip: ChipId, seen: Sleep) -> None:
        """The chip has answered that it is up; that says nothing of a reset that came after `seen`."""
        with self._lock:
            if self._booting.get(chip) == seen.since:
                self._booting.pop(chip, None)

    def asleep(self) -> frozenset[ChipId]:
        with self._lock:
            boots = {chip for chip in self._booting if self._of(chip).boots}
            return frozenset(self._in_reset | self._called | boots)

    def close(self) -> None:
        """Let no reset begin any more."""
        with self._lock:
            self._closed = True
