"""Mercy: nobody whose own chips are well is down for long because of a reset that does not come.

Rules:
1. Healthy ring mates are stopped only where the books know of nobody who does not go (`scope.refuser`).
2. Those who are down for a reset that has not begun within `limits.mercy` are given back. The time in which others are
   being stopped does not count.
3. They are not stopped again for this fault before the books say that the way is free. A process that only a look can
   find, or the driver's refusal, is remembered; and each time that they were stopped in vain they run longer.
4. A member of a group goes back with its group or not at all. A ring that a person wants empty for an ordered reset is
   empty until that lapses.
"""

from datetime import datetime, timedelta

from cmgr.frozen import replace
from cmgr.model import scope
from cmgr.model.holds.obstacles import Block, start_blocker
from cmgr.model.recovery.waiting import lasting_obstacle
from cmgr.model.turn import Turn
from cmgr.model.values.handling.policy import backed_off
from cmgr.model.values.holds import Cause, HoldState
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Phase, Ring, Spared
from cmgr.sentences.sentence import say

_BEFORE = frozenset({Phase.LISTING, Phase.WAITING})
"""Phases in which a reset can be waited for without end."""

SHORTEST = timedelta(seconds=1)
"""So long mates run at least, or they were given back and stopped again in one breath where only a list is late."""

LONGEST = timedelta(hours=1)
"""The longest time for which mates run on before they are stopped once more for what may be in the way again."""


def mercy_at(node: Node, ring: Ring) -> datetime | None:
    """Return when those are given back who are down for the ring's reset; None where there are none, or not yet."""
    if ring.phase not in _BEFORE or ring.spared is not None or ring.free is not None:
        return None  # Nobody is in the way of one for which a ring is to be idle: it comes in its time.
    bad = {chip for chip in ring.chips if scope.chip_words(node, chip, scope.blocking_faults(node, chip))}
    holds = [hold for hold in scope.holds_on(node, ring) if not hold.is_theirs]
    if all(not bad.isdisjoint(hold.chips) for hold in holds) or not scope.handled_faults(node, ring):
        return None  # Without a fault nobody would be stopped again: chips that have not come up wait for their own.
    if any(hold.is_to_end and not hold.attempt.error for hold in holds):
        return None
    if not _is_known_since_its_reset(ring):
        return None
    since = [hold.down for hold in holds if hold.down is not None]
    if ring.failures and ring.not_before is not None:
        reset = node.policy.reset
        since.append(ring.not_before - backed_off(reset.backoff, reset.backoff_max, ring.failures))
    return max(since) + node.policy.limits.mercy if since else None


def _is_known_since_its_reset(ring: Ring) -> bool:
    """Return whether it was read since its last reset: whether its chips have come up from that, with their shares."""
    return not ring.resets or (ring.read is not None and ring.read >= ring.resets[-1])


def have_mercy(turn: Turn, ring: Ring) -> None:
    """Give back who has waited for too long, or stop them again once the way is free."""
    if ring.spared is not None:
        _look_whether_free(turn, ring, ring.spared)
        return
    due, mercy = mercy_at(turn.node, ring), turn.node.policy.limits.mercy
    if due is None or turn.at < due or scope.observing(turn.node) or scope.is_cleared_by_order(turn.node, ring):
        return
    if ring.look is not None and lasting_obstacle(turn, ring) is None:
        return  # Nothing is in the way: it is about to be reset.
    # Of an earlier read-out those may be that have ended since.
    is_fresh = ring.read is not None and ring.read >= due - mercy
    processes = _processes(turn.node, ring) if is_fresh else frozenset()
    until = turn.at + (backed_off(mercy, LONGEST, ring.mercies) if ring.mercies else SHORTEST)
    if ring.refused is not None:
        until = turn.at + LONGEST  # Nothing but another try tells whether the driver would refuse again.
    spared = replace(ring, spared=Spared(ring.reason, until, processes), mercies=ring.mercies + 1)
    names = _startable(replace(turn.node, rings={**turn.node.rings, ring.id: spared}), ring)
    if not names:
        return
    turn.put_ring(spared)
    text = say("ring.mercy", chips=ring.chips, mercy=mercy, names=names, reason=ring.reason)
    turn.note(NoteKind.WARNING, text, ring)


def _processes(node: Node, ring: Ring) -> frozenset[int]:
    return frozenset(process.pid for chip in ring.chips for process, _ in scope.users_listed(node, chip))


def _startable(node: Node, ring: Ring) -> list[str]:
    """Return who would be started if the ring let those go whose own chips are well."""
    downs = (h for h in scope.holds_on(node, ring) if h.state is HoldState.DOWN and h.cause is not Cause.HEAL)
    return [hold.name for hold in downs if start_blocker(node, hold).kind is not Block.CHIP]


def _look_whether_free(turn: Turn, ring: Ring, spared: Spared) -> None:
    if turn.at < spared.until or spared.processes & _processes(turn.node, ring):
        return
    if lasting_obstacle(turn, replace(ring, spared=None)) is not None:
        return
    turn.note(NoteKind.RESULT, say("ring.way-is-free", chips=ring.chips), ring)
    turn.put_ring(replace(ring, spared=None))
