"""The store in SQLite: one connection, one writer, one transaction for each save."""

import sqlite3
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from cmgr import __version__
from cmgr.errors import StoreError, chain
from cmgr.frozen import replace
from cmgr.model.values.messages.commands import Action, CommandId, Note, NoteKind
from cmgr.model.values.node import Node
from cmgr.sentences.sentence import chained, say
from cmgr.store import files, history, rows, statements
from cmgr.store.changes import Change, changes
from cmgr.store.spare import NAME, Holds, Spare

if TYPE_CHECKING:
    from cmgr.store.schema import Upgrade

MOST_UNSAVED = 10_000
"""So many notes are kept for a save that works again."""

# Read once, so that a file that is begun anew needs nothing of the disk but its own place.
_TABLES = tuple(Path(__file__).with_name("schema.sql").read_text().removesuffix(";\n").split(";\n"))
"""The statements that make the tables of a new file."""

_NOTABLE = timedelta(seconds=1)
"""By less than this a clock is not set, but kept right."""

_BUSY = 0.2
"""How long, in seconds, a stranger's lock on the file may hold up the service's one thread."""

_BROKEN_OFF = 1.0
"""How long, in seconds, the end waits for a look at the file that is to break off."""

_HINTS: Mapping[int | None, str] = {
    sqlite3.SQLITE_FULL: files.FREE_SPACE,
    sqlite3.SQLITE_READONLY: files.MAKE_WRITABLE,
    sqlite3.SQLITE_CANTOPEN: files.MAKE_WRITABLE,
    sqlite3.SQLITE_BUSY: say("store.locked"),
    sqlite3.SQLITE_IOERR: files.LOOK_AT_DISK,
}


