"""Chips that do not come up after a reset, or do not answer: what is tried, and how that ends.

Rules:
1. Chips that have not booted when the time for it is over are reset again within the budget, under the rules of every
   reset, although no fault may be left to say so. When the budget is used up they are isolated.
2. A chip that does not answer keeps its ring from every reset: whether a process is on it cannot be known. When that
   has lasted for as long as a boot may take, it is isolated, and with it what the reset would have been for.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from cmgr.model.faults.isolation import isolate
from cmgr.model.recovery.resetting import Why, is_spent, look_again, order_reset, spent_words
from cmgr.model.recovery.waiting import is_due_by_order, is_free, last_look
from cmgr.model.scope import active_faults, observing, used_chips
from cmgr.model.turn import Turn
from cmgr.model.values.chips import ChipId, listed
from cmgr.model.values.faults import Fault
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Ring
from cmgr.words import span


def bring_up(turn: Turn, ring: Ring, why: str) -> bool:
    """Reset chips once more that have not come up after a reset, when that is due. `why`: what they lack, in words.

    Return whether they were given up instead; else the ring says what it waits for.
    """
    down = dict.fromkeys(_down(turn.node, ring), "it has not come up after a reset")
    due = _due(turn.node, ring)
    early = due if due is not None and turn.at < due else None
    if not down or early is not None or observing(turn.node):
        look_again(turn, turn.put_ring(replace(ring, reason=why, look=None, deadline=early)))
        return False
    policy = turn.node.policy.reset
    if is_spent(turn, ring):
        return _give_up(turn, down, spent_words(policy))
    if ring.refusals and ring.not_before is not None and turn.at >= ring.not_before + policy.boot_timeout:
        return _give_up(turn, down, f"it cannot be reset again: {ring.reason}")
    look_again(turn, ring)
    if not is_due_by_order(turn, turn.node.rings[ring.id]) or not is_free(turn, turn.node.rings[ring.id], []):
        return False
    if not last_look(turn, turn.node.rings[ring.id]):
        return _end_silence(turn, turn.node.rings[ring.id], down)
    cause = f"{listed(down)} did not come up after the last reset"
    order_reset(turn, turn.node.rings[ring.id], Why(cause, tuple(sorted(down)), frozenset()))
    return False


def _due(node: Node, ring: Ring) -> datetime | None:
    """Return when another reset may be made: a driver that said no may have begun the last one all the same."""
    booted = [at + node.policy.reset.boot_timeout for at in ring.resets[-1:]]
    return max([*booted, *([ring.not_before] if ring.not_before is not None else [])], default=None)


def is_silent_for_good(turn: Turn, ring: Ring, faults: list[Fault]) -> bool:
    """Isolate what a reset is due for, if a chip of the ring has kept it from that for too long by its silence."""
    return _end_silence(turn, ring, {f.chip: f"{f.code} is still there" for f in reversed(faults)})


def _end_silence(turn: Turn, ring: Ring, due: Mapping[ChipId, str]) -> bool:
    mute = [c for c in ring.chips if (r := turn.node.reports.get(c)) is not None and r.error]
    if not mute or ring.silent is None or turn.at - ring.silent < turn.node.policy.reset.boot_timeout:
        return False
    if ring.failures == 0 and not _driver_answers(turn, ring):
        return False
    _give_up(
        turn,
        {c: "it does not answer" for c in mute if c not in turn.node.isolations},
        "that keeps its ring from a reset",
    )
    kept = {chip: why for chip, why in due.items() if chip not in turn.node.isolations}
    return _give_up(
        turn,
        kept,
        f"{listed(mute)} has not answered for {span(turn.at - ring.silent)}, so that its ring cannot be reset",
    )


def _driver_answers(turn: Turn, ring: Ring) -> bool:
    """Return whether it is the chips that are silent, and not the driver: then another one has answered meanwhile."""
    mates = [turn.node.reports[c] for c in ring.chips if c in turn.node.reports]
    if any(not report.error for report in mates):
        return True
    lately = turn.at - turn.node.policy.reset.boot_timeout
    others = (r for r in turn.node.rings.values() if r.id != ring.id and r.silent is None)
    return any(other.read is not None and other.read >= lately for other in others)


def _give_up(turn: Turn, chips: Mapping[ChipId, str], because: str) -> bool:
    for chip in sorted(chips):
        code = next((f.code for f in active_faults(turn.node, chip) if f.level.handled), None)
        isolate(turn, chip, by="budget", reason=f"{chips[chip]}, and {because}", code=code)
    return True


def _down(node: Node, ring: Ring) -> list[ChipId]:
    return [c for c in used_chips(node, ring) if (r := node.reports.get(c)) is not None and not r.is_up]
