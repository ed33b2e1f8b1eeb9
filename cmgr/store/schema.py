"""The tables, the schema's level, and the upgrades from level to level.

A column here has the name that `rows` gives it. Nothing refers to anything by a foreign key: a gap in the history
must never make the save of a hold fail.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from sqlalchemy import Boolean, Column, Connection, Index, Integer, MetaData, Table, Text, bindparam, delete, text
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.sql.dml import Delete, Insert

from cmgr.store import rows
from cmgr.store.files import APPLICATION_ID, LEVEL

Upgrade = Callable[[Connection], None]

_metadata = MetaData()


def _to_level_2(connection: Connection) -> None:
    """Level 2 brought tables, and a column."""
    _metadata.create_all(connection)
    connection.exec_driver_sql("ALTER TABLE holds ADD COLUMN cause TEXT NOT NULL DEFAULT 'episode'")


UPGRADES: Mapping[int, Upgrade] = {2: _to_level_2}
"""How a file gets to each level from the one below it."""


def _table(name: str, *parts: Column[int] | Column[str] | Column[bool] | Index) -> Table:
    return Table(name, _metadata, *parts)


def _number_key(name: str) -> Column[int]:
    return Column(name, Integer, primary_key=True, autoincrement=False, nullable=False)


def _text_key(name: str) -> Column[str]:
    return Column(name, Text, primary_key=True, nullable=False)


def _int(name: str) -> Column[int]:
    return Column(name, Integer, nullable=False)


def _flag(name: str) -> Column[bool]:
    return Column(name, Boolean, nullable=False)


def _text(name: str) -> Column[str]:
    return Column(name, Text, nullable=False)


def _maybe(name: str) -> Column[str]:
    return Column(name, Text)


meta = _table("meta", _int("level"), _text("version"), _text("created"), _int("serial"), _int("episodes"))

TABLES: Mapping[str, Table] = {
    table.name: table
    for table in (
        _table(
            "chips",
            *(_number_key("id"), _int("ring"), _int("logical"), _int("card"), _int("device")),
            *(_text("model"), _text("bus"), _text("serial")),
        ),
        _table(
            "rings",
            *(_number_key("id"), _text("chips"), _text("phase"), _maybe("since"), _text("reason"), _maybe("deadline")),
            *(_int("episode"), _maybe("began"), _text("resets"), _int("failures"), _maybe("not_before")),
            *(_text("lulls"), _text("theirs"), _text("starts"), _maybe("blocked"), _flag("widened")),
        ),
        _table("resets", _number_key("ring"), _text_key("at"), _int("episode")),
        _table(
            "containers",
            *(_text_key("runtime"), _text_key("namespace"), _text_key("id"), _text("name"), _text("chips")),
            *(_text("claims"), _flag("running"), _text("run")),
            *(Column("exit_code", Integer), _maybe("exit_at"), Column("exit_asked", Boolean)),
            *(_int("grace_us"), _maybe("strategy"), _int("order"), _flag("enabled"), _text("restart_policy")),
            *(_flag("auto_remove"), _text("warnings"), _maybe("since")),
        ),
        _table(
            "holds",
            *(_text_key("runtime"), _text_key("namespace"), _text_key("id"), _text("name"), _text("chips")),
            *(_int("episode"), _text("since"), _text("state"), _text("run"), _flag("died"), _int("order")),
            *(_int("grace_us"), _text("restart_policy"), _flag("disarmed"), _flag("failed"), _int("tries")),
            *(_maybe("retry_at"), _text("error"), _text("cause")),
        ),
        _table(
            "healings",
            *(_text_key("runtime"), _text_key("namespace"), _text_key("id"), _text("times"), _maybe("life")),
            *(_maybe("since"), _maybe("due"), _flag("counted"), _flag("spared"), _maybe("given_up")),
        ),
        _table(
            "faults",
            *(_number_key("chip"), _text_key("code"), _text_key("module"), _text_key("since"), _text("level")),
            *(
                _text("risen"),
                _text("changed"),
                _maybe("severity"),
                _int("count"),
                _flag("momentary"),
                _maybe("cleared"),
            ),
            Index("faults_by_cleared", "cleared"),
        ),
        _table(
            "isolations",
            *(_number_key("chip"), _text("since"), _text("by"), _text("reason"), _maybe("code"), _maybe("clean_since")),
        ),
        _table(
            "tallies",
            *(_number_key("chip"), _text_key("code"), _text("times"), _text("raised")),
            *(_maybe("last"), _maybe("risen"), _maybe("recovered")),
        ),
        _table(
            "restraint",
            *(_number_key("id"), _text("opened"), _maybe("since"), _text("reason"), _text("kept"), _text("waived")),
        ),
        _table(
            "reset_orders",
            *(_number_key("ring"), _int("chip"), _text("at"), _text("who"), _flag("stop"), _flag("done")),
        ),
        _table("modes", _text_key("mode"), _text("since"), _maybe("until"), _text("who")),
        _table("commands", _text_key("id"), _text("kind"), _text("subject"), _text("reason"), _text("at")),
        _table(
            "episodes",
            *(_number_key("number"), Column("ring", Integer), _text("began"), _maybe("ended"), _text("outcome")),
            _text("cause"),
        ),
    )
}

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

outcomes = _table("outcomes", _text_key("outcome"), _int("episodes"))
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
