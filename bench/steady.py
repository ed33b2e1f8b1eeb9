"""Whether the machine was itself while something short was measured.

Where others have the processor for some milliseconds (a neighbour on the same core, the machine below a virtual one)
everything takes several times as long, cmgr's part as well: such a moment says nothing of cmgr. So a piece of work that
is always the same is done right before and right behind, and the measurement counts if neither took long.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass

from bench.report.figures import quantile

LONG = 2.0
"""So many times what the work usually takes."""

LEARNED = 100
WORDS = list(range(8))


@dataclass(frozen=True, slots=True)
class Measured:
    """`counted`: those of steady moments; `disturbed`: how many others there were."""

    counted: tuple[float, ...]
    disturbed: int


def measured(prepare: Callable[[], None], one: Callable[[], float], enough: int) -> Measured:
    """Measure until there are `enough` that count, or twice as many tries were made. `prepare` is before each."""
    usual = quantile([_work() for _ in range(LEARNED)], 0.5)
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


def _work() -> float:
    """Return how long it took, in seconds: about half of a millisecond."""
    began = time.monotonic()
    for _ in range(60):
        json.dumps({"at": began, "words": WORDS})
    return time.monotonic() - began
