"""A disk confirmed commits that it did not have: the database is older than the world. No container is lost in silence.

Whose order it was cannot be known any more, so no more is promised: docs/reliability.md. CMGR_CRASH_EVERY=1 tries each
pair of moments; without it a third of them.
"""

import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path

import pytest

from cmgr.model.values.rings import Phase
from tests.crash import checks
from tests.crash.disk.copies import Copy, place
from tests.crash.matrix import STRIDE
from tests.crash.trial import Trial
from tests.crash.worlds import witnessed
from tests.support.figures import Figures

pytestmark = [pytest.mark.alone, pytest.mark.timeout(7200)]

SECTION = "Power loss"


class Forgetful(Trial):
    """Its service goes on from a database that is older than the world."""

    def _is_over(self) -> bool:
        status = self.service.status()
        calm = all(ring["phase"] == Phase.HEALTHY for ring in status["rings"])
        return calm and status["service"]["state"] == "ready" and not self.untold()


def test_where_the_disk_lost_commits_that_it_confirmed_each_container_runs_or_is_told_as_down(
    folder: Path, copies: Sequence[Copy], figures: Figures
) -> None:
    pairs = list(combinations(range(len(copies)), 2))[::STRIDE]

    def goes_on(pair: tuple[int, int]) -> None:
        old, new = (copies[n].folder for n in pair)
        left = shutil.copytree(new, folder / "left-{}-{}".format(*pair))
        shutil.rmtree(left / "state")
        shutil.copytree(old / "state", left / "state", ignore=shutil.ignore_patterns("*-shm"))
        trial = Forgetful(place(), folder / "later-{}-{}".format(*pair))
        trial.resume(left)
        checks.no_reset_was_under_a_container(trial, witnessed(trial.service))
        checks.the_file_is_sound(trial)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(goes_on, pairs))
    figures.add(SECTION, "databases that had lost confirmed commits, that a new service went on from", len(pairs))
    figures.add(SECTION, "containers that were down then, and that nobody told of", 0)
