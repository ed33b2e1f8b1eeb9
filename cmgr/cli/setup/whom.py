"""Today's containers, and whom a fault would stop under each strategy: the model is asked, as by the service. Pure."""

from collections.abc import Sequence

from cmgr.frozen import replace
from cmgr.model.containers.users import as_ignored
from cmgr.model.scope import Scope, all_unclear, in_scope, on_ring
from cmgr.model.units import is_covered
from cmgr.model.values.chips import ChipId
from cmgr.model.values.handling.policy import Policy, Strategy
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Ring
from cmgr.model.values.services.containers import Container
from cmgr.sentences.sentence import say
from cmgr.view.advice import called
from cmgr.view.containers import UNCLEAR


def stopped(node: Node | None, strategy: Strategy) -> list[str]:
    """Say whom a fault that needs a reset would stop now. None: the service has not run yet."""
    if node is None or not node.rings:
        return [say("setup.none-known")]
    node = replace(node, policy=replace(node.policy, strategy=strategy))
    whom: dict[tuple[str, ...], list[ChipId]] = {}
    stay: list[str] = []
    waits = False
    for ring in node.rings.values():
        running = _running(node, ring)
        every = _names(node, ring, running, ring.chips)
        for chip in ring.chips:
            names = _names(node, ring, running, (chip,))
            whom.setdefault(names, []).append(chip)
            waits = waits or names != every
        stay += [called(node, c.key) for c in running if called(node, c.key) not in every]
    told = [_sentence(chips, names) for names, chips in whom.items()]
    told += [_of_mates(node)] if waits else []
    told += [say("setup.reset-waits", names=sorted(set(stay)))] if stay else []
    unclear = [called(node, c.key) for c in all_unclear(node.containers)]
    return [*told, *(say("word.because", what=name, why=UNCLEAR) for name in unclear)]


def under(node: Node, policy: Policy) -> Node:
    """Return the node as it is with this policy: who is ignored by it is not there."""
    left = {key: c for key, c in node.containers.items() if not as_ignored(policy, c).ignored}
    return replace(node, policy=policy, containers=left)


def proposed(node: Node) -> Strategy:
    """Return the strategy to propose: a whole ring is stopped where each that is used has one service on all of it."""
    used = [running for ring in node.rings.values() if (running := _running(node, ring))]
    chips = {key: ring.chips for ring in node.rings.values() for key in [c.key for c in _running(node, ring)]}
    alone = all(len(of) == 1 and len(chips[of[0].key]) > 1 and of[0].kept.chips >= set(chips[of[0].key]) for of in used)
    return Strategy.RING if used and alone else Strategy.SINGLE


def doubtful(node: Node) -> list[Container]:
    """Return those that run and perhaps use no chip, as monitors: they can reach all, beside others that use some."""
    running = {c.key: c for ring in node.rings.values() for c in _running(node, ring)}
    others = [c for c in running.values() if len(c.kept.chips) < len(node.chips)]
    found = [c for c in running.values() if others and len(node.chips) > 1 and len(c.kept.chips) == len(node.chips)]
    return [*all_unclear(node.containers), *sorted(found, key=lambda c: (c.name, c.key))]


def _running(node: Node, ring: Ring) -> list[Container]:
    return [c for c in on_ring(node, ring) if c.running and not is_covered(node, c)]


def _names(node: Node, ring: Ring, running: Sequence[Container], faulty: Sequence[ChipId]) -> tuple[str, ...]:
    scope = Scope(frozenset(faulty), frozenset())
    return tuple(called(node, c.key) for c in running if in_scope(node, ring, c, scope))


def _sentence(chips: Sequence[ChipId], names: Sequence[str]) -> str:
    where = say("setup.on", chips=chips) if len(chips) == 1 else say("setup.on-any-of", chips=chips)
    return say("setup.fault-stops", where=where, names=names) if names else say("setup.stops-nobody", where=where)


def _of_mates(node: Node) -> str:
    after = node.policy.reset.widen_after
    return say("setup.mates-run") if after is None else say("setup.mates-run-until", length=after)
