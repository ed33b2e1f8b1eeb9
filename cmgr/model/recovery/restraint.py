"""The limit on how much cmgr stops at once: a storm over the whole machine is more often the driver than the chips.

Rules:
1. Only episodes that stop containers count, and only what has not begun is kept back. Faults that concern nobody but
   the container of their program do neither.
2. A ring that is kept back waits for a person, or for its faults to go away.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta

from cmgr.frozen import replace
from cmgr.model.scope import handled_faults, holds_on, in_scope, observing, on_ring, scope_for
from cmgr.model.turn import Turn
from cmgr.model.units import tells_of_users
from cmgr.model.values.chips import RingId
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.node import Node, Restraint
from cmgr.model.values.rings import Ring
from cmgr.sentences.sentence import say

HOUR = timedelta(hours=1)


def keep_back_or_count(turn: Turn, ring: Ring) -> bool:
    """Keep the ring from beginning an episode where the limits say so, else count it. Return whether it was kept."""
    if observing(turn.node) or not _would_stop(turn.node, ring):
        return False
    restraint = turn.node.restraint
    opened = tuple(t for t in restraint.opened if turn.at - t < HOUR)
    why = "" if ring.id in restraint.waived else _why(turn.node, opened)
    if why:
        _keep_back(turn, ring, why)
        return True
    begun = replace(restraint, opened=(*opened, turn.at), waived=restraint.waived - {ring.id})
    turn.node = replace(turn.node, restraint=_without(begun, ring.id))
    return False


def let_go(turn: Turn) -> None:
    """Forget the rings that have nothing to wait for any more, and lift the restraint when none is left."""
    for ring_id in list(turn.node.restraint.kept):
        ring = turn.node.rings.get(ring_id)
        waits = ring is not None and not ring.in_episode and not observing(turn.node)
        if ring is None or not (waits and (handled_faults(turn.node, ring) or _would_stop(turn.node, ring))):
            turn.node = replace(turn.node, restraint=_without(turn.node.restraint, ring_id))
            if ring is not None and not ring.in_episode:
                turn.put_ring(replace(ring, reason=""))
    restraint = turn.node.restraint
    if restraint.since is not None and not restraint.kept:
        turn.note(NoteKind.WARNING, say("ring.none-kept-back"))
        turn.node = replace(turn.node, restraint=replace(restraint, since=None, reason="", waived=frozenset()))


def lift(turn: Turn) -> None:
    """A person says that it is the chips: what is kept back may begin, and the hour begins anew."""
    restraint = turn.node.restraint
    turn.node = replace(turn.node, restraint=replace(restraint, opened=(), waived=frozenset(restraint.kept)))


def not_ahead(restraint: Restraint, rings: Mapping[RingId, Ring], at: datetime) -> Restraint:
    """Return the stored restraint as it fits this machine and a clock that may have been set back."""
    return replace(
        restraint,
        opened=tuple(min(t, at) for t in restraint.opened),
        since=None if restraint.since is None else min(restraint.since, at),
        kept={r: min(t, at) for r, t in restraint.kept.items() if r in rings},
        waived=restraint.waived & frozenset(rings),
    )


def _why(node: Node, opened: tuple[datetime, ...]) -> str:
    limits = node.policy.limits
    busy = [r for r in node.rings.values() if r.keeps_others and _stops(node, r)]
    if len(busy) >= limits.rings_at_once:
        return say("ring.limit-rings", count=len(busy))
    if len(opened) >= limits.episodes_per_hour:
        return say("ring.limit-episodes", count=len(opened))
    # A ring that was held up once waits for a person, although others are through by now.
    return node.restraint.reason


def _keep_back(turn: Turn, ring: Ring, why: str) -> None:
    restraint = turn.node.restraint
    if ring.id in restraint.kept:
        return
    if restraint.since is None:
        turn.note(NoteKind.WARNING, say("ring.perhaps-driver", why=why))
        restraint = replace(restraint, since=turn.at, reason=why)
    kept = {**restraint.kept, ring.id: turn.at}
    turn.node = replace(turn.node, restraint=replace(restraint, kept=kept))
    reason = say("ring.kept-back", why=why)
    turn.put_ring(replace(ring, reason=reason))
    turn.note(NoteKind.WARNING, say("ring.is-kept-back", ring=ring.id, kept=reason), ring)


def _without(restraint: Restraint, ring: RingId) -> Restraint:
    return replace(restraint, kept={r: t for r, t in restraint.kept.items() if r != ring})


def _stops(node: Node, ring: Ring) -> bool:
    return any(h.is_held_down for h in holds_on(node, ring)) or _would_stop(node, ring)


def _would_stop(node: Node, ring: Ring) -> bool:
    """Return whether a running container is in scope of the ring's faults, now or when they have lasted.

    Before every runtime has been heard in this life there may be one that the books do not know.
    """
    # No program may use the limit up by its own faults: others would be kept back.
    faults = [f for f in handled_faults(node, ring) if node.policy.levels[f.level].stop and not f.spares_others]
    scope = scope_for(node, ring, faults)
    if not ring.in_episode and faults:
        ring = replace(ring, theirs=frozenset())  # Those of its last episode.
    if scope.faulty and node.policy.strategy is not Strategy.NEVER and not _heard(node):
        return True
    return any(c.running and in_scope(node, ring, c, scope) for c in on_ring(node, ring))


def _heard(node: Node) -> bool:
    return all(state.listed is not None for state in tells_of_users(node))
