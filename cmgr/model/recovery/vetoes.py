"""Containers that may be busy: who is asked, and how long, before anybody is stopped for a fault that is not urgent.

Rules:
1. Nobody is asked in peace. The first answer is waited for, too: whoever has not said that he is not busy may be.
2. All the waits for a ring's faults together are no longer than `limits.busy`: the time runs from when the first began
   (`Ring.vetoed`), is stored, and begins anew only after the faults and their episode are over.
3. `scope.shut` decides, as it does for windows: here is only when the time begins.
"""

from collections.abc import Mapping
from datetime import datetime

from cmgr.frozen import replace
from cmgr.model.scope import any_busy, asked_if_busy, handled_faults, shut, stop_due
from cmgr.model.sparing import veto_ends
from cmgr.model.turn import Turn
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Ring
from cmgr.model.values.services.containers import Container, ContainerKey


def begin_to_ask(turn: Turn, ring: Ring) -> None:
    """Have those asked who may be busy, once nothing else keeps them from being stopped for the ring's faults."""
    faults = handled_faults(turn.node, ring)
    if ring.vetoed is not None and not faults and not ring.in_episode:
        turn.put_ring(replace(ring, vetoed=None))
    if ring.vetoed is not None or not any_busy(turn.node.containers):
        return
    due = [f for f in faults if not ring.in_episode or ((at := stop_due(turn.node, f)) is not None and at <= turn.at)]
    wait = shut(turn.node, ring, due, turn.at)
    if wait is None or not wait.vetoes:
        return
    ring = turn.put_ring(replace(ring, vetoed=turn.at))
    if ring.in_episode:
        turn.note(NoteKind.RESULT, wait.why, ring)


def to_ask(node: Node, at: datetime) -> Mapping[ContainerKey, tuple[Container, datetime]]:
    """Return whom to ask now whether he is busy, and since when his ring has waited for that."""
    found: dict[ContainerKey, tuple[Container, datetime]] = {}
    for ring in node.rings.values():
        ends = veto_ends(node, ring)
        if ring.vetoed is None or ends is None or ends <= at:
            continue
        for fault in handled_faults(node, ring):
            if node.policy.levels[fault.level].busy:
                found |= {c.key: (c, ring.vetoed) for c in asked_if_busy(node, ring, fault)}
    return found