class SqliteStore:
    """The `ports.Store` in a file that is there and is not damaged; `open_store` sees to that."""

    def __init__(
        self, path: Path, lock: files.Lock, damage: str = "", upgrades: "Mapping[int, Upgrade] | None" = None
    ) -> None:
        """Open the file, bring it to the present level and read it. Raises `files.Damaged`, `StoreError`.

        `lock` is given back by `close`, and not when this raises. `damage` says what happened to the file before.
        `upgrades`: instead of `schema.UPGRADES`.
        """
        self.path = path
        self._lock = lock
        self._spare = Spare(path)
        self._owner = threading.get_ident()
        self._notes: deque[Note] = deque()
        self._lost = 0
        self._orders: dict[CommandId, history.Order] = {}
        self._ahead = timedelta()
        self._lived = datetime.min.replace(tzinfo=UTC)
        self._closed = False
        self._found: files.Damaged | None = None
        self._examining = threading.Lock()
        self._ending = False
        self._look: sqlite3.Connection | None = None
        self.connection = _connected(path)
        """For who looks at what is done: the one connection there is."""
        try:
            self._make_current(upgrades)
            self._saved, self._sent = self._read()
            with self._reading() as connection:
                for statement in statements.FIRST_STOP:
                    connection.executemany(statement, ())  # It is compiled now, and kept: no stop waits for that.
                self._last, self.noted = history.newest(connection)
                (told,) = connection.execute("SELECT alive FROM meta").fetchone()
                self.alive = None if told is None else rows.moment(told)
        except BaseException:
            self._disconnect()
            raise
        # Also where an earlier life began it anew, and came to no save.
        self._spared = self._spare.read() if self._saved == Node() else {}
        self.damage = _all_damage(path, damage, self._spared)

    def load(self) -> Node:
        """Return what the last save left, and what was held where the file had to be begun anew.

        The chips are those of the last life, for whoever reads without one.
        """
        return replace(self._saved, holds=self._spared) if self._spared else self._saved

    def save(self, node: Node, actions: Sequence[Action], notes: Sequence[Note]) -> None:
        """See `ports.Store`. Knowledge of this life only, and counters that went up for questions, cause no write.

        Of the actions only those that change something are written; they go when the node no longer waits for
        their answer. After failures the newest `MOST_UNSAVED` notes are kept, and a note tells how many are lost.
        """
        assert threading.get_ident() == self._owner, "only the thread that opened the store may save"
        pending = history.in_flight(node) if self._sent or self._orders else frozenset()
        self._orders = {id_: order for id_, order in self._orders.items() if id_ in pending} | history.orders(actions)
        self._notes.extend(notes)
        due = changes(self._saved, node)
        answered = self._sent - pending
        if due or answered or self._orders or self._notes or node.episodes != self._saved.episodes:
            try:
                self._save(node, due, answered)
            except StoreError:
                self._forget_oldest()
                raise
            self._sent = (self._sent - answered) | self._orders.keys()
            self._orders = {}
            self._notes.clear()
            self._lost = 0
        self._saved, self._spared = node, {}
        self._spare.write(node.holds)

    def outcomes(self) -> Mapping[str, int]:
        """Return how many episodes ended with each outcome since the file was made, pruned ones included.

        Blocks for milliseconds. Raises `StoreError`.
        """
        assert threading.get_ident() == self._owner, "only the thread that opened the store may ask"
        with self._transaction("read") as connection:
            return dict(connection.execute("SELECT outcome, episodes FROM outcomes").fetchall())

    def _save(self, node: Node, due: Sequence[Change], answered: frozenset[CommandId]) -> None:
        try:
            if self._closed:
                raise files.Damaged(f"cannot save to {self.path}: it could not be begun again")
            found, self._found = self._found, None
            if found is not None:
                raise found
            self._write_all(node, due, answered)
        except files.Damaged as damaged:
            # The node has all that is held: that must not end with this life because a page of the file is bad.
            self._begin_anew(damaged)
            self._write_all(node, changes(self._saved, node), answered)

    def _write_all(self, node: Node, due: Iterable[Change], answered: frozenset[CommandId]) -> None:
        with self._transaction("save to") as connection:
            self._write(connection, due)
            self._write(connection, (self._commands(answered),))
            self._write_notes(connection)
            count = {"serial": node.serial, "episodes": node.episodes, "alive": self._now_alive()}
            connection.execute(statements.COUNT, count)

    def _begin_anew(self, damaged: files.Damaged) -> None:
        """Set the file aside, and open a new one in which nothing was saved yet. Raises `StoreError`."""
        # Before the new one is there: SQLite removes a log by its name when it closes.
        self._disconnect()
        aside = files.set_aside(self.path, datetime.now(UTC))
        if aside.exists() and aside.stat().st_size:
            self.damage = say("store.written-again", path=str(self.path), aside=aside.name, why=chained(damaged))
        files.make(self.path)
        self.connection, self._closed = _connected(self.path), False
        self._saved, self._sent = Node(), frozenset()
        self._last = 0
        self._make_current({})

    def live(self) -> None:
        """Note that this life goes on, if that was noted a while ago. Blocks for milliseconds. Raises `StoreError`."""
        if abs(datetime.now(UTC) - self._lived) >= history.LIVES_EVERY:
            with self._transaction("write") as connection:
                connection.execute(statements.LIVE, {"alive": self._now_alive()})

    def _now_alive(self) -> str:
        self._lived = datetime.now(UTC)
        return rows.stamp(self._lived)

    def examine(self) -> str:
        """Look at all of the file, which takes seconds where its history is long. Return what is damaged, if anything.

        The next save sets such a file aside, as if it had met the damage. Any thread. Does not raise: what cannot be
        read now is met by whoever reads it.
        """
        with self._examining:
            try:
                files.examine_beside(self.path, self._looks)
            except files.Damaged as damaged:
                if not self._ending:  # A look that breaks off calls lost what it has not seen.
                    self._found = damaged
                    return chain(damaged)
            except StoreError:
                pass
            finally:
                self._look = None
        return ""

    def _looks(self, connection: sqlite3.Connection) -> None:
        self._look = connection
        if self._ending:
            raise StoreError(f"cannot look at {self.path}: it is being closed")

    def correct(self, ahead: timedelta) -> None:
        """Stamp history by a clock that is so far ahead of the one in `Note.at`, what this life has noted included.

        For whenever the system's clock was set. Blocks for milliseconds. Raises `StoreError`, once.
        """
        assert threading.get_ident() == self._owner, "only the thread that opened the store may correct it"
        if abs(ahead - self._ahead) < _NOTABLE:
            return
        by, self._ahead = ahead - self._ahead, ahead
        with self._transaction("correct") as connection:
            history.correct(connection, self._last, by)

    def prune(self, before: datetime, keep_notes: int) -> int:
        """See `ports.Store`. Notes of an open episode do not grow too old; a backlog goes in several calls."""
        assert threading.get_ident() == self._owner, "only the thread that opened the store may prune"
        with self._transaction("prune") as connection:
            return history.prune(connection, before, keep_notes)

    def close(self) -> None:
        self._break_off()
        with suppress(sqlite3.Error):
            self.connection.execute(statements.LIVE, {"alive": self._now_alive()})
        self._disconnect()
        self._lock.release()

    def _break_off(self) -> None:
        """End a look at the file: only the last connection that is closed puts SQLite's log into the file."""
        self._ending = True
        if (look := self._look) is not None:
            with suppress(sqlite3.Error):  # It has just ended.
                look.interrupt()
        if self._examining.acquire(timeout=_BROKEN_OFF):
            self._examining.release()

    def _disconnect(self) -> None:
        self._closed = True
        with suppress(sqlite3.Error):
            self.connection.close()

    def _make_current(self, upgrades: "Mapping[int, Upgrade] | None") -> None:
        with _translated("open", self.path):
            level = files.level_of(self.connection, self.path)
        if level == files.LEVEL:
            return
        if level is None:
            self._make_tables()
            return
        from cmgr.store import schema

        for step in range(level + 1, files.LEVEL + 1):
            with _translated(say("store.upgrade", level=step), self.path):
                schema.upgrade(self.connection, step, (upgrades or schema.UPGRADES)[step], __version__)

    def _make_tables(self) -> None:
        first = {"level": files.LEVEL, "version": __version__, "created": rows.stamp(datetime.now(UTC))}
        with self._transaction("write") as connection:
            for statement in _TABLES:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {files.APPLICATION_ID}")
            connection.execute(statements.BEGIN, first)

    def _read(self) -> tuple[Node, frozenset[CommandId]]:
        try:
            with self._reading() as connection:
                # Read whole: a cursor that met a bad row and lives on in the error would keep the file open.
                node = rows.node_of(lambda query: connection.execute(query).fetchall())
                sent = connection.execute("SELECT id FROM commands").fetchall()
                return node, frozenset(CommandId(row["id"]) for row in sent)
        except StoreError as exc:
            if files.kind_of(exc.__cause__) == sqlite3.SQLITE_ERROR:  # A table or a column is not there.
                raise files.Damaged(exc.message) from exc.__cause__
            raise

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """Let rows be read; one that is none of ours is damage."""
        try:
            with self._transaction("read") as connection:
                yield connection
        except (ValueError, TypeError, LookupError) as exc:
            raise files.Damaged(say("trust.cannot-read", path=str(self.path))) from exc

    def _write(self, connection: sqlite3.Connection, due: Iterable[Change]) -> None:
        for change in due:
            _execute(connection, statements.DROP[change.table], change.drop)
            _execute(connection, statements.PUT[change.table], change.put)

    def _commands(self, answered: frozenset[CommandId]) -> Change:
        now = datetime.now(UTC)
        put = tuple(history.COMMANDS.cells(history.command(order, now)) for order in self._orders.values())
        return Change(history.COMMANDS.name, put, tuple((id_,) for id_ in answered))

    def _write_notes(self, connection: sqlite3.Connection) -> None:
        notes = [replace(note, at=note.at + self._ahead) for note in self._notes] if self._ahead else list(self._notes)
        if self._lost:
            text = f"{self._lost} notes before this one are lost: the database could not be written"
            notes.insert(0, Note(notes[0].at, NoteKind.WARNING, text))
        _execute(connection, statements.PUT["episodes"], list(map(history.EPISODES.cells, history.opened(notes))))
        closed = history.closed(notes)
        _execute(connection, statements.CLOSE_EPISODE, list(map(history.EPISODES.cells, closed)))
        _execute(connection, statements.COUNT_OUTCOME, [(episode.outcome,) for episode in closed])
        _execute(connection, statements.ADD_NOTE, [history.note_cells(note) for note in notes])

    def _forget_oldest(self) -> None:
        while len(self._notes) > MOST_UNSAVED:
            self._notes.popleft()
            self._lost += 1

    @contextmanager
    def _transaction(self, doing: str) -> Iterator[sqlite3.Connection]:
        with _translated(doing, self.path):
            # Python's own BEGIN comes before a change only, and asks for the write lock when it may be too late.
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield self.connection
                self.connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):  # After some errors SQLite has done that itself.
                    self.connection.execute("ROLLBACK")
                raise


