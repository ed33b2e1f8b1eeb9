"""A save that fails leaves nothing behind, and the next one that works writes everything that is due."""

import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from cmgr.errors import StoreError, chain, sentence
from cmgr.model.values.messages.commands import CommandId, NoteKind, StopContainer
from cmgr.store import open_store
from cmgr.store.reader import open_reader
from cmgr.store.sqlite import MOST_UNSAVED, SqliteStore
from tests.store import values

HELD = values.node(values.hold("s1"), values.fault())


def run(store: SqliteStore, statement: str) -> int:
    """Run one statement on the store's own connection, outside a transaction."""
    row = store.connection.execute(statement).fetchone()
    return int(row[0]) if row is not None else 0


@contextmanager
def full_disk(store: SqliteStore) -> Iterator[None]:
    """Let the file not grow any more."""
    most = run(store, "PRAGMA max_page_count")
    run(store, f"PRAGMA max_page_count = {run(store, 'PRAGMA page_count')}")
    yield
    run(store, f"PRAGMA max_page_count = {most}")


@contextmanager
def refused(store: SqliteStore) -> Iterator[None]:
    """Let the last statement of a save fail when all others are done."""
    run(store, "CREATE TRIGGER refuse BEFORE UPDATE ON meta BEGIN SELECT raise(ABORT, 'no'); END")
    yield
    run(store, "DROP TRIGGER refuse")


def test_a_full_disk_is_told_and_everything_is_written_when_there_is_room(store: SqliteStore, path: Path) -> None:
    long = [values.note("x" * 900) for _ in range(50)]
    with full_disk(store):
        with pytest.raises(StoreError) as info:
            store.save(HELD, [values.stop("s1")], long)
        assert sentence(info.value) == (
            f"cannot save to {path}: database or disk is full (hint: free space on its file system)"
        )
        with open_reader(path) as reader:
            assert (reader.node(), reader.notes(None, 99)) == (values.node(), ())
    store.save(HELD, [], [values.note("there is room")])
    with open_reader(path) as reader:
        assert reader.node() == values.node(values.hold(), values.fault())
        assert [command.id for command in reader.commands()] == ["s1"]
        assert [note.text for note in reader.notes(None, 99)] == ["x" * 900] * 50 + ["there is room"]


def test_a_failed_save_wrote_nothing(store: SqliteStore, path: Path) -> None:
    with refused(store):
        with pytest.raises(StoreError, match="cannot save to"):
            store.save(HELD, [values.stop("s1")], [values.note("held", NoteKind.OPENED)])
        with open_reader(path) as reader:
            assert (reader.node(), reader.commands(), reader.notes(None, 9)) == (values.node(), (), ())
            assert reader.episodes(9) == ()


def test_after_a_failure_the_next_save_is_due_even_if_nothing_changed_since(store: SqliteStore, path: Path) -> None:
    with refused(store), pytest.raises(StoreError):
        store.save(HELD, [values.stop("s1")], [])
    store.save(HELD, [], [])
    with open_reader(path) as reader:
        assert list(reader.node().holds) == [values.KEY]
        assert [command.id for command in reader.commands()] == ["s1"]


def test_an_order_of_a_failed_save_that_was_given_up_is_not_written(store: SqliteStore, path: Path) -> None:
    with refused(store), pytest.raises(StoreError):
        store.save(HELD, [values.stop("s1")], [])
    retried: tuple[StopContainer, ...] = (values.stop("s2"),)
    store.save(values.node(values.hold("s2"), values.fault()), retried, [])
    with open_reader(path) as reader:
        assert [command.id for command in reader.commands()] == [CommandId("s2")]


def test_of_too_many_unsaved_notes_the_oldest_are_lost_and_a_note_says_so(store: SqliteStore, path: Path) -> None:
    with refused(store):
        for start in (0, MOST_UNSAVED):
            with pytest.raises(StoreError):
                store.save(HELD, [], [values.note(str(start + i)) for i in range(MOST_UNSAVED)])
        with pytest.raises(StoreError):
            store.save(HELD, [], [values.note("last")])
    store.save(HELD, [], [values.note("works")])
    with open_reader(path) as reader:
        notes = reader.notes(None, 3 * MOST_UNSAVED)
    lost = MOST_UNSAVED + 1
    assert notes[0].text == f"{lost} notes before this one are lost: the database could not be written"
    assert (notes[0].kind, notes[0].container) == (NoteKind.WARNING, None)
    assert [note.text for note in notes[1:]] == [str(i) for i in range(lost, 2 * MOST_UNSAVED)] + ["last", "works"]
    store.save(HELD, [], [values.note("after")])
    with open_reader(path) as reader:
        assert [note.text for note in reader.notes(None, 2)] == ["works", "after"]


def test_a_strangers_lock_is_an_error_soon_and_harmless_later(store: SqliteStore, path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as stranger:
        stranger.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError) as info:
            store.save(HELD, [], [])
        assert sentence(info.value) == (
            f"cannot save to {path}: database is locked (hint: another program has locked it: end that one)"
        )
        with pytest.raises(StoreError, match="cannot prune"):
            store.prune(values.NOW, 10)
        stranger.execute("ROLLBACK")
    store.save(HELD, [], [])
    with open_reader(path) as reader:
        assert list(reader.node().holds) == [values.KEY]


def test_a_file_that_cannot_be_written_is_an_error(store: SqliteStore, path: Path) -> None:
    run(store, "PRAGMA query_only = ON")
    with pytest.raises(StoreError) as info:
        store.save(HELD, [], [])
    assert chain(info.value) == f"cannot save to {path}: attempt to write a readonly database"
    assert info.value.hint == "make the file and its directory writable"
    run(store, "PRAGMA query_only = OFF")
    store.save(HELD, [], [])


def test_a_damaged_file_that_cannot_be_begun_anew_yet_is_later(store: SqliteStore, path: Path) -> None:
    damaged_under(store, path)
    path.parent.rename(path.parent.with_name("elsewhere"))
    for _ in range(2):
        with pytest.raises(StoreError):
            store.save(HELD, [values.stop("s1")], [])
    path.parent.with_name("elsewhere").rename(path.parent)
    store.save(HELD, [], [])
    with open_reader(path) as reader:
        assert list(reader.node().holds) == [values.KEY]
    assert max(aside.stat().st_size for aside in path.parent.glob("cmgr.db.damaged-*")) > 4096


def damaged_under(store: SqliteStore, path: Path) -> None:
    """Damage all pages but the first."""
    store.save(values.node(values.hold()), [], [values.note(f"line {i}") for i in range(400)])
    run(store, "PRAGMA wal_checkpoint(TRUNCATE)")
    run(store, "PRAGMA shrink_memory")  # The pages that SQLite still has in its memory are not damaged.
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\xa5" * (path.stat().st_size - 4096))


def test_a_file_that_is_damaged_under_an_open_store_is_set_aside_and_everything_is_written_anew(
    store: SqliteStore, path: Path
) -> None:
    damaged_under(store, path)
    store.save(HELD, [values.stop("s1")], [values.note("after")])
    (aside,) = path.parent.glob("cmgr.db.damaged-*")
    assert store.damage.startswith(f"{path} was damaged, is kept as {aside.name}, and all but its history was written")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    with open_reader(path) as reader:
        assert list(reader.node().holds) == [values.KEY]
        assert [command.id for command in reader.commands()] == ["s1"]
        assert [note.text for note in reader.notes(None, 9)] == ["after"]
    store.save(values.node(), [], [])
    store.close()
    with closing(open_store(path)) as again:
        assert (again.load(), again.damage) == (values.node(), "")
