"""The tables of the database, and the upgrades from level to level.

Most are derived from values (`rows`). Nothing refers to anything by a foreign key: a gap in the history must never
make the save of a hold fail.
"""

from collections.abc import Callable, Mapping
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
    bindparam,
    delete,
    inspect,
    literal,
    text,
)
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.schema import CreateColumn
from sqlalchemy.sql.dml import Delete, Insert

from cmgr.store import history, rows
from cmgr.store.files import APPLICATION_ID, LEVEL

Upgrade = Callable[[Connection], None]

_metadata = MetaData()

_KINDS = {"INTEGER": Integer, "TEXT": Text, "BOOLEAN": Boolean}


def _bring_up_to_date(connection: Connection) -> None:
    """Make the tables and columns that the file has not. A column has in each row what its field has by default."""
    _metadata.create_all(connection)
    for name, table in TABLES.items():
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
    connection.exec_driver_sql("UPDATE containers SET wanted = running AND enabled AND chips != '[]'")


UPGRADES: Mapping[int, Upgrade] = {2: _bring_up_to_date, 3: _to_level_3}
"""How a file gets to each level from the one below it."""


def _derived(stored: rows.Stored[Any], *indexes: Index) -> Table:
    return Table(stored.name, _metadata, *(_column(stored, column) for column in stored.columns), *indexes)


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


meta = Table("meta", _metadata, _int("level"), _text("version"), _text("created"), _int("serial"), _int("episodes"))

TABLES: Mapping[str, Table] = {
    table.name: table
    for table in (
        *(_derived(stored) for stored in (*rows.MANY.values(), *rows.SINGLE.values())),
        _derived(rows.FAULTS, Index("faults_by_cleared", "cleared")),
        *(_derived(stored) for stored in (history.RESETS, history.COMMANDS, history.EPISODES)),
    )
}
"""The tables whose rows are written whole."""

notes = Table(
    "notes",
    _metadata,
    Column("id", Integer, primary_key=True),
    *(_text("at"), _text("kind"), _int("episode"), Column("ring", Integer), Column("chip", Integer)),
    *(_maybe("runtime"), _maybe("namespace"), _maybe("container"), _text("outcome"), _text("text")),
    Index("notes_by_episode", "episode"),
    Index("notes_by_at", "at"),
    # A number is never used twice, also after pruning: it names a line for good.
    sqlite_autoincrement=True,
)

outcomes = Table("outcomes", _metadata, Column("outcome", Text, primary_key=True, nullable=False), _int("episodes"))
"""How many episodes ended how, ever: pruning an episode takes nothing from it."""


def _put(table: Table, *only: str) -> Insert:
    given = insert(table)
    others = {c.name: c for c in given.excluded if (c.name in only if only else not c.primary_key)}
    return given.on_conflict_do_update(index_elements=list(table.primary_key), set_=others).inline()


def _drop(table: Table) -> Delete:
    return delete(table).where(*(column == bindparam(column.name) for column in table.primary_key))


PUT: Mapping[str, Insert] = {name: _put(table) for name, table in TABLES.items()}
"""Insert a whole row, or overwrite the one with its key."""

DROP: Mapping[str, Delete] = {name: _drop(table) for name, table in TABLES.items()}
"""Delete the row with this key."""

CLOSE_EPISODE = _put(TABLES["episodes"], "ended", "outcome")
"""The same, but one that is there keeps how it began."""

ADD_NOTE = notes.insert().inline()

COUNT_OUTCOME = (
    insert(outcomes)
    .values(outcome=bindparam("outcome"), episodes=1)
    .on_conflict_do_update(index_elements=[outcomes.c.outcome], set_={"episodes": outcomes.c.episodes + 1})
    .inline()
)


def create(connection: Connection, version: str) -> None:
    """Make every table in an empty file."""
    _metadata.create_all(connection)
    connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
    first = {"level": LEVEL, "version": version, "created": rows.stamp(datetime.now(UTC)), "serial": 0, "episodes": 0}
    connection.execute(meta.insert(), first)


def upgrade(connection: Connection, to: int, by: Upgrade, version: str) -> None:
    """Bring the file one level up."""
    by(connection)
    connection.execute(text("UPDATE meta SET level = :level, version = :version"), {"level": to, "version": version})
