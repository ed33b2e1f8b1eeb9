"""Resets and tests that a person orders: under the rules of every reset, except that the chips need no fault.

The order opens an episode of its ring, or joins the one under way. It is good for one reset or test, is kept across
restarts of cmgr, and lapses when nothing could be done for too long. A test has no budget. Whatever makes a reset due
takes the order's place: the test comes after it.
"""

from cmgr.frozen import replace
from cmgr.model.recovery.attempt import Came, is_ready, try_reset
from cmgr.model.recovery.resetting import Why, look_at_chips
from cmgr.model.scope import handled_faults, spent_words, waiting_order
from cmgr.model.turn import Turn
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.messages.facts import ResetOrdered
from cmgr.model.values.rings import REBOOTING, Phase, Ring
from cmgr.model.values.standing import ORDER_LASTS, ResetOrder
from cmgr.sentences.sentence import say


def reset_ordered(turn: Turn, fact: ResetOrdered) -> None:
    """Take in the order; it is carried out when the ring is ready for it."""
    ring = turn.ring_of(fact.chip)
    if ring is None:
        return
    if fact.back:
        _take_back(turn, ring, fact.who)
        return
    said = say("ring.orders", who=fact.who, what="test" if fact.test else "reset", chip=fact.chip)
    if ring.phase in REBOOTING:
        turn.note(NoteKind.WARNING, say("ring.not-done-resetting", ordered=said), ring, chip=fact.chip)
        return
    known = turn.node.reset_orders.get(ring.id)
    waits = known is not None and not known.done
    if fact.test and waits and known is not None and not known.test:
        turn.note(NoteKind.WARNING, say("ring.not-done-ordered", ordered=said), ring, chip=fact.chip)
        return
    stop = fact.stop or (waits and known is not None and known.stop)
    turn.put_order(ResetOrder(ring.id, fact.chip, turn.at, fact.who, stop, test=fact.test))
    if fact.stop:
        # Containers that were left alone because a person had started them are meant now, too.
        turn.put_ring(replace(ring, theirs=frozenset(), spared=None))
    text = say("ring.orders-and-stops", ordered=said) if fact.stop else said
    turn.note(NoteKind.ACTION, text, ring, chip=fact.chip)


def _take_back(turn: Turn, ring: Ring, who: str) -> None:
    if (order := waiting_order(turn.node, ring)) is not None:
        text = say("ring.took-back", who=who, what=order.what, chip=order.chip, by=order.who)
        _drop(turn, order, NoteKind.ACTION, text)


def due_order(turn: Turn, ring: Ring) -> ResetOrder | None:
    """Return the order that the ring has yet to carry out."""
    order = turn.node.reset_orders.get(ring.id)
    return None if order is None or order.done else order


def ordered_cause(turn: Turn, ring: Ring) -> str:
    """Return what to call an episode that an order opens; nothing when there is none."""
    order = due_order(turn, ring)
    return "" if order is None else say("ring.ordered", what=order.what, chip=order.chip, who=order.who)


def carry_out(turn: Turn, ring: Ring) -> bool:
    """Return whether the waiting ring is about an order now: it was reset, or says what is in the way."""
    order = due_order(turn, ring)
    if order is None:
        return False
    if order.test:
        return _test(turn, ring, order)
    why = Why(say("ring.ordered-for", who=order.who, chip=order.chip), (order.chip,), frozenset())
    if try_reset(turn, ring.id, why) is not Came.SPENT:
        return True
    _lapse(turn, order, spent_words(turn.node.policy.reset))
    return False


def _test(turn: Turn, ring: Ring, order: ResetOrder) -> bool:
    faults, bad = handled_faults(turn.node, ring), ring.failures > 0
    if faults or bad or not turn.node.policy.reset.test:
        why = say("ring.needs-reset") if bad else say("ring.no-test")
        _lapse(turn, order, say("ring.has-fault") if faults else why)
        return False
    if is_ready(turn, ring.id):
        look_at_chips(turn, turn.ring(ring.id), say("ring.test-nobody-on", who=order.who, chips=ring.chips))
    return True


def lapse_orders(turn: Turn) -> None:
    """Drop the orders that have waited for too long."""
    for order in list(turn.node.reset_orders.values()):
        ring = turn.ring(order.ring)
        if not order.done and turn.at >= order.lapses and ring.phase is not Phase.RESETTING:
            why = ring.reason or say("ring.chips", chips=ring.chips)
            _lapse(turn, order, say("ring.nothing-done", length=ORDER_LASTS, why=why))


def _lapse(turn: Turn, order: ResetOrder, why: str) -> None:
    text = say("ring.order-lapsed", what=order.what, chip=order.chip, who=order.who, why=why)
    _drop(turn, order, NoteKind.WARNING, text)


def _drop(turn: Turn, order: ResetOrder, kind: NoteKind, text: str) -> None:
    ring = turn.ring(order.ring)
    turn.note(kind, text, ring, chip=order.chip)
    turn.drop_order(order.ring)
    # A last look that was under way was for this order.
    turn.put_ring(replace(ring, look=None, blocked=None))
