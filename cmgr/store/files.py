"""The database file before SQLite has it: its name, place, modes, lock, schema level, and what to do when damaged.

Standard library only, so that the command line, which only reads, starts quickly.
"""

import contextlib
import errno
import fcntl
import os
import shlex
import sqlite3
from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from cmgr import trust
from cmgr.errors import StoreBusy, StoreError, StoreTooNew, system_words
from cmgr.sentences.sentence import say

NAME = "cmgr.db"
"""The database's name in the state directory."""

LEVEL = 5
"""The schema's level that this cmgr writes."""

HISTORY = "notes"
"""The table that grows to millions of lines: whoever starts has not the time to look at all of it."""

APPLICATION_ID = int.from_bytes(b"cmgr", "big")
"""Stands in the header of every database of cmgr."""

FREE_SPACE = say("store.free-space")
MAKE_WRITABLE = say("store.make-writable")
LOOK_AT_DISK = say("store.look-at-disk", command="dmesg")

_REMEDIES = {
    errno.EIO: LOOK_AT_DISK,
    errno.ENOSPC: FREE_SPACE,
    errno.EDQUOT: FREE_SPACE,
    errno.EROFS: MAKE_WRITABLE,
    errno.EACCES: MAKE_WRITABLE,
    errno.EPERM: MAKE_WRITABLE,
}

_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class Damaged(StoreError):
    """The file's content is not what cmgr wrote; `open_store` sets such a file aside."""


class Lock:
    """The right to write the database, held by one process."""

    def __init__(self, path: Path) -> None:
        """Take it. Does not wait. Raises `StoreBusy`, `StoreError`."""
        self._path = path
        self._file = _locked(path)

    def renew(self) -> None:
        """Take it again where its file was removed, and others would make another one. Raises as when it was made."""
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(self._file), _lock_of(self._path).lstat()):
                return
        lost, self._file = self._file, _locked(self._path)
        os.close(lost)

    def release(self) -> None:
        """Give it back. Safe to repeat. The file stays: who removes it could remove another's lock."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def _lock_of(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


def _locked(path: Path) -> int:
    file = _opened(_lock_of(path))
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = os.pread(file, 20, 0).decode("ascii", "replace").strip()
        os.close(file)
        raise StoreBusy(say("store.busy", path=str(path), pid=holder or say("word.unknown"))) from None
    try:
        os.ftruncate(file, 0)
        os.pwrite(file, f"{os.getpid()}\n".encode(), 0)
    except OSError as exc:
        # A file system that failed can be opened for writing and refuses only that.
        os.close(file)
        raise _unusable(_lock_of(path), exc) from None
    return file


def holder(path: Path) -> int | None:
    """Return the process that has the right to write the database there; None where none has, or nobody can tell.

    The right itself is not tried: a service that begins just then would not get it.
    """
    try:
        with _lock_of(path).open("rb") as file:
            pid, inode = file.read(20).strip(), os.fstat(file.fileno()).st_ino
        locks = Path("/proc/locks").read_bytes()
    except OSError:
        return None
    for line in locks.splitlines():
        _, kind, _, mode, owner, place = line.split()[:6]
        if (kind, mode, owner, place.rpartition(b":")[2]) == (b"FLOCK", b"WRITE", pid, b"%d" % inode):
            return int(pid)
    return None


def claim(path: Path) -> Lock:
    """Take the right to write the database there, in a directory that is made for it. Raises as `Lock`."""
    make_directory(path)
    return Lock(path)


def make(path: Path) -> None:
    """Make sure that there is a file, if an empty one, with the mode that the other files take over from it.

    Raises `StoreError`.
    """
    os.close(_opened(path))


def make_directory(path: Path) -> None:
    """Make sure that the file's directory is there, and nobody else's. Raises `StoreError`."""
    try:
        path.parent.mkdir(mode=0o750, parents=True)
        path.parent.chmod(0o750)  # The umask may have narrowed it too far for the group.
    except FileExistsError:
        _refuse_place(path)
    except OSError as exc:
        raise StoreError(say("store.no-directory", path=str(path.parent))) from exc


def _refuse_place(path: Path) -> None:
    try:
        found = trust.weakness(path)
    except OSError as exc:
        raise StoreError(say("store.cannot-look", path=str(path.parent))) from exc
    if found is not None:
        raise _of(path, found.reason, found.hint)


def _of(path: Path, why: str, hint: str = "") -> StoreError:
    return StoreError(say("store.cannot-use-for", path=str(path), why=why), hint=hint)


def _unusable(path: Path, error: OSError) -> StoreError:
    return _of(path, system_words(error), _REMEDIES.get(error.errno or 0, ""))


def _opened(path: Path) -> int:
    try:
        _refuse_all_but_a_file(path)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o640)
    except OSError as exc:
        raise _unusable(path, exc) from None
    found = trust.stranger(path, os.fstat(file))
    if found is not None:
        os.close(file)
        raise _of(path, found.reason, found.hint)
    with contextlib.suppress(PermissionError):  # Root's file that we may write keeps its mode.
        os.fchmod(file, 0o640)  # Whatever the umask is, and was.
    return file


def _refuse_all_but_a_file(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        found = trust.no_file(path, path.lstat())
        if found is not None:
            raise _of(path, found.reason, found.hint)


def connect_readonly(path: Path) -> sqlite3.Connection:
    """Open the file so that no byte of it changes. Raises `sqlite3.Error`, `StoreError` for no right to."""
    if path.exists() and not os.access(path, os.R_OK):
        hint = say("trust.use-sudo", command=f"ls -l {shlex.quote(str(path))}")
        raise StoreError(say("trust.denied", path=str(path)), hint=hint)
    # Without a write-ahead log nobody is writing, and SQLite must not make one to read: the directory may be
    # read-only for us, and files that root made there would have root's group.
    # https://www.sqlite.org/wal.html#read_only_databases
    log = _beside(path, "-wal")
    if not log.exists():
        return _connected(path, "immutable=1")
    connection = _connected(path, "mode=ro")
    try:
        connection.execute("SELECT 1 FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        # An open that failed on a full disk leaves a log of no bytes, which can be read no better.
        return _connected(path, "mode=ro" if _has_content(log) else "immutable=1")
    return connection


def _connected(path: Path, how: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{quote(str(path.absolute()))}?{how}", uri=True, timeout=1, isolation_level=None)
    connection.row_factory = sqlite3.Row
    return connection


def level_of(connection: sqlite3.Connection, path: Path) -> int | None:
    """Return the schema's level, or None when the file has no tables yet.

    Raises `StoreTooNew`, `StoreError` for another program's database, `sqlite3.Error`.
    """
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables == 0:
        return None
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION_ID:
        raise _of(path, say("store.other-programs"), say("store.move-aside"))
    row = connection.execute("SELECT level, version FROM meta").fetchone()
    if row is None:
        raise Damaged(say("store.cannot-use-for", path=str(path), why=say("store.no-level")))
    level, version = int(row[0]), row[1]
    if level > LEVEL:
        why = say("store.newer", version=version, level=level, known=LEVEL)
        hint = say("store.install-newer", version=version)
        raise StoreTooNew(say("store.cannot-use-for", path=str(path), why=why), hint=hint)
    return level


def examine(path: Path, but: Collection[str] = ()) -> None:
    """Look at the file, but at these tables, without changing it. Raises `Damaged`, `StoreTooNew`, `StoreError`."""
    with _told_apart(path):
        _refuse_all_but_a_file(path)
        if not path.exists() or path.stat().st_size == 0:
            return
        with contextlib.closing(connect_readonly(path)) as connection:
            tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            for what in [f'"{name}"' for name in tables if name not in but] if but else ["1"]:
                _check(connection, path, what)
            level_of(connection, path)


def examine_beside(path: Path, begun: Callable[[sqlite3.Connection], object]) -> None:
    """Look at all of a file that this process has open to write. Any thread; of a million lines it takes seconds.

    `begun` is called with the connection: its `interrupt` ends the look. Raises `Damaged`, `StoreError`.
    """
    with _told_apart(path), contextlib.closing(_connected(path, "mode=ro")) as connection:
        begun(connection)
        _check(connection, path, "1")


def _check(connection: sqlite3.Connection, path: Path, what: str) -> None:
    found = [row[0] for row in connection.execute(f"PRAGMA quick_check({what})")]
    if found != ["ok"]:
        raise Damaged(say("store.cannot-use-for", path=str(path), why=found[0].splitlines()[-1]))


@contextlib.contextmanager
def _told_apart(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as exc:
        if is_damage(exc):
            raise Damaged(say("store.cannot-use", path=str(path))) from exc
        raise StoreError(say("trust.cannot-read", path=str(path))) from exc


def kind_of(error: BaseException | None) -> int | None:
    """Return SQLite's own code for the error, without its details; None when it has none."""
    code: int | None = getattr(error, "sqlite_errorcode", None)
    # The low byte is the kind, the rest details: https://www.sqlite.org/rescode.html
    return None if code is None else code & 0xFF


