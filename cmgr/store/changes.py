"""The rows that a save has to write: those in which one node differs from another."""

from collections.abc import Mapping
from datetime import datetime
from itertools import compress
from operator import is_not
from typing import Any, TypeVar

from cmgr.frozen import dataclass, replace
from cmgr.model.values.chips import ChipId, RingId
from cmgr.model.values.faults import Fault, FaultKey
from cmgr.model.values.lookup import replaced
from cmgr.model.values.node import ChipFaults, Node
from cmgr.model.values.rings import Ring
from cmgr.model.values.services.outages import added
from cmgr.store.history import DOWNTIME, RESETS, ResetRow
from cmgr.store.rows import FAULTS, MANY, SINGLE, Cells, Stored

Key = TypeVar("Key")
Value = TypeVar("Value")
_Span = tuple[ChipId, FaultKey, datetime]


@dataclass(frozen=True, slots=True)
class Change:
    """Rows of one table to insert, overwrite or add, and rows to delete."""

    table: str
    put: tuple[Cells, ...]
    drop: tuple[Cells, ...] = ()
    """Their keys."""


def changes(old: Node, new: Node) -> tuple[Change, ...]:
    """Return what makes the stored `old` the stored `new`, the counters left out; nothing where nothing differs."""
    found = (
        *(_differing(table, getattr(old, name), getattr(new, name)) for name, table in MANY.items()),
        *(_differing(table, _alone(getattr(old, name)), _alone(getattr(new, name))) for name, table in SINGLE.items()),
        _faults(old, new),
        Change(RESETS.name, _resets(old.rings, new.rings)),
        Change(DOWNTIME.name, tuple(map(DOWNTIME.cells, added(old.downtime, new.downtime)))),
    )
    return tuple(change for change in found if change.put or change.drop)


def _alone(value: Value | None) -> Mapping[int, Value]:
    return {} if value is None else {0: value}


def _differing(table: Stored[Any], old: Mapping[Key, Value], new: Mapping[Key, Value]) -> Change:
    if old is new:
        return Change(table.name, ())
    if (pairs := replaced(old, new)) is not None:
        kept, cells = table.kept, table.cells
        return Change(table.name, tuple(cells(after) for before, after in pairs if kept(before) != kept(after)))
    gone = (table.key_cells(value) for key, value in old.items() if key not in new)
    return Change(table.name, _written(table, old, new), tuple(gone))


def _written(table: Stored[Any], old: Mapping[Key, Value], new: Mapping[Key, Value]) -> tuple[Cells, ...]:
    put = []
    for key, value in new.items():
        before = old.get(key)
        # Rows are made of what differs only: a list of 64 containers brings 64 new values, and mostly nothing new.
        if before is value or (before is not None and table.kept(before) == table.kept(value)):
            continue
        put.append(table.cells(value))
    return tuple(put)


def _faults(old: Node, new: Node) -> Change:
    """A fault that the node forgets stays as history, and is over when it was last spoken of."""
    if old.faults is new.faults and old.past_faults is new.past_faults:
        return Change(FAULTS.name, ())
    before = {**_spans(old.past_faults, new.past_faults), **_spans(old.faults, new.faults)}
    after = {**_spans(new.past_faults, old.past_faults), **_spans(new.faults, old.faults)}
    gone = (fault for span, fault in before.items() if span not in after and fault.active)
    over = (FAULTS.cells(replace(fault, cleared=fault.changed)) for fault in gone)
    return Change(FAULTS.name, (*_written(FAULTS, before, after), *over))


def _spans(faults: Mapping[ChipId, ChipFaults], others: Mapping[ChipId, ChipFaults]) -> Mapping[_Span, Fault]:
    """Return the faults that the others have not, by what makes a row: one that came back after long has two."""
    spans: dict[_Span, Fault] = {}
    for chip, known in faults.items():
        other = others.get(chip, {})
        if known is not other:
            # Each save in a storm looks at hundreds that are the same, without a step of Python's for each.
            differ = map(is_not, known.values(), map(other.get, known))
            spans.update({(chip, key, fault.since): fault for key, fault in compress(known.items(), differ)})
    return spans


def _resets(old: Mapping[RingId, Ring], new: Mapping[RingId, Ring]) -> tuple[Cells, ...]:
    """The ring keeps those of its budget only; the table keeps them all."""
    put = []
    for id_, ring in new.items():
        before = old.get(id_)
        if before is ring:
            continue
        known = frozenset(before.resets) if before is not None else frozenset()
        put += [RESETS.cells(ResetRow(id_, at, ring.episode)) for at in ring.resets if at not in known]
    return tuple(put)
