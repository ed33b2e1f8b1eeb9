"""Faults that can wait: who runs on their ring is spared for a window, or while somebody uses the ring, or is busy."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from cmgr.model.values.faults import Fault
from cmgr.model.values.handling.calendar import Opening
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Ring
from cmgr.model.values.services.containers import Container, Veto
from cmgr.sentences.sentence import say


class Users(NamedTuple):
    """The users of a ring, as far as the books know: running containers by name, and processes."""

    containers: Sequence[str]
    processes: Sequence[str]


class Obstacle(NamedTuple):
    """Why a ring cannot be reset now; `until` is set where time alone ends it.

    `since`: set where only a read-out tells of its end: it has lasted so long. `vetoes`: it is that somebody is busy,
    or has not said yet that he is not.
    """

    why: str
    until: datetime | None = None
    since: datetime | None = None
    vetoes: bool = False


def wait_of(node: Node, ring: Ring, fault: Fault, at: datetime, who: Callable[[Node, Ring], Users]) -> Obstacle | None:
    """Return what this fault waits for before anything is stopped and reset for it; None for nothing."""
    policy, name = node.policy.levels[fault.level], node.policy.window_of(fault.level)
    opening = node.calendar.get(name) or Opening(name, open=False) if name else None
    if opening is not None and opening.open:
        return None
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
        why = say("ring.waits-for-users", chips=ring.chips, user=users[0])
        return Obstacle(why, until, None if containers else fault.risen)
    if opening is None:
        return None
    if passes is not None:
        return _passing(node, fault, passes)
    if opening.wall is None:
        return Obstacle(say("ring.waits-for-no-window", chips=ring.chips, window=opening.name), opens)
    why = say("ring.waits-for-window", chips=ring.chips, window=opening.name, opens=opening.words)
    return Obstacle(why, opens)


def veto_of(node: Node, ring: Ring, fault: Fault, at: datetime, asked: Sequence[Container]) -> Obstacle | None:
    """Return who is waited for because he is busy, of those who would be stopped for this fault; None for nobody.

    `asked`: those of them who are asked. Whoever has not said it in this wait counts as busy until its longest time.
    """
    policy, longest = node.policy.levels[fault.level], node.policy.limits.busy
    since = ring.vetoed or at
    if not (policy.busy and policy.stop) or fault.risen + policy.stop_after > at or since + longest <= at:
        return None
    fresh = [(c, c.kept.veto if c.kept.veto is not None and c.kept.veto.at >= since else None) for c in asked]
    waits = [_busy(c, veto) for c, veto in fresh if veto is None or veto.busy]
    if not waits:
        return None
    why = say("ring.waits-for-busy", chips=ring.chips, who=waits, longest=longest)
    return Obstacle(why, since + longest, vetoes=True)


def _busy(container: Container, veto: Veto | None) -> str:
    if veto is None:
        return say("ring.asked-if-busy", name=container.name)
    return say("ring.busy", name=container.name, said=veto.said)


def veto_ends(node: Node, ring: Ring) -> datetime | None:
    """Return when nobody is waited for any more because he is busy; None where nobody is."""
    return ring.vetoed + node.policy.limits.busy if ring.vetoed is not None else None


def passes_at(node: Node, fault: Fault) -> datetime | None:
    """Return when what happened once is over, unless somebody has died of it: no reset is ever made for it."""
    return fault.changed + node.policy.death_window if fault.momentary else None


def _passing(node: Node, fault: Fault, passes: datetime) -> Obstacle:
    window = node.policy.death_window
    return Obstacle(say("ring.happened-once", code=fault.code, chip=fault.chip, window=window), passes)
