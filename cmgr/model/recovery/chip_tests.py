"""Tests of chips before work returns to them: after each reset, and when a person orders one.

Rules:
1. A ring is tested when all of its chips that are used are up and well. None of its holds is started before they have
   passed.
2. A chip that has failed is reset again within the budget, and then isolated until a person releases it: that its
   driver has nothing against it is no proof any more.
3. An isolated chip is tested only where a person names it: its ring is not to wait for one that nobody uses. If it
   fails, it is isolated for that.
4. Nor is one on which a container runs: a person has started it meanwhile, and it is his.
5. A test that says nothing of the chip (it cannot be run) fails nobody: it is tried again, ever more slowly, for as
   long as there is a test, and the ring says why it waits.
"""

from collections.abc import Sequence
from datetime import timedelta

from cmgr.frozen import replace
from cmgr.model.scope import on_ring
from cmgr.model.turn import Turn
from cmgr.model.values.chips import ChipId
from cmgr.model.values.handling.policy import backed_off
from cmgr.model.values.messages.commands import NoteKind, RunTest
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Ring, Testing
from cmgr.sentences.sentence import say

AGAIN, AGAIN_MOST = timedelta(seconds=5), timedelta(minutes=1)
"""The wait after a test that said nothing, doubled each time, and the longest such wait."""


def is_untested(node: Node, ring: Ring) -> bool:
    """Return whether the ring that is being verified has chips to be tested, whose turn that is now."""
    return bool(node.policy.reset.test and _to_test(node, ring)) and not (ring.test is not None and ring.test.done)


def begin_test(turn: Turn, ring: Ring) -> None:
    """Have the chips tested, unless it is too early for another try."""
    before = ring.test or Testing()
    if before.at is not None and turn.at < before.at:
        turn.put_ring(replace(ring, deadline=before.at))
        return
    chips = _to_test(turn.node, ring)
    reason: str = say("ring.tested", chips=chips)
    command = RunTest(turn.command_id("test"), reason, ring.id, chips)
    turn.commands.append(command)
    # It has its own limit, which is not the model's: the time for the boot counts no more.
    reason = ring.reason if before.tries else reason
    turn.put_ring(replace(ring, test=Testing(command.id, tries=before.tries), deadline=None, reason=reason))


def tried_in_vain(turn: Turn, ring: Ring, why: str) -> None:
    """Try again later: nothing is known of the chips."""
    tries = ring.test.tries + 1 if ring.test is not None else 1
    again = turn.at + backed_off(AGAIN, AGAIN_MOST, tries)
    reason = say("ring.cannot-be-tested", chips=_to_test(turn.node, ring), why=why)
    if reason != ring.reason:
        turn.note(NoteKind.WARNING, reason, ring)
    turn.put_ring(replace(ring, test=Testing(at=again, tries=tries), deadline=again, reason=reason))


def failed_words(ring: Ring, chips: Sequence[ChipId]) -> str:
    """Return which of these chips have failed their test, and the words of the first; or nothing."""
    bad = [chip for chip in chips if chip in ring.failed]
    if not bad:
        return ""
    return say("ring.failed-test", chips=bad, words=ring.failed[bad[0]])


def _to_test(node: Node, ring: Ring) -> tuple[ChipId, ...]:
    """Return those that are in use and that nobody is on, and the one that a person wants tested, isolated or not."""
    order = node.reset_orders.get(ring.id)
    meant = order.chip if order is not None and order.test else None
    up = {chip for chip in ring.chips if (report := node.reports.get(chip)) is not None and report.is_up}
    up -= frozenset[ChipId]().union(*(c.kept.chips for c in on_ring(node, ring) if c.running))
    return tuple(chip for chip in ring.chips if chip in up and (chip not in node.isolations or chip == meant))
