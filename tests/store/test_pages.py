"""How much of the file the transaction touches that the first stops of a recovery wait for."""

from contextlib import closing
from pathlib import Path

from cmgr.model.values.messages.commands import Note, StopContainer
from cmgr.store import open_store
from tests.model.builders import RING, Cmgr, container

MOST = 12
"""Pages, each of a tree of its own: of faults, rings, episodes, holds, orders, the restraint, `meta`, and notes."""

PAGE, HEAD, FRAME = 4096, 32, 24
"""Sizes, in bytes: https://sqlite.org/fileformat2.html#walformat."""


def written(path: Path) -> int:
    """Return how many pages stand in the log."""
    log = path.with_name(f"{path.name}-wal")
    return (log.stat().st_size - HEAD) // (PAGE + FRAME) if log.stat().st_size else 0


def test_the_first_stops_of_a_ring_wait_for_a_few_pages(path: Path) -> None:
    cmgr = Cmgr(*(container(f"job-{chip}", chip) for chip in range(8)), policy=RING, chips=8, ring=8)
    with closing(open_store(path)) as store:
        store.save(cmgr.node, (), ())
        store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert written(path) == 0
        done = cmgr.fault(3)
        notes = [command for command in done if isinstance(command, Note)]
        actions = [command for command in done if not isinstance(command, Note)]
        assert sum(isinstance(action, StopContainer) for action in actions) == 8
        store.save(cmgr.node, actions, notes)
        assert written(path) <= MOST
