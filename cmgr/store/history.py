"""What the database tells of the past and of orders under way: values for those who read, and their rows."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from cmgr.model.values.chips import ChipId, RingId
from cmgr.model.values.commands import (
    Action,
    CommandId,
    Note,
    NoteKind,
    ResetRing,
    SetRestartPolicy,
    StartContainer,
    StopContainer,
)
from cmgr.model.values.containers import ContainerKey
from cmgr.model.values.faults import Fault
from cmgr.model.values.node import Node
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
    cause: str


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


def note_row(note: Note) -> dict[str, Any]:
    key = note.container
    return {
        "at": rows.stamp(note.at),
        "kind": note.kind.value,
        "episode": note.episode,
        "ring": note.ring,
        "chip": note.chip,
        "runtime": None if key is None else key.runtime,
        "namespace": None if key is None else key.namespace,
        "container": None if key is None else key.id,
        "outcome": note.outcome,
        "text": note.text,
    }


def note_of(row: rows.Row) -> NoteRow:
    id_ = row["container"]
    return NoteRow(
        id=row["id"],
        at=rows.moment(row["at"]),
        kind=NoteKind(row["kind"]),
        text=row["text"],
        ring=_ring(row["ring"]),
        episode=row["episode"],
        chip=None if row["chip"] is None else ChipId(row["chip"]),
        container=None if id_ is None else ContainerKey(row["runtime"], row["namespace"], id_),
        outcome=row["outcome"],
    )


def opened_rows(notes: Iterable[Note]) -> list[dict[str, Any]]:
    """Return the episodes that these notes open."""
    return [
        {**_episode_row(note), "began": rows.stamp(note.at), "cause": note.text}
        for note in notes
        if note.kind is NoteKind.OPENED
    ]


def closed_rows(notes: Iterable[Note]) -> list[dict[str, Any]]:
    """Return the episodes that these notes close, each complete in case that nobody wrote its beginning."""
    return [
        {**_episode_row(note), "ended": rows.stamp(note.at), "outcome": note.outcome}
        for note in notes
        if note.kind is NoteKind.CLOSED
    ]


def _episode_row(note: Note) -> dict[str, Any]:
    at = rows.stamp(note.at)
    return {"number": note.episode, "ring": note.ring, "began": at, "ended": None, "outcome": "", "cause": ""}


def episode_of(row: rows.Row) -> EpisodeRow:
    return EpisodeRow(
        number=row["number"],
        ring=_ring(row["ring"]),
        began=rows.moment(row["began"]),
        ended=rows.moment_if(row["ended"]),
        outcome=row["outcome"],
        cause=row["cause"],
    )


def orders(actions: Iterable[Action]) -> dict[CommandId, Order]:
    """Return those of the actions that change something."""
    return {action.id: action for action in actions if isinstance(action, Order)}


def order_row(order: Order, at: datetime) -> dict[str, Any]:
    subject = f"ring {order.ring}" if isinstance(order, ResetRing) else f"container {order.name}"
    return {
        "id": order.id,
        "kind": type(order).__name__,
        "subject": subject,
        "reason": order.reason,
        "at": rows.stamp(at),
    }


def command_of(row: rows.Row) -> CommandRow:
    return CommandRow(CommandId(row["id"]), row["kind"], row["subject"], row["reason"], rows.moment(row["at"]))


def reset_of(row: rows.Row) -> ResetRow:
    return ResetRow(RingId(row["ring"]), rows.moment(row["at"]), row["episode"])


def in_flight(node: Node) -> frozenset[CommandId]:
    """Return the orders whose answer the node waits for."""
    holds = {hold.command for hold in node.holds.values()}
    resets = {ring.reset for ring in node.rings.values()}
    asked = {ring.asked[0] for ring in node.rings.values() if ring.asked is not None}
    return frozenset(id_ for id_ in holds | resets | asked if id_ is not None)


def _ring(number: int | None) -> RingId | None:
    return None if number is None else RingId(number)
