"""Chips that do not come up after a reset, or do not answer: what is tried, and how that ends.

Rules:
1. Chips that have not booted when the time for it is over, or have failed their test, are reset again within the
   budget, under the rules of every reset, although no fault may be left to say so. When that is used up they are
   isolated.
2. A chip that does not answer keeps its ring from every reset: whether a process is on it cannot be known. When that
   has lasted for as long as a boot may take, it is isolated, and with it what the reset would have been for.
3. So is what a reset has left unwell, when the driver has refused another for as long as that. A reset that has not
   come back is waited for.
"""

from collections.abc import Mapping
from datetime import datetime

from cmgr.frozen import replace
from cmgr.model.faults.isolation import TEST, isolate
from cmgr.model.recovery.attempt import Came, mute, try_reset
from cmgr.model.recovery.resetting import Why, look_again
from cmgr.model.scope import active_faults, observing, spent_words, used_chips
from cmgr.model.turn import Turn
from cmgr.model.values.chips import ChipId
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Ring
from cmgr.sentences.sentence import say


def bring_up(turn: Turn, ring: Ring, why: str) -> bool:
    """Reset chips once more that have not come up after a reset, when that is due. `why`: what they lack, in words.

    Return whether they were given up instead; else the ring says what it waits for.
    """
    down = _down(turn.node, ring)
    due = _due(turn.node, ring)
    early = due if due is not None and turn.at < due else None
    if not down or early is not None or observing(turn.node):
        look_again(turn, turn.put_ring(replace(ring, reason=why, look=None, deadline=early)))
        return False
    if give_up_refused(turn, ring, down):
        return True
    look_again(turn, ring)
    failed = all(chip in ring.failed for chip in down)
    chips = sorted(down)
    cause = say("ring.did-not-pass", chips=chips) if failed else say("ring.did-not-come-up", chips=chips)
    came = try_reset(turn, ring.id, Why(cause, tuple(chips), frozenset()))
    if came is Came.SPENT:
        return _give_up(turn, down, spent_words(turn.node.policy.reset))
    return came is Came.SILENT and give_up_silent(turn, turn.ring(ring.id), down)


def _due(node: Node, ring: Ring) -> datetime | None:
    """Return when another reset may be made: a driver that said no may have begun the last one all the same."""
    # Those that have been tested have booted.
    booted = [at + node.policy.reset.boot for at in ring.resets[-1:] if not ring.failed]
    return max([*booted, *([ring.not_before] if ring.not_before is not None else [])], default=None)


def give_up_refused(turn: Turn, ring: Ring, due: Mapping[ChipId, str]) -> bool:
    """Isolate the chips that another reset is due for, where the driver refuses that. Return whether it does."""
    comes_back = any(r.in_reset for r in map(turn.node.reports.get, ring.chips) if r is not None)
    if ring.refused is None or comes_back or turn.at < ring.refused + turn.node.policy.reset.boot:
        return False
    why = ring.spared.why if ring.spared is not None else ring.reason
    return _give_up(turn, due, say("chip.cannot-be-reset", why=why))


def give_up_silent(turn: Turn, ring: Ring, due: Mapping[ChipId, str]) -> bool:
    """Isolate the chips that do not answer, and those that the reset is due for. Return that some were given up."""
    silent, since = mute(turn, ring), ring.silent or turn.at
    unanswered = {c: say("chip.does-not-answer") for c in silent if c not in turn.node.isolations}
    _give_up(turn, unanswered, say("chip.keeps-ring"))
    kept = {chip: why for chip, why in due.items() if chip not in turn.node.isolations}
    return _give_up(turn, kept, say("chip.ring-cannot-be-reset", chips=silent, length=turn.at - since))


def _give_up(turn: Turn, chips: Mapping[ChipId, str], because: str) -> bool:
    for chip in sorted(chips):
        code = next((f.code for f in active_faults(turn.node, chip) if f.level.handled), None)
        ring = turn.ring_of(chip)
        by = TEST if ring is not None and chip in ring.failed else "budget"
        isolate(turn, chip, by=by, reason=say("chip.and", what=chips[chip], because=because), code=code)
    return True


def _down(node: Node, ring: Ring) -> dict[ChipId, str]:
    """Return the chips that another reset is due for, though no fault may be left, and what is wrong with each."""
    reports = (node.reports.get(chip) for chip in used_chips(node, ring))
    down: dict[ChipId, str] = {r.chip: say("chip.not-up-after") for r in reports if r is not None and not r.is_up}
    failed = (chip for chip in used_chips(node, ring) if chip in ring.failed)
    return down | {chip: say("chip.failed-test", words=ring.failed[chip]) for chip in failed}
