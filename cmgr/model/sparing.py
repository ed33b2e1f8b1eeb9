"""Faults that can wait: who runs on their ring is spared until a window opens, or nobody uses the ring."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from cmgr.model.values.chips import listed
from cmgr.model.values.faults import Fault
from cmgr.model.values.handling.calendar import Opening
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Ring
from cmgr.words import span


class Users(NamedTuple):
    """The users of a ring, as far as the books know: running containers by name, and processes."""

    containers: Sequence[str]
    processes: Sequence[str]


class Obstacle(NamedTuple):
    """Why a ring cannot be reset now; `until` is set where time alone ends it.

    `since`: set where only a read-out tells of its end: it has lasted so long.
    """

    why: str
    until: datetime | None = None
    since: datetime | None = None


def wait_of(node: Node, ring: Ring, fault: Fault, at: datetime, who: Callable[[Node, Ring], Users]) -> Obstacle | None:
    """Return what this fault waits for before anything is stopped and reset for it; None for nothing."""
    policy, name = node.policy.levels[fault.level], node.policy.window_of(fault.level)
    opening = node.calendar.get(name) or Opening(name, open=False) if name else None
    if opening is not None and opening.open:
        return None
    waits = f"the reset of {listed(ring.chips)} waits"
    opens = opening.until if opening is not None else None
    passes = passes_at(node, fault)
    if policy.spares:
        latest = fault.risen + policy.idle_at_most if policy.idle_at_most is not None else None
        containers, processes = who(node, ring)
        users = [*containers, *processes]
        if not users or (latest is not None and latest <= at):
            return None
        if passes is not None:
            return _passing(node, fault, passes)
        until = min((time for time in (latest, opens) if time is not None), default=None)
        why = f"{waits} until nobody uses {listed(ring.chips)}: {users[0]} runs on"
        return Obstacle(why, until, None if containers else fault.risen)
    if opening is None:
        return None
    if passes is not None:
        return _passing(node, fault, passes)
    when = f"which opens {opening.words}" if opening.wall is not None else "which never opens"
    return Obstacle(f"{waits} for its window ({opening.name}), {when}", opens)


def passes_at(node: Node, fault: Fault) -> datetime | None:
    """Return when what happened once is over, unless somebody has died of it: no reset is ever made for it."""
    return fault.changed + node.policy.death_window if fault.momentary else None


def _passing(node: Node, fault: Fault, passes: datetime) -> Obstacle:
    window = span(node.policy.death_window)
    over = f"it is over when nobody has died of it within {window}"
    return Obstacle(f"{fault.code} happened once on chip {fault.chip}: {over}", passes)
