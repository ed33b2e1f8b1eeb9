"""What a save has to write: the rows in which one node differs from another."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from cmgr.model.chips import ChipId, RingId
from cmgr.model.faults import Fault, FaultKey
from cmgr.model.node import ChipFaults, Node
from cmgr.model.rings import Ring
from cmgr.model.standing import Maintenance
from cmgr.store import counters, rows, standing

Key = TypeVar("Key")
Value = TypeVar("Value")


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


def _differing(
    table: str, old: Mapping[Key, Value], new: Mapping[Key, Value], row: Callable[[Value], dict[str, Any]]
) -> Change:
    if old is new:
        return Change(table, ())
    put = []
    for key, value in new.items():
        before = old.get(key)
        if before is value:
            continue
        made = row(value)
        if before is None or row(before) != made:
            put.append(made)
    return Change(table, tuple(put), tuple(row(value) for key, value in old.items() if key not in new))


def _faults(old: Mapping[ChipId, ChipFaults], new: Mapping[ChipId, ChipFaults]) -> Change:
    """A fault that the node forgets stays as history, and is over when it was last spoken of."""
    if old is new:
        return Change("faults", ())
    chips = [chip for chip in {**old, **new} if old.get(chip) is not new.get(chip)]
    change = _differing("faults", _spans(old, chips), _spans(new, chips), rows.fault_row)
    over = tuple({**row, "cleared": row["changed"]} for row in change.drop if row["cleared"] is None)
    return Change("faults", change.put + over)


def _spans(faults: Mapping[ChipId, ChipFaults], chips: list[ChipId]) -> dict[tuple[ChipId, FaultKey, datetime], Fault]:
    return {(c, key, fault.since): fault for c in chips for key, fault in faults.get(c, {}).items()}


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
