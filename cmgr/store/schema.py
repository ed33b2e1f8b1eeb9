"""The tables of the database, and the upgrades from level to level.

Most are derived from values (`rows`). Nothing refers to anything by a foreign key: a gap in the history must never
make the save of a hold fail.

This is all that SQLAlchemy is for, and it takes longer to load than the service needs for the rest of its start: only
a file of an older level needs this module. A new one is made from `schema.sql`, which was made from these tables.
"""

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    Connection,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    create_engine,
    event,
    inspect,
    literal,
    text,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import StaticPool
from sqlalchemy.schema import CreateColumn

from cmgr.store import history, rows

Upgrade = Callable[[Connection], None]

_metadata = MetaData()

_KINDS = {"INTEGER": Integer, "TEXT": Text, "BOOLEAN": Boolean}


def _bring_up_to_date(connection: Connection) -> None:
    """Make the tables and columns that the file has not. A column has in each row what its field has by default."""
    _metadata.create_all(connection)
    for name, table in _metadata.tables.items():
        there = {column["name"] for column in inspect(connection).get_columns(name)}
        for column in table.columns:
            if column.name not in there:
                connection.exec_driver_sql(f"ALTER TABLE {name} ADD COLUMN {CreateColumn(column).compile(connection)}")


def _to_level_3(connection: Connection) -> None:
    _bring_up_to_date(connection)
    # A file of level 1 never had this table.
    connection.exec_driver_sql("CREATE TABLE IF NOT EXISTS modes (mode, since, until, who)")
    connection.exec_driver_sql("INSERT INTO maintenance (id, since, until, who) SELECT 0, since, until, who FROM modes")
    connection.exec_driver_sql("DROP TABLE modes")
    connection.exec_driver_sql("UPDATE faults SET handling = level")
    connection.exec_driver_sql("UPDATE containers SET kept_wanted = running AND enabled AND chips != '[]'")


def _to_level_4(connection: Connection) -> None:
    """Name the states of holds, of which failed was a mark on one that is down, and set their attempts apart."""
    _bring_up_to_date(connection)
    state = "CASE WHEN state <> 'stopped' THEN state WHEN failed THEN 'failed' ELSE 'down' END"
    attempt = {f"attempt_{name}": name for name in ("tries", "retry_at", "error")}
    _make_anew(connection, "holds", {"state": state, **attempt})


def _make_anew(connection: Connection, name: str, taken: Mapping[str, str]) -> None:
    """Make the table anew, without the columns that it has no more. `taken`: what stands in a column, if not itself.

    SQLite drops columns since 3.35, and a machine's own may be older.
    """
    table = _metadata.tables[name]
    for index in table.indexes:
        connection.exec_driver_sql(f"DROP INDEX {index.name}")
    connection.exec_driver_sql(f"ALTER TABLE {name} RENAME TO older")
    table.create(connection)
    cells = ", ".join(taken.get(column.name, f'"{column.name}"') for column in table.columns)
    connection.exec_driver_sql(f"INSERT INTO {name} SELECT {cells} FROM older")  # noqa: S608  # Names of ours.
    connection.exec_driver_sql("DROP TABLE older")


def _to_level_5(connection: Connection) -> None:
    """Set apart what cmgr knows of a container, and keep some tables in the order of their keys."""
    _bring_up_to_date(connection)
    older = (column["name"] for column in inspect(connection).get_columns("containers"))
    _make_anew(connection, "containers", {f"kept_{name}": name for name in older})
    for name in _BY_KEY:
        _make_anew(connection, name, {})
    connection.execute(text("UPDATE meta SET counted = :now"), {"now": rows.stamp(datetime.now(UTC))})


UPGRADES: Mapping[int, Upgrade] = {2: _bring_up_to_date, 3: _to_level_3, 4: _to_level_4, 5: _to_level_5}
"""How a file gets to each level from the one below it."""


def _column(stored: rows.Stored[Any], column: rows.Column) -> Column[Any]:
    kind, default = _KINDS[column.kind], stored.defaults.get(column.name)
    return Column(
        column.name,
        kind,
        primary_key=column.name in stored.key,
        autoincrement=False,
        nullable=column.form.maybe,
        server_default=None if default is None else literal(default, kind),
    )


def _int(name: str) -> Column[int]:
    return Column(name, Integer, nullable=False)


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False)


def _maybe(name: str) -> Column[str]:
    return Column(name, Text)


# Since when downtime is counted, and when a cmgr was there last.
_times = _maybe("counted"), _maybe("alive")
Table("meta", _metadata, _int("level"), _text("version"), _text("created"), _int("serial"), _int("episodes"), *_times)

_INDEXES = {rows.FAULTS.name: (Index("faults_by_cleared", "cleared"),)}

_BY_KEY = ("commands", "faults", "holds")
"""Tables in the order of their keys, without an index beside them for these (https://sqlite.org/withoutrowid.html).

Each has a row in the transaction that a first stop waits for: a tree less is a page less in that. Rows of others
are longer than a quarter of a page, or have a number as their key.
"""

for _stored in history.WHOLE:
    _columns = [_column(_stored, each) for each in _stored.columns]
    _indexes, _rowid = _INDEXES.get(_stored.name, ()), _stored.name not in _BY_KEY
    Table(_stored.name, _metadata, *_columns, *_indexes, sqlite_with_rowid=_rowid)

Table(
    "notes",
    _metadata,
    Column("id", Integer, primary_key=True),
    *(_text("at"), _text("kind"), _int("episode"), Column("ring", Integer), Column("chip", Integer)),
    *(_maybe("runtime"), _maybe("namespace"), _maybe("container"), _maybe("name"), _text("outcome"), _text("text")),
    *(Column("card", Integer), Column("device", Integer)),
    *(_maybe("code"), _maybe("level"), _maybe("handling"), _maybe("assertion"), _maybe("message")),
    Index("notes_by_episode", "episode"),
    Index("notes_by_at", "at"),
    # A number is never used twice, also after pruning: it names a line for good.
    sqlite_autoincrement=True,
)

# How many episodes ended how, ever: pruning an episode takes nothing from it.
Table("outcomes", _metadata, Column("outcome", Text, primary_key=True, nullable=False), _int("episodes"))


def upgrade(file: sqlite3.Connection, to: int, by: Upgrade, version: str) -> None:
    """Bring the file one level up, in one transaction. Raises `sqlite3.Error`."""
    level = {"level": to, "version": version}
    with _transaction(file) as connection:
        by(connection)
        connection.execute(text("UPDATE meta SET level = :level, version = :version"), level)


@contextmanager
def _transaction(file: sqlite3.Connection) -> Iterator[Connection]:
    """Begin one on the connection that there is: who opens a second one can be locked out by the first."""
    engine = create_engine("sqlite://", creator=lambda: file, poolclass=StaticPool, hide_parameters=True)

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        # Python's own BEGIN comes before a change only, and asks for the write lock when it may be too late.
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    try:
        with engine.begin() as connection:
            yield connection
    except DBAPIError as error:
        # SQLAlchemy's own text repeats the statement and points to its web site.
        raise (error.orig or error) from None
