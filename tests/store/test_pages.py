"""How much of the file the transaction touches that the first stops of a recovery wait for."""

import re
from collections.abc import Callable
from pathlib import Path

from cmgr.model.values.messages.commands import Note, StopContainer
from cmgr.store import statements
from cmgr.store.sqlite import SqliteStore
from tests.model.builders import RING, Cmgr, container

MOST = 12
"""Pages, each of a tree of its own: of faults, rings, episodes, holds, orders, the restraint, `meta`, and notes."""

PAGE, HEAD, FRAME = 4096, 32, 24
"""Sizes, in bytes: https://sqlite.org/fileformat2.html#walformat."""


def written(path: Path) -> int:
    """Return how many pages stand in the log."""
    log = path.with_name(f"{path.name}-wal")
    return (log.stat().st_size - HEAD) // (PAGE + FRAME) if log.stat().st_size else 0


def stop_eight(store: SqliteStore) -> Callable[[], None]:
    """Have eight containers be known to the store, and return what saves that they are to be stopped for a fault."""
    cmgr = Cmgr(*(container(f"job-{chip}", chip) for chip in range(8)), policy=RING, chips=8, ring=8)
    store.save(cmgr.node, (), ())
    done = cmgr.fault(3)
    notes = [command for command in done if isinstance(command, Note)]
    actions = [command for command in done if not isinstance(command, Note)]
    assert sum(isinstance(action, StopContainer) for action in actions) == 8
    return lambda: store.save(cmgr.node, actions, notes)


def test_the_first_stops_of_a_ring_wait_for_a_few_pages(store: SqliteStore, path: Path) -> None:
    save = stop_eight(store)
    store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert written(path) == 0
    save()
    assert written(path) <= MOST


def test_they_wait_for_no_statement_that_the_store_has_not_compiled_when_it_was_opened(store: SqliteStore) -> None:
    save, seen = stop_eight(store), list[str]()
    store.connection.set_trace_callback(seen.append)
    save()
    store.connection.set_trace_callback(None)
    compiled = {re.split("[(=]", statement)[0] for statement in statements.FIRST_STOP}
    assert {re.split("[(=]", statement)[0] for statement in seen} == {*compiled, "BEGIN IMMEDIATE", "COMMIT"}
