"""The past and the orders under way as the database tells them: values for readers, and their rows."""

import sqlite3
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from cmgr.frozen import dataclass
from cmgr.model.values.chips import ChipId, RingId
from cmgr.model.values.faults import Assertion, Fault, FaultCode
from cmgr.model.values.messages.commands import (
    Action,
    CommandId,
    FaultSaid,
    Note,
    NoteKind,
    ResetRing,
    SetRestartPolicy,
    StartContainer,
    StopContainer,
)
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import ContainerKey
from cmgr.model.values.services.outages import KEPT_DAYS, Downtime
from cmgr.sentences.sentence import Sentence
from cmgr.store import rows

Order = StopContainer | StartContainer | SetRestartPolicy | ResetRing
"""An action that changes something. The others only ask, and are asked again after a restart anyway."""

FaultRow = Fault
"""A fault of the past or of now."""


@dataclass(frozen=True, slots=True)
class EpisodeRow:
    """One recovery. `ended` is None while it goes on; `cause` is what it was opened for."""

    number: int
    ring: RingId | None
    began: datetime
    ended: datetime | None
    outcome: str
    cause: Sentence | str


@dataclass(frozen=True, slots=True)
class NoteRow:
    """A line of a timeline. Later lines have higher ids; `episode` 0 is a line of no episode."""

    id: int
    at: datetime
    kind: NoteKind
    text: str
    ring: RingId | None
    episode: int
    chip: ChipId | None
    container: ContainerKey | None
    outcome: str
    card: int | None = None
    device: int | None = None
    fault: FaultSaid | None = None


@dataclass(frozen=True, slots=True)
class Sought:
    """Which episodes or lines are wanted: those that fit all that is given. None: whatever they say of that.

    `chips`: about one of them, or about its ring as a whole. `containers`: about one of them. `outcome`: an episode's,
    "" while it goes on. `since`: an episode that went on then or later, a line that was noted then or later.
    """

    chips: frozenset[ChipId] | None = None
    containers: frozenset[ContainerKey] | None = None
    outcome: str | None = None
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class CommandRow:
    """An order that was sent and, as far as the database knows, not answered. `at` is when it was written."""

    id: CommandId
    kind: str
    subject: str
    reason: str
    at: datetime


@dataclass(frozen=True, slots=True)
class ResetRow:
    """A reset that was tried, well or not."""

    ring: RingId
    at: datetime
    episode: int


@dataclass(frozen=True, slots=True)
class Lives:
    """Since when downtime is counted, and when a cmgr was there last, as exactly as that is known; None: not known."""

    counted: datetime | None
    alive: datetime | None


RESETS = rows.Stored("resets", ResetRow, "ring", "at")
COMMANDS = rows.Stored("commands", CommandRow, "id")
EPISODES = rows.Stored("episodes", EpisodeRow, "number")
DOWNTIME = rows.Stored("downtime", Downtime, "service", "day", "cause")

WHOLE: tuple[rows.Stored[Any], ...] = (
    *rows.MANY.values(),
    *rows.SINGLE.values(),
    *(rows.FAULTS, RESETS, COMMANDS, EPISODES, DOWNTIME),
)
"""The tables whose rows are written whole, but for `DOWNTIME`, to whose rows is added."""

NOTE_COLUMNS = (
    *("at", "kind", "episode", "ring", "chip"),
    *("runtime", "namespace", "container", "name"),
    *("outcome", "text", "card", "device"),
    *("code", "level", "handling", "assertion"),
    "message",
)

LIVES_EVERY = timedelta(minutes=10)
"""So often it is noted that the service lives where nothing else is written: so exact is when one died."""

MOST_NOTES = 20_000
"""So many notes go for each reason in one call of `prune`, which bounds its time."""

_TOO_OLD = (
    """DELETE FROM notes WHERE id IN (
           SELECT id FROM notes
           WHERE at < :before AND episode NOT IN (SELECT episode FROM rings WHERE phase <> 'healthy')
           ORDER BY at LIMIT :most)""",
    """DELETE FROM notes WHERE id IN (
           SELECT id FROM notes WHERE id <= (SELECT id FROM notes ORDER BY id DESC LIMIT 1 OFFSET :keep)
           ORDER BY id LIMIT :most)""",
    # An episode that no ring is in any more will not be closed either.
    """DELETE FROM episodes
       WHERE coalesce(ended, began) < :before AND number NOT IN (SELECT episode FROM rings WHERE phase <> 'healthy')""",
    "DELETE FROM faults WHERE cleared < :before",
    "DELETE FROM resets WHERE at < :before",
    # By the days that are there: a clock that is wrong must not make all of them old.
    f"DELETE FROM downtime WHERE day < (SELECT date(max(day), '-{KEPT_DAYS} days') FROM downtime)",  # noqa: S608
)


