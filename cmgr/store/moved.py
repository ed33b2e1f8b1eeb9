"""A database whose directory was changed (`state_dir`): the books go along, or what was held would stay down for good.

systemd gives the service one directory that is always the same (`StateDirectory=`, so `STATE_DIRECTORY`), and there a
file says where the database was. Without systemd nobody says it.
"""

import os
import sqlite3
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path

from cmgr import atomic
from cmgr.errors import StoreBusy, StoreError, chain
from cmgr.sentences.sentence import say
from cmgr.store import files

POINTER = "database"
"""In the service's own directory: the file whose text is the path of the database."""


def former(path: Path, home: Path | None) -> Path | None:
    """Return where the database was before it was to be at this path; None where it was nowhere else, or is gone.

    `home`: the service's own directory.
    """
    if home is None:
        return None
    try:
        was = Path((home / POINTER).read_text().strip())
    except (OSError, ValueError):
        was = home / files.NAME  # Nothing was ever changed.
    return was if was.is_absolute() and was != path and was.exists() else None


def take_along(path: Path) -> str:
    """Bring the database of the last life here, unless there is one; return in words what is new of that, or nothing.

    Only for whoever has the right to write the one at this path. Raises `StoreBusy`, `StoreError`.
    """
    given = os.environ.get("STATE_DIRECTORY", "").partition(":")[0]
    if not given:
        return ""
    home, said = Path(given), ""
    was = former(path, home)
    if was is not None and path.exists():
        said = say("store.another-counts", path=str(path), was=str(was))
    elif was is not None:
        _bring(was, path)
        said = say("store.came-along", path=str(path), was=str(was))
    with suppress(OSError):  # A directory that is full has no say.
        if was is not None or not (home / POINTER).exists():
            with atomic.written(home / POINTER, 0o640) as file:
                file.write(f"{path}\n".encode())
    return said


def _bring(was: Path, path: Path) -> None:
    right = _right_to(was)
    fresh = path.with_name(path.name + atomic.UNFINISHED)
    try:
        files.examine(was, but=(files.HISTORY,))
        fresh.unlink(missing_ok=True)
        files.make(fresh)
        with closing(files.connect_readonly(was)) as source, closing(sqlite3.connect(fresh)) as copy:
            source.backup(copy)
        fresh.replace(path)
        with suppress(StoreError):
            files.set_aside(was, datetime.now(UTC), "moved")
    except (OSError, sqlite3.Error) as exc:
        hint = say("store.copy-by-hand", command=f"cp {was}* {path.parent}")
        what = say("store.cannot-bring", was=str(was), path=str(path), why=chain(exc))
        raise StoreError(what, hint=hint) from None
    finally:
        if right is not None:
            right.release()


def _right_to(was: Path) -> files.Lock | None:
    try:
        return files.claim(was)
    except StoreBusy:
        raise
    except StoreError:
        return None  # The sandbox lets nobody write there any more, and so nobody does.