def _all_damage(path: Path, damage: str, spared: Holds) -> str:
    """Return what happened to the file, and what became of what was held."""
    if spared:
        names = [hold.name for hold in spared.values()]
        damage = damage or say("store.was-not-there", path=str(path))
        return say("store.holds-known", damage=damage, file=NAME, names=names)
    return damage and say("store.holds-lost", damage=damage)


def _connected(path: Path) -> sqlite3.Connection:
    # mode=rw: SQLite must not make the file, its mode would be the umask's.
    uri = f"file:{quote(str(path.absolute()))}?mode=rw"
    with _translated("open", path):
        connection = sqlite3.connect(uri, uri=True, timeout=_BUSY, isolation_level=None)
        try:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA journal_size_limit = 4194304")  # One large save must not keep the disk for ever.
        except sqlite3.Error:
            connection.close()
            raise
    return connection


def _execute(connection: sqlite3.Connection, statement: str, given: Sequence[rows.Cells]) -> None:
    if given:
        connection.executemany(statement, given)


@contextmanager
def _translated(doing: str, path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as exc:
        if files.is_damage(exc):
            raise files.Damaged(say("store.cannot", do=doing, path=str(path)), hint=say("store.restart")) from exc
        # SQLite has another word for a full disk when it was to be opened on it.
        hint = files.FREE_SPACE if files.is_full(path) else _HINTS.get(files.kind_of(exc), "")
        raise StoreError(say("store.cannot", do=doing, path=str(path)), hint=hint) from exc
