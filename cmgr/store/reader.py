"""The database for those who only look: beside a running service, or after it stopped in whatever way.

It changes no byte of the file, nor of those that SQLite keeps beside it.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime
from pathlib import Path
from typing import TypeVar

from cmgr.errors import StoreError
from cmgr.model.values.chips import ChipId
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import ContainerKey
from cmgr.model.values.services.outages import Downtime, Outage
from cmgr.sentences.sentence import say
from cmgr.store import files, history, rows

Value = TypeVar("Value")

ALL = history.Sought()

_CHIPS = "(SELECT value FROM json_each(:chips))"
_RINGS = f"(SELECT ring FROM chips WHERE id IN {_CHIPS})"  # noqa: S608
_KEYS = (
    "(SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(value, '$[2]') "
    "FROM json_each(:containers))"
)
_OF_CONTAINERS = f"(runtime, namespace, container) IN {_KEYS}"

_EPISODES = {
    "chips": f"ring IN {_RINGS} OR number IN (SELECT episode FROM notes WHERE chip IN {_CHIPS})",  # noqa: S608
    "containers": f"number IN (SELECT episode FROM notes WHERE {_OF_CONTAINERS})",  # noqa: S608
    "outcome": "outcome = :outcome",
    "since": "ended IS NULL OR ended >= :since",
}
_NOTES = {
    "chips": f"chip IN {_CHIPS} OR (chip IS NULL AND container IS NULL AND ring IN {_RINGS})",
    "containers": _OF_CONTAINERS,
    "since": "at >= :since",
}
"""By the field of `Sought`, what an episode or a line has to fulfil."""


def open_reader(path: Path) -> "Reader":
    """Open the database to read; creates and changes nothing. Raises `StoreError`, `StoreTooNew`."""
    if not path.exists():
        hint = say("store.is-it-running", command="cmgr run")
        raise StoreError(say("trust.no-such-file", path=str(path)), hint=hint)
    with _translated(path):
        connection = files.connect_readonly(path)
        try:
            level = files.level_of(connection, path)
        except BaseException:
            connection.close()
            raise
    if level != files.LEVEL:
        connection.close()
        found = say("store.empty-yet") if level is None else say("store.other-level", level=level, known=files.LEVEL)
        raise StoreError(say("store.cannot-read", path=str(path), why=found), hint=say("store.brought-up"))
    return Reader(path, connection)


class Reader(AbstractContextManager["Reader"]):
    """One look at the database. Short-lived: what is written later is seen or not.

    Every method blocks for milliseconds, up to a second while a service starts after a crash, and raises `StoreError`.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self._path = path
        self._connection = connection

    def __exit__(self, *_of_error: object) -> None:
        self.close()

    def node(self) -> Node:
        """Return the state as of the last save, all of it of one moment. Cleared faults are not in it."""
        with _translated(self._path):
            self._connection.execute("BEGIN")
            try:
                return rows.node_of(self._connection.execute)
            finally:
                self._connection.execute("ROLLBACK")

    def faults(
        self,
        since: datetime | None = None,
        active_only: bool = False,
        most: int | None = None,
        chip: ChipId | None = None,
    ) -> tuple[history.FaultRow, ...]:
        """Return faults, the oldest first: the active ones, and the others that cleared at `since` or later.

        Of more than `most` the active ones and the newest. `chip`: those of that one alone.
        """
        wanted = "cleared IS NULL" if active_only else "(cleared IS NULL OR cleared >= :since)"
        wanted += "" if chip is None else " AND chip = :chip"
        some = f"SELECT * FROM faults WHERE {wanted} ORDER BY cleared IS NOT NULL, since DESC LIMIT :most"  # noqa: S608
        query = f"SELECT * FROM ({some}) ORDER BY since, chip, code, module"  # noqa: S608
        limit, begins = -1 if most is None else most, "" if since is None else rows.stamp(since)
        return self._all(rows.FAULTS.value, query, since=begins, most=limit, chip=chip)

    def episodes(self, limit: int, sought: history.Sought = ALL) -> tuple[history.EpisodeRow, ...]:
        """Return the newest of the episodes that are sought, the newest first."""
        wanted, values = _where(sought, _EPISODES)
        query = f"SELECT * FROM episodes WHERE {wanted} ORDER BY number DESC LIMIT :limit"  # noqa: S608
        return self._all(history.EPISODES.value, query, limit=limit, **values)

    def episode(self, number: int) -> history.EpisodeRow | None:
        """Return one episode, or None when there is none of this number (any more)."""
        found = self._all(history.EPISODES.value, "SELECT * FROM episodes WHERE number = :number", number=number)
        return found[0] if found else None

    def notes(self, episode: int | None, limit: int, sought: history.Sought = ALL) -> tuple[history.NoteRow, ...]:
        """Return the newest of the lines that are sought, in the order in which they were written.

        `episode`: of that one alone; None: of all, and of none.
        """
        wanted, values = _where(sought, _NOTES)
        wanted += "" if episode is None else " AND episode = :episode"
        some = f"SELECT * FROM notes WHERE {wanted} ORDER BY id DESC LIMIT :limit"  # noqa: S608
        query = f"SELECT * FROM ({some}) ORDER BY id"  # noqa: S608
        return self._all(history.note_of, query, episode=episode, limit=limit, **values)

    def called(self, name: str) -> frozenset[ContainerKey]:
        """Return the containers, gone ones too, of which a line is kept from a time when they were called so."""
        query = "SELECT DISTINCT runtime, namespace, container FROM notes WHERE name = :name"
        return frozenset(self._all(_key, query, name=name))

    def commands(self) -> tuple[history.CommandRow, ...]:
        """Return the orders that were sent and not answered by the last save, the oldest first."""
        return self._all(history.COMMANDS.value, "SELECT * FROM commands ORDER BY at, id")

    def resets(self, since: datetime) -> tuple[history.ResetRow, ...]:
        """Return the resets tried at `since` or later, the oldest first."""
        return self._all(
            history.RESETS.value, "SELECT * FROM resets WHERE at >= :since ORDER BY at, ring", since=rows.stamp(since)
        )

    def downtime(self, first: str, last: str) -> tuple[Downtime, ...]:
        """Return what outages that are over have cost on these days of UTC and those between, by service and cause.

        The day of each sum is the last one that is in it.
        """
        numbers = [column.name for column in history.DOWNTIME.columns if column.name not in history.DOWNTIME.key]
        sums = ", ".join(f"sum({name}) AS {name}" for name in numbers)
        query = f"""SELECT service, max(day) AS day, cause, {sums} FROM downtime
                    WHERE day BETWEEN :first AND :last GROUP BY service, cause ORDER BY service, cause"""  # noqa: S608
        return self._all(history.DOWNTIME.value, query, first=first, last=last)

    def outages(self) -> tuple[Outage, ...]:
        """Return the outages that go on, as of the last save, by service."""
        return self._all(rows.MANY["outages"].value, "SELECT * FROM outages ORDER BY service, since")

    def lives(self) -> history.Lives:
        """Return what is known of when the service was there."""
        (told,) = self._all(_lives, "SELECT counted, alive FROM meta")
        return told

    def close(self) -> None:
        self._connection.close()

    def _all(self, value_of: Callable[[rows.Row], Value], query: str, **values: str | int | None) -> tuple[Value, ...]:
        with _translated(self._path):
            return tuple(map(value_of, self._connection.execute(query, values)))


def _key(row: rows.Row) -> ContainerKey:
    return ContainerKey(row["runtime"], row["namespace"], row["container"])


def _where(sought: history.Sought, conditions: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return what a row has to fulfil, and the values that this names; what there is no condition for is not asked."""
    chips, keys, since = sought.chips, sought.containers, sought.since
    given = {
        "chips": None if chips is None else json.dumps(sorted(chips)),
        "containers": None if keys is None else json.dumps(sorted(keys)),
        "outcome": sought.outcome,
        "since": None if since is None else rows.stamp(since),
    }
    values = {name: value for name, value in given.items() if value is not None and name in conditions}
    return " AND ".join(["TRUE", *(f"({conditions[name]})" for name in values)]), values


def _lives(row: rows.Row) -> history.Lives:
    counted, alive = (None if row[name] is None else rows.moment(row[name]) for name in ("counted", "alive"))
    return history.Lives(counted, alive)


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, ValueError, TypeError, LookupError) as exc:
        hint = say("store.sets-aside") if files.is_damage(exc) else ""
        raise StoreError(say("trust.cannot-read", path=str(path)), hint=hint) from exc