def prune(connection: sqlite3.Connection, before: datetime, keep_notes: int) -> int:
    """Delete what is too old or too much, and return how many rows went.

    Notes of episodes under way do not grow too old. Downtime has an age of its own.
    """
    values = {"before": rows.stamp(before), "keep": keep_notes, "most": MOST_NOTES}
    return sum(connection.execute(query, values).rowcount for query in _TOO_OLD)


def newest(connection: sqlite3.Connection) -> tuple[int, datetime | None]:
    """Return the number and the time of the line that was noted last."""
    found = connection.execute("SELECT id, at FROM notes ORDER BY id DESC LIMIT 1").fetchone()
    return (0, None) if found is None else (found["id"], rows.moment(found["at"]))


def correct(connection: sqlite3.Connection, after: int, by: timedelta) -> None:
    """Shift the lines after this one, and the ends of episodes that they tell of: the clock they have was wrong."""
    query = "SELECT id, at, kind, episode FROM notes WHERE id > ? ORDER BY id DESC LIMIT ?"
    ends = {NoteKind.OPENED.value: "began", NoteKind.CLOSED.value: "ended"}
    for line in connection.execute(query, (after, MOST_NOTES)).fetchall():
        at = rows.stamp(rows.moment(line["at"]) + by)
        connection.execute("UPDATE notes SET at = ? WHERE id = ?", (at, line["id"]))
        if line["kind"] in ends:
            end = ends[line["kind"]]
            connection.execute(f"UPDATE episodes SET {end} = ? WHERE number = ?", (at, line["episode"]))  # noqa: S608


def note_cells(note: Note) -> rows.Cells:
    """Return what is written of a note, in the order of `NOTE_COLUMNS`."""
    key, said = note.container, note.fault
    return (
        *(rows.stamp(note.at), note.kind.value, note.episode, rows.number(note.ring), rows.number(note.chip)),
        *((None,) * 4 if key is None else map(rows.text, (*key, note.name))),
        *(note.outcome, rows.text(note.text), rows.number(note.card), rows.number(note.device)),
        *((None,) * 4 if said is None else (rows.text(said.code), said.level, said.handling, said.assertion)),
        rows.message_of(note.text),
    )


def note_of(row: rows.Row) -> NoteRow:
    id_ = row["container"]
    return NoteRow(
        id=row["id"],
        at=rows.moment(row["at"]),
        kind=NoteKind(row["kind"]),
        text=rows.sentence_of(row["text"], row["message"]),
        ring=None if row["ring"] is None else RingId(row["ring"]),
        episode=row["episode"],
        chip=None if row["chip"] is None else ChipId(row["chip"]),
        container=None if id_ is None else ContainerKey(row["runtime"], row["namespace"], id_),
        outcome=row["outcome"],
        card=row["card"],
        device=row["device"],
        fault=_fault_said(row),
    )


def _fault_said(row: rows.Row) -> FaultSaid | None:
    if row["code"] is None:
        return None
    assertion = None if row["assertion"] is None else Assertion(row["assertion"])
    return FaultSaid(FaultCode(row["code"]), row["level"], row["handling"], assertion)


def opened(notes: Iterable[Note]) -> list[EpisodeRow]:
    """Return the episodes that these notes open."""
    return [EpisodeRow(n.episode, n.ring, n.at, None, "", n.text) for n in notes if n.kind is NoteKind.OPENED]


def closed(notes: Iterable[Note]) -> list[EpisodeRow]:
    """Return the episodes that these notes close, each complete in case that nobody wrote its beginning."""
    return [
        EpisodeRow(n.episode, n.ring, n.at, n.ended or n.at, n.outcome, "") for n in notes if n.kind is NoteKind.CLOSED
    ]


def orders(actions: Iterable[Action]) -> dict[CommandId, Order]:
    """Return those of the actions that change something."""
    return {action.id: action for action in actions if isinstance(action, Order)}


def command(order: Order, at: datetime) -> CommandRow:
    """Return what is written of an order that is sent."""
    subject = f"ring {order.ring}" if isinstance(order, ResetRing) else f"container {order.name}"
    return CommandRow(order.id, type(order).__name__, subject, order.reason, at)


def in_flight(node: Node) -> frozenset[CommandId]:
    """Return the orders whose answer the node waits for."""
    holds = {hold.attempt.command for hold in node.holds.values()}
    resets = {ring.reset for ring in node.rings.values()}
    asked = {ring.asked[0] for ring in node.rings.values() if ring.asked is not None}
    return frozenset(id_ for id_ in holds | resets | asked if id_ is not None)
