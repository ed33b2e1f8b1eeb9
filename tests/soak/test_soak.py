"""Days in minutes: hundreds of episodes on sixteen chips and 64 containers, with every sickness that there is.

CMGR_SOAK sets how many episodes, CMGR_SOAK_SEED the dice; a failure says its seed.
"""

import gc
import os
import sys
from array import array
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from typing import NamedTuple

import pytest

from cmgr.store import files
from tests.model.acts import RULES
from tests.model.builders import T0
from tests.model.machine import Plan
from tests.soak.world import POLICIES, Soak, a_day
from tests.support.figures import Figures

pytestmark = pytest.mark.alone

EPISODES = int(os.environ.get("CMGR_SOAK", "50"))
SEED = int(os.environ.get("CMGR_SOAK_SEED", "1"))
PLAN = Plan(chips=16, containers=64, ring=2, runtimes=("docker", "containerd"), faulty=16, labels=True)

WARM = 0.2
"""The share of the episodes after which caches are full and the first history is old enough to go."""

ENOUGH = 500
"""Fewer episodes are too few to tell what grows from what goes up and down."""


class Weight(NamedTuple):
    """The size of cmgr at the end of a day: objects and bytes in memory, bytes of history, bytes on disk.

    `closed`: how many episodes have ended by then.
    """

    closed: int
    objects: int
    memory: int
    history: int
    disk: int


@pytest.mark.timeout(max(1200, EPISODES))
def test_many_episodes_lose_nothing_and_leave_nothing_behind(tmp_path: Path, figures: Figures) -> None:
    soak = Soak(SEED, POLICIES[0], PLAN, RULES, path=tmp_path / "state" / files.NAME)
    days = array("q")  # Plain numbers: what is weighed must not grow with each weighing.
    try:
        while soak.closed < EPISODES:
            a_day(soak)
            days.extend(_weighed(soak))
        if EPISODES >= ENOUGH:
            width = len(Weight._fields)
            _check_flat([Weight(*days[at : at + width]) for at in range(0, len(days), width)])
    except Exception as error:
        error.add_note(f"CMGR_SOAK_SEED={SEED}, day {len(days) // len(Weight._fields)}, episode {soak.closed}")
        raise
    finally:
        soak.close()
    _tell(soak, figures)


def _weighed(soak: Soak) -> Weight:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return Weight(
        soak.closed, sys.getallocatedblocks(), pages * os.sysconf("SC_PAGE_SIZE"), soak.history(), soak.on_disk()
    )


def _check_flat(days: Sequence[Weight]) -> None:
    """Compare the later half of the soak with the earlier one, when it was warm."""
    middle = (WARM + 1) / 2 * EPISODES
    early = [weight for weight in days if WARM * EPISODES <= weight.closed < middle]
    late = [weight for weight in days if weight.closed >= middle]
    # An object kept for each event would be 30 % more, one for each episode 0.2 %.
    assert mean(w.objects for w in late) < 1.01 * mean(w.objects for w in early)
    assert max(w.memory for w in late) < max(w.memory for w in early) + 8_000_000
    # It goes up and down with what happens and with the clock, and must come down to where it was: below 0.5 MB.
    # Without pruning it would come down to some 6 MB more.
    assert min(w.history for w in late) < min(w.history for w in early) + 1_000_000
    assert max(w.disk for w in late) < 1.5 * max(w.disk for w in early)


def _tell(soak: Soak, figures: Figures) -> None:
    section = "A day in a minute"
    figures.add(section, "episodes", soak.closed)
    figures.add(section, "facts decided on", soak.taken)
    figures.add(section, "hours of virtual time", int((soak.machine.now - T0).total_seconds() / 3600))
    figures.add(section, "times cmgr was killed", soak.deaths)
    figures.add(section, "writes that the database refused", soak.refused)
    figures.add(section, "resets ordered", soak.resets)
    figures.add(section, "containers started again", soak.starts)
    figures.add(section, "containers lost", 0)
