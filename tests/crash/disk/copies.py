"""The files on a machine's disk after each commit of an episode."""

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from cmgr.store.files import NAME
from tests.crash import checks
from tests.crash.trial import Trial
from tests.crash.worlds import RING, Place, Pretended, Simulated


@dataclass(frozen=True, slots=True)
class Copy:
    """The files on the disk after a commit, and how long the log was then."""

    folder: Path
    log: int


def place() -> Place:
    return Place(0, RING, Pretended(RING, 0), Simulated(RING, 0))


def copied(folder: Path) -> list[Copy]:
    """Play an episode in this directory, and return the copies in their order."""
    trial = Trial(place(), folder / "alive")
    trial.copies = str(folder / "copies")
    trial.play()
    checks.all_is_well(trial)
    found = [
        Copy(each, (each / "state" / f"{NAME}-wal").stat().st_size) for each in sorted((folder / "copies").iterdir())
    ]
    assert len(found) > 4, "on a busy machine several answers come in one commit, but never all of an episode"
    assert all(a.log < b.log for a, b in pairwise(found)), "every commit made the log longer"
    return found
