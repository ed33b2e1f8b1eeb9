"""The statements that write rows, made of the same columns as the tables."""

from collections.abc import Iterable, Mapping

from cmgr.store import history


def _named(columns: Iterable[str]) -> str:
    return ", ".join(f'"{column}"' for column in columns)


def _insert(table: str, columns: Iterable[str]) -> str:
    given = list(columns)
    return f"INSERT INTO {table} ({_named(given)}) VALUES ({', '.join('?' * len(given))})"  # noqa: S608


def _put(table: str, columns: Iterable[str], key: Iterable[str], others: Iterable[str], adds: str = "") -> str:
    """Return what inserts a row, or sets these columns of the one with its key, to `adds` and the new value."""
    over = ", ".join(f'"{column}" = {adds.format(column)}excluded."{column}"' for column in others)
    return f"{_insert(table, columns)} ON CONFLICT ({_named(key)}) DO UPDATE SET {over}"


def _puts() -> dict[str, str]:
    columns = {stored: [column.name for column in stored.columns] for stored in history.WHOLE}
    adds = {history.DOWNTIME: '"{}" + '}
    return {
        s.name: _put(s.name, all_, s.key, [c for c in all_ if c not in s.key], adds.get(s, ""))
        for s, all_ in columns.items()
    }


PUT: Mapping[str, str] = _puts()
"""Insert a whole row, or overwrite the one with its key; to one of `DOWNTIME` its numbers are added."""

DROP: Mapping[str, str] = {
    s.name: f"DELETE FROM {s.name} WHERE " + " AND ".join(f'"{column}" = ?' for column in s.key)  # noqa: S608
    for s in history.WHOLE
}
"""Delete the row with this key."""

CLOSE_EPISODE = _put(
    history.EPISODES.name, [column.name for column in history.EPISODES.columns], ["number"], ["ended", "outcome"]
)
"""The same as to put one, but one that is there keeps how it began."""

ADD_NOTE = _insert("notes", history.NOTE_COLUMNS)

COUNT_OUTCOME = (
    "INSERT INTO outcomes (outcome, episodes) VALUES (?, 1) ON CONFLICT (outcome) DO UPDATE SET episodes = episodes + 1"
)

BEGIN = (
    "INSERT INTO meta (level, version, created, serial, episodes, counted) "
    "VALUES (:level, :version, :created, 0, 0, :created)"
)
"""The one row of `meta`, in a new file."""

COUNT = "UPDATE meta SET serial = :serial, episodes = :episodes, alive = :alive"

LIVE = "UPDATE meta SET alive = :alive"

FIRST_STOP = (
    *(PUT[name] for name in ("rings", "holds", "restraint", "faults", "commands", "episodes")),
    ADD_NOTE,
    COUNT,
)
"""The statements that write before a first stop goes out."""
