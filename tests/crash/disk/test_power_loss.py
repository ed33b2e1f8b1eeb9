"""The machine loses its power: what is on disk at any commit, whole or torn, leads to the same end.

CMGR_CRASH_EVERY=1 tears the log at each place; without it at a third of them.
"""

import random
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest

from cmgr.model.values.node import Node
from cmgr.store import open_store
from cmgr.store.files import NAME
from tests.crash import checks
from tests.crash.disk.copies import Copy, place
from tests.crash.matrix import STRIDE
from tests.crash.trial import Trial
from tests.support.figures import Figures

pytestmark = pytest.mark.alone

WAL_HEADER, FRAME_HEADER = 32, 24  # https://www.sqlite.org/fileformat2.html#the_write_ahead_log
PAGE_SIZE = slice(8, 12)

SECTION = "Power loss"


def torn(copy: Copy, at: int, to: Path, *, garbage: int | None = None) -> Path:
    """Copy it, with the log cut off there; or, from there on, with what an unwritten part of a disk may hold."""
    shutil.copytree(copy.folder, to)
    log = to / "state" / f"{NAME}-wal"
    whole = log.read_bytes()
    rest = b"" if garbage is None else random.Random(garbage).randbytes(len(whole) - at)  # noqa: S311
    log.write_bytes(whole[:at] + rest)
    return to


def test_every_commit_whole_or_torn_leads_to_the_same_end(
    folder: Path, copies: Sequence[Copy], figures: Figures
) -> None:
    whole = [copy.folder for copy in copies]
    # The last commit did not get there, or not all of it; nothing was ordered for it yet.
    draw = random.Random(1)  # noqa: S311
    cuts = [(copy, draw.randint(before.log, copy.log - 1)) for before, copy in pairwise(copies)]
    cut = [torn(copy, at, folder / f"cut-{at}") for copy, at in cuts]
    for each in whole:
        (each / "state" / f"{NAME}-shm").unlink(missing_ok=True)

    def goes_on(numbered: tuple[int, Path]) -> None:
        number, left = numbered
        trial = Trial(place(), folder / f"later-{number}")
        trial.resume(left)
        checks.all_is_well(trial)

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(goes_on, enumerate([*whole, *cut])))
    figures.add(SECTION, "copies of the database and the world that a new service went on from", len(whole) + len(cut))
    figures.add(SECTION, "containers lost, left down or started twice", 0)


def test_a_log_torn_anywhere_holds_exactly_the_commits_that_were_whole(
    folder: Path, copies: Sequence[Copy], figures: Figures
) -> None:
    last = copies[-1]
    nodes = [_opened(shutil.copytree(c.folder, folder / f"whole-{n}")) for n, c in enumerate(copies)]
    cuts = list(_cuts(last))[::STRIDE]
    for at in cuts:
        for garbage in (None, at):
            node = _opened(torn(last, at, folder / f"torn-{at}-{garbage}", garbage=garbage))
            whole = [known for known, copy in zip(nodes, copies, strict=True) if copy.log <= at]
            assert not whole or node == whole[-1], f"cut at {at}, {garbage}"
            shutil.rmtree(folder / f"torn-{at}-{garbage}")
    figures.add(SECTION, "torn write-ahead logs opened", 2 * len(cuts))
    figures.add(SECTION, "of them read as anything but their whole commits", 0)


def _cuts(copy: Copy) -> Iterator[int]:
    """Each end of a frame, and a place inside each."""
    log = (copy.folder / "state" / f"{NAME}-wal").read_bytes()
    frame = FRAME_HEADER + int.from_bytes(log[PAGE_SIZE], "big")
    draw = random.Random(2)  # noqa: S311
    for start in range(WAL_HEADER, copy.log, frame):
        yield start
        yield start + draw.randint(1, frame - 1)


def _opened(left: Path) -> Node:
    store = open_store(left / "state" / NAME)
    node = store.load()
    store.close()
    assert store.damage == ""
    return node
