"""Whether the machine was itself while something short was measured.

Where others have the processor for some milliseconds (a neighbour on the same core, the machine below a virtual one)
everything takes several times as long, cmgr's part as well: such a moment says nothing of cmgr. So a piece of work that
is always the same is done right before and right behind, and the measurement counts if neither took long.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from bench.report.figures import quantile

LONG = 2.0
"""So many times what the work usually takes."""

STOLEN = 0.02
"""The machine below a virtual one may take this share of the processors' time."""

LEARNED = 100
T = TypeVar("T")
WORDS = list(range(8))


@dataclass(frozen=True, slots=True)
class Measured:
    """`counted`: those of steady moments; `disturbed`: how many others there were."""

    counted: tuple[float, ...]
    disturbed: int


def measured(prepare: Callable[[], None], one: Callable[[], float], enough: int) -> Measured:
    """Measure until there are `enough` that count, or twice as many tries were made. `prepare` is before each."""
    usual = _usual()
    counted: list[float] = []
    tries = 0
    while len(counted) < enough and tries < 2 * enough:
        tries += 1
        prepare()
        before = _work()
        value = one()
        if max(before, _work()) <= LONG * usual:
            counted.append(value)
    return Measured(tuple(counted), tries - len(counted))


class Watch:
    """Whether the machine is itself, by what it was when this was made. For what takes seconds and loads it itself."""

    def __init__(self) -> None:
        self._usual = _usual()

    def beside(self, measure: Callable[[], T]) -> tuple[T, bool]:
        """Return what it measures, and whether the machine was not itself: before, behind it or meanwhile."""
        before, began = _usual(), _times()
        found = measure()
        ended, behind = _times(), _usual()
        stolen, passed = (after - past for past, after in zip(began, ended, strict=True))
        self._usual = min(self._usual, before, behind)
        return found, max(before, behind) > LONG * self._usual or stolen > STOLEN * passed


def _times() -> tuple[int, int]:
    """Return the time that the machine below took from all processors, and all their time, in the kernel's ticks."""
    ticks = [int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return ticks[7], sum(ticks)


def _usual() -> float:
    return quantile([_work() for _ in range(LEARNED)], 0.5)


def _work() -> float:
    """Return how long it took, in seconds: about half of a millisecond."""
    began = time.monotonic()
    for _ in range(60):
        json.dumps({"at": began, "words": WORDS})
    return time.monotonic() - began
