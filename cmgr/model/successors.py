"""Successors: a chip has no more users after a recovery than before.

Whoever tries again makes another container when his own ends: a script, an agent, an engine that nobody knows. A
container that is made on the chips of a held one, and is one too many there, takes its place: it alone is started as
long as it is to run.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import takewhile

from cmgr.model.index import users_on
from cmgr.model.own_chips import home_of
from cmgr.model.units import is_asked_for, unit_of
from cmgr.model.values.chips import ALL_CHIPS, ChipId
from cmgr.model.values.holds import Hold
from cmgr.model.values.lookup import Indexed, kept
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import Container, ContainerKey

LATE = timedelta(hours=1)
"""So long after cmgr's start of a container a client may still make another: it waits before it tries again."""


_takers = Indexed[ContainerKey, Container](lambda container: container.kept.instead_of)


def _in_place_of(node: Node, key: ContainerKey) -> list[Container]:
    return [container for container in _takers(node.containers).get(key, ()) if _is_to_run(node, container)]


def successor(node: Node, hold: Hold) -> Container | None:
    """Return what is to run in the place of the held container: the last that was made there."""
    chips = hold.chips | _of(node, hold)
    found = [c for c in _in_place_of(node, hold.key) if not chips.isdisjoint(_chips(node, c))]
    return max(found, key=lambda c: (len(c.kept.instead_of), c.key)) if found else None


def former(node: Node, hold: Hold) -> Container | None:
    """Return one in whose place the held container was made, and which runs again."""
    container, chips = node.containers.get(hold.key), hold.chips | _of(node, hold)
    keys = sorted(container.kept.instead_of) if container is not None else ()
    found = (node.containers[key] for key in keys if key in node.containers)
    return next((c for c in found if c.running and not chips.isdisjoint(_chips(node, c))), None)


def _of(node: Node, hold: Hold) -> frozenset[ChipId]:
    container = node.containers.get(hold.key)
    return _chips(node, container) if container is not None else frozenset()


def _chips(node: Node, container: Container) -> frozenset[ChipId]:
    """Return the chips that it has, and those that it was made for: a client does not know that cmgr has moved it."""
    return container.kept.chips | (home_of(node, container) if container.made_for else frozenset())


def places(node: Node, container: Container) -> Mapping[ChipId, int]:
    """Return how many are to run on each of its chips, itself among them."""
    there = _users(node, container)
    return {chip: 1 + len(_on(node, chip, container, there)) for chip in sorted(container.kept.chips)}


def places_taken(node: Node, newcomer: Container) -> list[Container]:
    """Return the held containers in whose places this one was made, which is new: on each chip at most one."""
    if not newcomer.enabled or unit_of(node, newcomer) is not None or is_asked_for(node, newcomer):
        return []
    there, taken = _users(node, newcomer), list[Container]()
    while found := [(chips, other) for other in there if (chips := _too_many(node, newcomer, there, other))]:
        # Whose name is most like its own, and of those the last to end.
        taken.append(max(found, key=lambda f: (f[0], _alike(f[1].name, newcomer.name), _ended(f[1]), f[1].key))[1])
        there.remove(taken[-1])
    return taken


def _too_many(node: Node, newcomer: Container, there: Sequence[Container], other: Container) -> int:
    """Return on how many chips of this one, if it is held, there would be more with the newcomer than there were."""
    own = node.holds.get(newcomer.key)
    # Or one that is in the place of a held one, and runs.
    holds = [
        h for key in (other.key, *other.kept.instead_of) if (h := node.holds.get(key)) is not None and not h.is_theirs
    ]
    known = [hold.places for hold in holds if own is None or hold.since < own.since]
    known += [other.kept.places] if _is_late_for(other, newcomer) else []
    if not known:
        return 0
    # A newcomer that is held itself may have run beside the other on a chip that was away when that was held.
    uncounted = 1 if own is None else len(there) + 1
    on_each = ((chip, _on(node, chip, newcomer, there)) for chip in _chips(node, other) & newcomer.kept.chips)
    return sum(other in on and len(on) >= min(places.get(chip, uncounted) for places in known) for chip, on in on_each)


def _is_late_for(started: Container, newcomer: Container) -> bool:
    """Return whether a client can have made the newcomer for the stop of this one, which cmgr has started since."""
    if not (
        started.kept.places and started.running and started.kept.since is not None and newcomer.kept.since is not None
    ):
        return False
    return newcomer.image == started.image != "" and newcomer.kept.since - started.kept.since < LATE


def _alike(name: str, other: str) -> int:
    """Return with how many equal letters the two begin."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(name, other, strict=False)))


def _ended(container: Container) -> float:
    return container.kept.since.timestamp() if container.kept.since is not None else 0.0


def _users(node: Node, container: Container) -> list[Container]:
    """Return the others that are to run on chips of its own, and in whose place no other is.

    One of those that ask for every chip shares them with all that name theirs.
    """
    every, away = ALL_CHIPS in container.claims, _moved(node.containers)
    those = {c.key: c for c in (*users_on(node, container.kept.chips), *away)}
    return [
        other
        for other in those.values()
        if other.key != container.key and (ALL_CHIPS in other.claims) is every and unit_of(node, other) is None
        if _is_to_run(node, other) and not _in_place_of(node, other.key)
    ]


@kept
def _moved(containers: Mapping[ContainerKey, Container]) -> Sequence[Container]:
    return [container for container in containers.values() if container.made_for]


def _on(node: Node, chip: ChipId, container: Container, others: Iterable[Container]) -> list[Container]:
    """Return those of the others that use this chip with it: where it has shares, the same one."""
    known = node.chips.get(chip)
    divided = known is not None and bool(known.shares)
    return [o for o in others if chip in _chips(node, o) and not (divided and o.claims.isdisjoint(container.claims))]


def _is_to_run(node: Node, container: Container) -> bool:
    hold = node.holds.get(container.key)
    held = hold is not None and not hold.is_theirs
    return held or (container.enabled and (container.running or container.kept.wanted))
