"""What a save has to write: the rows in which one node differs from another."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from operator import attrgetter
from typing import Any, TypeVar

from cmgr.model.values.chips import ChipId, RingId
from cmgr.model.values.containers import Container
from cmgr.model.values.faults import Fault, FaultKey
from cmgr.model.values.holds import Hold
from cmgr.model.values.node import ChipFaults, Node
from cmgr.model.values.rings import Ring
from cmgr.model.values.rules import Tally
from cmgr.model.values.standing import Maintenance
from cmgr.store import counters, rows, standing

Key = TypeVar("Key")
Value = TypeVar("Value")
_Span = tuple[ChipId, FaultKey, datetime]

OF_THIS_LIFE: Mapping[type, frozenset[str]] = {
    Ring: frozenset({"free", "reset", "look", "read", "asked", "again", "silent", "ask_at", "refusals"}),
    Container: frozenset({"seen", "heal", "health"}),
    Hold: frozenset({"command", "delays", "revived"}),
    Tally: frozenset({"due"}),
}
"""The fields that are not stored."""


@dataclass(frozen=True, slots=True)
class Change:
    """Rows of one table to insert or overwrite, and rows to delete."""

    table: str
    put: tuple[rows.Row, ...]
    drop: tuple[rows.Row, ...] = ()


def changes(old: Node, new: Node) -> tuple[Change, ...]:
    """Return what makes the stored `old` the stored `new`, the counters left out; nothing where nothing differs."""
    found = (
        _differing("chips", old.chips, new.chips, rows.chip_row),
        _differing("rings", old.rings, new.rings, rows.ring_row),
        Change("resets", _resets(old.rings, new.rings)),
        _differing("containers", old.containers, new.containers, rows.container_row),
        _differing("holds", old.holds, new.holds, rows.hold_row),
        _differing("healings", old.healings, new.healings, counters.healing_row),
        _faults(old.faults, new.faults),
        _differing("tallies", old.tallies, new.tallies, counters.tally_row),
        _differing("restraint", {0: old.restraint}, {0: new.restraint}, counters.restraint_row),
        _differing("isolations", old.isolations, new.isolations, rows.isolation_row),
        _differing("reset_orders", old.reset_orders, new.reset_orders, standing.reset_order_row),
        _differing("modes", _modes(old), _modes(new), standing.maintenance_row),
    )
    return tuple(change for change in found if change.put or change.drop)


def _getter(kind: type) -> Callable[[Any], Any]:
    return attrgetter(*(f.name for f in fields(kind) if f.name not in OF_THIS_LIFE[kind]))


_GETTERS = {kind: _getter(kind) for kind in OF_THIS_LIFE}


def _kept(value: object) -> Any:
    """Return what of a value is stored, to compare it."""
    getter = _GETTERS.get(type(value))
    return value if getter is None else getter(value)


def _differing(
    table: str, old: Mapping[Key, Value], new: Mapping[Key, Value], row: Callable[[Value], dict[str, Any]]
) -> Change:
    if old is new:
        return Change(table, ())
    put = []
    for key, value in new.items():
        before = old.get(key)
        # Rows are made of what differs only: a list of 64 containers brings 64 new values, and mostly nothing new.
        if before is value or (before is not None and _kept(before) == _kept(value)):
            continue
        put.append(row(value))
    return Change(table, tuple(put), tuple(row(value) for key, value in old.items() if key not in new))


def _faults(old: Mapping[ChipId, ChipFaults], new: Mapping[ChipId, ChipFaults]) -> Change:
    """A fault that the node forgets stays as history, and is over when it was last spoken of."""
    if old is new:
        return Change("faults", ())
    change = _differing("faults", _spans(old, new), _spans(new, old), rows.fault_row)
    over = tuple({**row, "cleared": row["changed"]} for row in change.drop if row["cleared"] is None)
    return Change("faults", change.put + over)


def _spans(faults: Mapping[ChipId, ChipFaults], others: Mapping[ChipId, ChipFaults]) -> Mapping[_Span, Fault]:
    """Return the faults that the others have not, by what makes a row: one that came back after long has two."""
    spans: dict[_Span, Fault] = {}
    for chip, known in faults.items():
        other = others.get(chip, {})
        if known is not other:
            spans.update({(chip, k, f.since): f for k, f in known.items() if other.get(k) is not f})
    return spans


def _modes(node: Node) -> Mapping[str, Maintenance]:
    return {} if node.maintenance is None else {"maintenance": node.maintenance}


def _resets(old: Mapping[RingId, Ring], new: Mapping[RingId, Ring]) -> tuple[rows.Row, ...]:
    """The ring keeps those of its budget only; the table keeps them all."""
    put = []
    for id_, ring in new.items():
        before = old.get(id_)
        if before is ring:
            continue
        known = frozenset(before.resets) if before is not None else frozenset()
        put += [{"ring": id_, "at": rows.stamp(at), "episode": ring.episode} for at in ring.resets if at not in known]
    return tuple(put)
