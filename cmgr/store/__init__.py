"""The state on disk, in SQLite: written by the service, and read only by the command line."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from cmgr.sentences.sentence import chained, say
from cmgr.store import files

if TYPE_CHECKING:
    from cmgr.store.sqlite import SqliteStore


def open_store(path: Path, right: files.Lock | None = None) -> "SqliteStore":
    """Open the database to write, made anew where there is none; the caller's thread owns it from now on.

    A damaged file is set aside, which `damage` of the store tells; whether its history is whole, `examine` finds later.
    `right`: to write it, where the caller has that already. Blocks up to a second. Raises `StoreBusy`, `StoreTooNew`,
    `StoreError`.
    """
    # Whoever imports this package for its files only does without the rest: `cmgr status` has no time to lose.
    from cmgr.store.sqlite import SqliteStore

    lock = right or files.claim(path)
    try:
        try:
            files.examine(path, but=(files.HISTORY,))
            files.make(path)
            return SqliteStore(path, lock)
        except files.Damaged as exc:
            aside = files.set_aside(path, datetime.now(UTC))
            damage = say("store.begun-again", path=str(path), aside=aside.name, why=chained(exc))
        files.make(path)
        return SqliteStore(path, lock, damage)
    except BaseException:
        lock.release()
        raise
