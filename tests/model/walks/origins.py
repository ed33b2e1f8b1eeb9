"""Mistakes that a node could make about an engine, or about a unit, in the random walks. Pure."""

from collections.abc import Iterable, Sequence

from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import Action, Note, NoteKind, ResetRing
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import ContainerKey
from tests.model.machine import OTHER, Real


def lost(before: Node, node: Node, fact: facts.Fact) -> list[ContainerKey]:
    """Return who ran, or was held, and is not known any more since a list of an engine that has other books."""
    origin = fact.origin if isinstance(fact, facts.ContainersListed) else None
    known = before.origins.get(origin.runtime) if origin is not None else None
    if origin is None or origin.word != OTHER or known is None or known.word == OTHER:
        return []  # Which books are the right ones nobody can know before one of theirs was listed.
    gone = before.holds.keys() | {key for key, c in before.containers.items() if c.running}
    gone -= node.containers.keys() | node.holds.keys()
    return sorted(key for key in gone if key.runtime == origin.runtime)


def resets_in_doubt(node: Node, actions: Iterable[Action]) -> list[Action]:
    """Return the resets that are ordered while an engine is known not to have the books of those that ran."""
    doubted = any(origin.doubted is not None for origin in node.origins.values())
    return [action for action in actions if doubted and isinstance(action, ResetRing)]


def not_up(node: Node, notes: Sequence[Note], reals: Iterable[Real]) -> list[Real]:
    """Return those that cmgr has started, and that are still starting, of episodes that are over as recovered."""
    rings = {note.ring for note in notes if note.kind is NoteKind.CLOSED and note.outcome == "recovered"}
    found = list[Real]()
    for real in reals if rings else ():
        booked = node.containers.get(real.key)
        if booked is not None and booked.starting and booked.run == f"life {real.life}" and not real.by_others:
            found += [real] * bool(rings & {node.chips[chip].ring for chip in booked.kept.chips})
    return found