def is_full(path: Path) -> bool:
    """Return whether the file's file system has no room left."""
    with contextlib.suppress(OSError):
        found = os.statvfs(path)
        return found.f_blocks > 0 and found.f_bavail == 0
    return False


def is_damage(error: BaseException) -> bool:
    """Return whether the error says that the file's content is wrong, and not that it cannot be reached."""
    if isinstance(error, sqlite3.OperationalError) and kind_of(error) is None:
        return True  # Python's own: a text is no UTF-8.
    return kind_of(error) in _DAMAGED or isinstance(error, ValueError | TypeError | LookupError)


def set_aside(path: Path, now: datetime, why: str = "damaged") -> Path:
    """Rename the file for this reason, and what SQLite keeps beside it; return its new name. Raises `StoreError`."""
    aside = path.with_name(f"{path.name}.{why}-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}")
    count = 1
    while aside.exists():
        count += 1
        aside = path.with_name(f"{path.name}.{why}-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{count}")
    try:
        # The log goes first: left beside a new database it would be taken for that one's.
        for end in ("-wal", "-shm", ""):
            with contextlib.suppress(FileNotFoundError):
                _beside(path, end).rename(_beside(aside, end))
    except OSError as exc:
        raise StoreError(say("store.cannot-set-aside", why=why, path=str(path))) from exc
    return aside


def _has_content(path: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_size > 0
    return False


def _beside(path: Path, end: str) -> Path:
    return path.with_name(path.name + end)
