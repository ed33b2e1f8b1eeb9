"""Projects of docker compose: who waits for whom in them.

A container never waits for another of another project, nor for long (`limits.order_wait`). Services that need each
other in a circle are in no order: nobody waits along that circle. Where `cmgr.order` says otherwise, that holds: so the
two together make no circle either.
"""

from collections.abc import Iterator, Mapping
from datetime import datetime

from cmgr.model.holds.obstacles import Block, is_starting, start_blocker
from cmgr.model.index import project_mates
from cmgr.model.values.holds import Hold, HoldState
from cmgr.model.values.node import Node
from cmgr.model.values.services.compose import Condition, Need
from cmgr.model.values.services.containers import HEALTHY, Container


def circle(node: Node, container: Container) -> tuple[str, ...]:
    """Return the services of a circle in which this container's is, from it to itself; nothing where there is none."""
    if container.composed is None or not container.composed.needs:
        return ()
    start = container.composed.service
    return _way(_needs_by_service(node, container), start, start)


def _needs_by_service(node: Node, container: Container) -> Mapping[str, frozenset[str]]:
    needs: dict[str, frozenset[str]] = {}
    for mate in project_mates(node, container):
        if mate.composed is not None:
            named = frozenset(need.service for need in mate.composed.needs)
            needs[mate.composed.service] = needs.get(mate.composed.service, frozenset()) | named
    return needs


def _way(needs: Mapping[str, frozenset[str]], start: str, end: str) -> tuple[str, ...]:
    """Return the services on a way along the needs, both ends included; nothing where there is none."""
    ways: list[tuple[str, ...]] = [(start, need) for need in sorted(needs.get(start, ()))]
    seen = {start}
    while ways:
        way = ways.pop(0)
        if way[-1] == end:
            return way
        if way[-1] not in seen:
            seen.add(way[-1])
            ways += [(*way, need) for need in sorted(needs.get(way[-1], ()))]
    return ()


def _needed(node: Node, container: Container) -> Iterator[tuple[Need, Container]]:
    """Yield the containers that come before this one, and what must be true of each."""
    composed = container.composed
    if composed is None or not composed.needs:
        return
    needs = _needs_by_service(node, container)
    for need in composed.needs:
        if need.service == composed.service or _way(needs, need.service, composed.service):
            continue
        for mate in project_mates(node, container):
            of_it = mate.composed is not None and mate.composed.service == need.service
            if of_it and mate.order <= container.order:
                yield need, mate


def needed_holds(node: Node, hold: Hold) -> list[Hold]:
    """Return the holds of the containers that are to be up before this one's is started."""
    container = node.containers.get(hold.key)
    found = _needed(node, container) if container is not None else ()
    return [node.holds[mate.key] for _, mate in found if mate.key in node.holds]


def needing_holds(node: Node, hold: Hold) -> list[Hold]:
    """Return the holds of the containers that are to be down before this one's is stopped."""
    container = node.containers.get(hold.key)
    if container is None or container.composed is None:
        return []
    return [
        node.holds[mate.key]
        for mate in project_mates(node, container)
        if mate.key in node.holds
        and hold.key not in node.holds[mate.key].follows
        and any(key == hold.key for key in (n.key for _, n in _needed(node, mate)))
    ]


def is_coming(node: Node, hold: Hold) -> bool:
    """Return whether the hold's container is on its way up, and only its runtime can still keep it."""
    under_way = hold.attempt.command is not None or hold.is_to_end
    return is_starting(node, hold) and (under_way or start_blocker(node, hold).kind is Block.NOTHING)


def unready_until(node: Node, hold: Hold) -> datetime | None:
    """Return until when a hold's start waits for needed containers that run and are not ready; None for nothing.

    Whether that is past its reader looks: a container that never gets ready keeps nobody longer than `order_wait`.
    """
    container = node.containers.get(hold.key)
    if container is None or hold.state is not HoldState.DOWN:
        return None
    times = [
        mate.kept.since + node.policy.limits.order_wait
        for need, mate in _needed(node, container)
        if mate.kept.since is not None and mate.running and not _is_ready(need, mate)
    ]
    return max(times, default=None)


def _is_ready(need: Need, mate: Container) -> bool:
    if need.condition is Condition.HEALTHY:
        return mate.says_within is None or mate.says == HEALTHY or mate.frozen
    return need.condition is Condition.STARTED
