"""The stored node, read back from all its tables."""

from collections.abc import Callable, Iterable

from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Fault, FaultKey
from cmgr.model.values.node import Node, Restraint
from cmgr.store import counters, rows, standing


def node_of(select: Callable[[str], Iterable[rows.Row]]) -> Node:
    """Return the stored node; `select` runs a query. Cleared faults are history and stay out.

    Raises `ValueError`, `TypeError` or `LookupError` on a value that no cmgr wrote.
    """
    faults: dict[ChipId, dict[FaultKey, Fault]] = {}
    for fault in map(rows.fault_of, select("SELECT * FROM faults WHERE cleared IS NULL")):
        faults.setdefault(fault.chip, {})[fault.key] = fault
    (meta,) = select("SELECT serial, episodes FROM meta")
    return Node(
        chips={c.id: c for c in map(rows.chip_of, select("SELECT * FROM chips"))},
        rings={r.id: r for r in map(rows.ring_of, select("SELECT * FROM rings"))},
        containers={c.key: c for c in map(rows.container_of, select("SELECT * FROM containers"))},
        faults=faults,
        tallies={t.key: t for t in map(counters.tally_of, select("SELECT * FROM tallies"))},
        restraint=next(map(counters.restraint_of, select("SELECT * FROM restraint")), Restraint()),
        isolations={i.chip: i for i in map(rows.isolation_of, select("SELECT * FROM isolations"))},
        holds={h.key: h for h in map(rows.hold_of, select("SELECT * FROM holds"))},
        healings={h.key: h for h in map(counters.healing_of, select("SELECT * FROM healings"))},
        reset_orders={o.ring: o for o in map(standing.reset_order_of, select("SELECT * FROM reset_orders"))},
        maintenance=next(map(standing.maintenance_of, select("SELECT * FROM modes WHERE mode = 'maintenance'")), None),
        serial=meta["serial"],
        episodes=meta["episodes"],
    )
