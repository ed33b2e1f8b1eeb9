"""Waiting for one another: who is stopped and who is started first, and for how long the others wait."""

from collections.abc import Iterator
from datetime import datetime

from cmgr.model.containers.together.projects import is_coming, needed_holds, needing_holds, unready_until
from cmgr.model.holds.obstacles import is_starting
from cmgr.model.index import held_on
from cmgr.model.scope import in_group
from cmgr.model.turn import Turn
from cmgr.model.values.holds import Hold
from cmgr.model.values.node import Node
from cmgr.sentences.sentence import say


def stops_before(turn: Turn, hold: Hold) -> str:
    """Say who comes first: one with a higher order that was not answered its first stop and has time left for that."""
    if turn.at >= hold.since + turn.node.policy.limits.order_wait:
        return ""
    first = [h for h in needing_holds(turn.node, hold) if _is_being_stopped(turn, h)]
    first += [o for o in _of_same_order(turn, hold) if o.order > hold.order and _is_being_stopped(turn, o)]
    return say("hold.stopped-first", name=min(h.name for h in first)) if first else ""


def _is_being_stopped(turn: Turn, other: Hold) -> bool:
    asked = other.is_to_end and not other.attempt.error and other.key.runtime in turn.node.runtimes
    return asked and not _had_its_time(turn, other)


def starts_before(turn: Turn, hold: Hold) -> str | None:
    """Say who comes first: one with a lower order that is still on its way up and has time left for that."""
    before = [o for o in _of_same_order(turn, hold) if o.order < hold.order and not _had_its_time(turn, o)]
    first = [other.name for other in before if is_starting(turn.node, other)]
    if not first:
        needed = needed_holds(turn.node, hold)
        first = [o.name for o in needed if is_coming(turn.node, o) and not _had_its_time(turn, o)]
    if first:
        return say("hold.started-first", name=min(first))
    until = unready_until(turn.node, hold)
    return say("hold.needed-not-ready") if until is not None and turn.at < until else None


def order_times(node: Node) -> Iterator[datetime]:
    """Yield when containers wait no longer for others because of the order."""
    for hold in node.holds.values():
        if hold.is_to_end and hold.attempt.told is None:
            yield hold.since + node.policy.limits.order_wait
        elif (until := _waited_for_until(node, hold)) is not None:
            yield until
        if (ready := unready_until(node, hold)) is not None:
            yield ready


def _had_its_time(turn: Turn, other: Hold) -> bool:
    until = _waited_for_until(turn.node, other)
    return until is not None and turn.at >= until


def _waited_for_until(node: Node, hold: Hold) -> datetime | None:
    """Return until when others that come later in the order wait for it; None while it has been told nothing."""
    most = node.policy.limits.order_wait
    if hold.attempt.told is None:
        return None
    return hold.attempt.told + (min(hold.grace, most) if hold.is_to_end else most)


def _of_same_order(turn: Turn, hold: Hold) -> Iterator[Hold]:
    """Yield those whose order counts for this one: on the same rings, or in the same group, whatever the rings."""
    yield from held_on(turn.node, (chip for ring in turn.rings_of(hold.chips) for chip in ring.chips))
    container = turn.node.containers.get(hold.key)
    for mate in in_group(turn.node, container.group) if container is not None and container.group else ():
        if mate.key in turn.node.holds:
            yield turn.node.holds[mate.key]
