"""Many trials of one kind side by side, and the sum of what they came to."""

import os
import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from tests.crash import checks
from tests.crash.trial import Point, Trial
from tests.crash.worlds import Place
from tests.support.figures import Figures

EVERY = os.environ.get("CMGR_CRASH_EVERY") == "1"
"""Whether every point is tried everywhere, and not a sample."""

MOST = 2
"""Deaths tried in one world where not all are: each is an episode of a service of its own."""

STRIDE = 1 if EVERY else 3
"""Of places in a file where something can be damaged or torn, every how manyth is tried."""

Ends = tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """`missed`: points of the first run that did not come in the trial for them: there were fewer commits or looks."""

    points: int
    deaths: int
    missed: tuple[str, ...]


class Matrix:
    """Trials on these places, each place one at a time. `check`: what is to hold after each."""

    def __init__(
        self,
        places: Sequence[Place],
        folder: Path,
        make: Callable[[Place, Path], Trial] = Trial,
        check: Callable[[Trial], None] = checks.all_is_well,
    ) -> None:
        self._places = places
        self._folder = folder
        self._make = make
        self._check = check
        self._count = 0

    def points(self) -> list[str]:
        """Return the points of an episode in which nothing dies."""
        trial = self._make(self._places[0], self._folder / "alive")
        trial.play()
        checks.all_is_well(trial)
        assert trial.deaths == []
        return trial.passed()

    def run(self, ends: Sequence[Ends]) -> Result:
        """Play one trial for each of these, check it, and count. A trial that fails keeps its folder."""
        free: SimpleQueue[Place] = SimpleQueue()
        for place in self._places:
            free.put(place)

        failures: list[Exception] = []

        def one(numbered: tuple[int, Ends]) -> Trial | None:
            place = free.get()
            try:
                return self._one(place, *numbered)
            except Exception as error:
                failures.append(error)
                return None
            finally:
                free.put(place)

        with ThreadPoolExecutor(len(self._places)) as pool:
            trials = [trial for trial in pool.map(one, enumerate(ends)) if trial is not None]
        if failures:
            raise ExceptionGroup(f"{len(failures)} of {len(ends)} trials failed", failures)
        deaths = sum(len(trial.deaths) for trial in trials)
        missed = tuple(str(e[0]) for e, trial in zip(ends, trials, strict=True) if not trial.deaths)
        return Result(len(ends), deaths, missed)

    def _one(self, place: Place, number: int, ends: Ends) -> Trial:
        trial = self._make(place, self._folder / str(number))
        try:
            trial.play(*ends)
            self._check(trial)
        except Exception as error:
            trial.service.close()
            error.add_note(f"lives that end at {ends}, in {trial.service.folder}")
            raise
        trial.remove()
        return trial


def singles(points: Sequence[str]) -> list[Ends]:
    """Return one death at each of these points, or at `MOST` of them, spread evenly."""
    count = len(points) if EVERY else min(len(points), MOST)
    return [(points[n * len(points) // count],) for n in range(count)]


def doubles(points: Sequence[str], count: int, seed: int) -> list[Ends]:
    """Return so many pairs: a death at a point, and another after some of those that the next life passes."""
    draw = random.Random(seed)  # noqa: S311
    count = count if EVERY else min(count, 1)
    return [(draw.choice(points), draw.randint(1, len(points) // 2)) for _ in range(count)]


def tell(figures: Figures, where: str, result: Result, deed: str = "killed") -> None:
    """Say what this came to, and see that hardly a point was missed: the last commits and looks of a longer run."""
    assert len(result.missed) <= max(2 if EVERY else 1, result.points // 5), result.missed
    figures.add("Crash matrix", f"points {deed} at, {where}", result.points - len(result.missed))
    figures.add("Crash matrix", "deaths in all", result.deaths)
    figures.add("Crash matrix", "containers lost, left down or started twice", 0)
    figures.add("Crash matrix", "resets under a container or beyond the budget", 0)
