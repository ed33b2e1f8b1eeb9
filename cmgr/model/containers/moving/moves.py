"""Slots: making them, and moving what is on them to other chips.

Rules:
1. A slot gets other chips only while nothing runs on it, and only what is held is started on them.
2. Which chips it has is decided and noted first; then its file is written, and only then anything is started.
3. It moves off a chip that is isolated, and for nothing less: a chip that may still be cured is waited for.
4. Without a spare it gives the chips that are left, if those on it agree to so few; whole again with the next start.
"""

from collections.abc import Mapping, Sequence

from cmgr.frozen import replace
from cmgr.model.containers.moving.spares import how_given, in_place_of, look_again, to_hand_out
from cmgr.model.holds.making import hold_to_move
from cmgr.model.own_chips import slots_asked_for
from cmgr.model.scope import chip_blocker, isolated_words, observing
from cmgr.model.turn import Turn
from cmgr.model.units import is_covered
from cmgr.model.values.chips import ChipId, resolve
from cmgr.model.values.holds import Cause, Hold, HoldState
from cmgr.model.values.lookup import grouped, kept
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.messages.facts import ReserveOrdered, SlotOrdered, SlotRemoveOrdered
from cmgr.model.values.node import Node, chips_of_slots
from cmgr.model.values.services.containers import Container, ContainerKey, Spare
from cmgr.model.values.services.slots import NAME, Reservation, Slot, slots_of
from cmgr.sentences.sentence import say

NO_SPARE = say("slot.no-spare")

Chips = frozenset[ChipId]


def users_of(node: Node, slot: str) -> list[Container]:
    """Return the containers that ask for the slot, running or not, by name."""
    return list(_by_slot(node.containers).get(slot, ()))


@kept
def _by_slot(containers: Mapping[ContainerKey, Container]) -> Mapping[str, Sequence[Container]]:
    by_name = sorted(containers.values(), key=lambda container: (container.name, container.key))
    return grouped((slot, container) for container in by_name for slot in slots_of(container))


def why_not(node: Node, name: str, chips: Chips, key: ContainerKey | None = None) -> str:
    """Return why a slot of this name, or this container without one, cannot have these chips, in words."""
    absent = sorted(chips - node.chips.keys())
    if absent or not chips:
        return say("slot.no-chip", chip=absent[0]) if absent else say("slot.no-chips")
    for other in node.slots.values():
        taken = sorted((other.chips | other.wish) & chips)
        if other.name != name and taken:
            return say("slot.chips-belong", chips=taken, slot=other.name)
    bad = sorted(chips & node.isolations.keys())
    if bad:
        return isolated_words(node, bad[0])
    for container in node.containers.values():
        on = container.kept.chips & chips
        if on and container.key != key and name not in slots_of(container) and (how := how_given(node, container)):
            return say("slot.has-its-chips", name=container.name, how=how, chips=sorted(on))
    for hold in node.holds.values():
        on = (hold.chips | hold.wish) & chips
        if on and hold.keeps_chips and hold.key != key and name not in slots_asked_for(node, hold.key):
            return say("slot.starts-on", name=hold.name, chips=sorted(on))
    return ""


def slot_ordered(turn: Turn, fact: SlotOrdered) -> None:
    """Make the slot, or give it other chips; where that cannot be, nothing happens: who has ordered it looks."""
    slot = turn.node.slots.get(fact.name)
    chips, who = fact.chips or to_hand_out(turn.node, fact.count), fact.who
    if not NAME.fullmatch(fact.name) or why_not(turn.node, fact.name, chips):
        return
    if slot is None:
        turn.put_slot(Slot(fact.name, chips, chips, turn.at, say("slot.made-by", who=who)))
        turn.note(NoteKind.ACTION, say("slot.made", who=who, slot=fact.name, chips=sorted(chips)))
        _resettle(turn, fact.name)
    elif len(chips) == len(slot.chips) and slot.given != chips:
        turn.note(NoteKind.ACTION, say("slot.chips-ordered", who=who, slot=fact.name, chips=sorted(chips)))
        turn.put_slot(replace(slot, wish=chips, reason=say("slot.ordered-by", who=who)))
        if fact.stop:
            _hold_users(turn, fact.name)
    elif slot.given == chips:
        if slot.wish:
            text = say("slot.order-taken-back", who=who, slot=fact.name, chips=sorted(slot.wish))
            turn.note(NoteKind.ACTION, text)
        turn.put_slot(replace(slot, wish=frozenset(), home=chips))


def slot_remove_ordered(turn: Turn, fact: SlotRemoveOrdered) -> None:
    """Take the slot away, unless a container asks for it."""
    if fact.name in turn.node.slots and not users_of(turn.node, fact.name):
        turn.drop_slot(fact.name)
        turn.note(NoteKind.ACTION, say("slot.removed", who=fact.who, slot=fact.name))


def to_reserve(node: Node, fact: ReserveOrdered) -> Chips:
    """Return the chips that this order would keep; none where there are too few."""
    return to_hand_out(node, fact.count, model=fact.model, packing=fact.packing, one_ring=fact.one_ring)


def reserve_ordered(turn: Turn, fact: ReserveOrdered) -> None:
    """Keep free chips for who asks; where there are too few, nothing happens: who has ordered it looks."""
    chips = to_reserve(turn.node, fact)
    if not chips:
        return
    kept = {chip: Reservation(chip, fact.until, fact.who, fact.asker) for chip in sorted(chips)}
    turn.node = replace(turn.node, reservations={**turn.node.reservations, **kept})
    text = say("slot.reserved", who=fact.who, chips=sorted(chips), length=fact.until - turn.at)
    turn.note(NoteKind.ACTION, text)


def lapse(turn: Turn) -> None:
    """End the reservations whose time is over, and wait no longer for who has left a chip."""
    kept = {chip: kept for chip, kept in turn.node.reservations.items() if turn.at < kept.until}
    if len(kept) < len(turn.node.reservations):
        turn.node = replace(turn.node, reservations=kept)
    left = {chip: until for chip, until in turn.node.left.items() if turn.at < until}
    if len(left) < len(turn.node.left):
        turn.node = replace(turn.node, left=left)


def whole_with(node: Node, slot: Slot) -> Chips:
    """Return the chips with which a slot that gives fewer would give all now; none where there are not as many."""
    isolated = slot.without & node.isolations.keys()
    return in_place_of(node, isolated, slot.chips, slot.name) if isolated else slot.chips


def _hold_users(turn: Turn, slot: str) -> None:
    """Promise to start again what runs on the slot; `keep` stops it."""
    for container in users_of(turn.node, slot):
        # Its unit, which covers a container, asks for the slot, too.
        if container.running and container.enabled and not is_covered(turn.node, container):
            hold_to_move(turn, container, say("slot.other-chips", slot=slot))


def move(turn: Turn, *, only_short: bool = False) -> None:
    """Give slots that nothing runs on other chips, where a person wants that, or where theirs are isolated.

    `only_short`: only those that give fewer than they have.
    """
    if observing(turn.node):
        return
    for name in sorted(turn.node.slots):
        slot = turn.node.slots[name]
        if only_short and not slot.without:
            continue
        users = users_of(turn.node, name)
        if any(container.running or _under_way(turn.node, container) for container in users):
            continue
        if slot.wish:
            _obey(turn, slot)
        else:
            _leave_isolated(turn, slot, users)


def _under_way(node: Node, container: Container) -> bool:
    """Return whether it may be running, whatever the books say: a stop or a start of ours is not answered."""
    hold = node.holds.get(container.key)
    return hold is not None and not hold.is_down


def why_moved(_turn: Turn, hold: Hold) -> str | None:
    """Return the reason of a stop or start that gives it other chips; None for any other."""
    if hold.cause is not Cause.MOVE:
        return None
    return say("slot.gets-others") if hold.is_to_end else say("slot.has-others")


def moves_still(turn: Turn, hold: Hold) -> bool | None:
    """Return whether one that is to be stopped for other chips is still to get some; None for any other."""
    if hold.cause is not Cause.MOVE:
        return None
    asked_for = slots_asked_for(turn.node, hold.key)
    return bool(hold.wish) or any(turn.node.slots[name].wish for name in asked_for if name in turn.node.slots)


def _obey(turn: Turn, slot: Slot) -> None:
    why = why_not(turn.node, slot.name, slot.wish)
    if why:
        turn.put_slot(replace(slot, wish=frozenset()))
        turn.note(NoteKind.WARNING, say("slot.keeps", slot=slot.name, chips=sorted(slot.chips), why=why))
        return
    text = say("slot.has-now", slot=slot.name, chips=sorted(slot.wish), before=sorted(slot.chips))
    turn.note(NoteKind.RESULT, text)
    _give(turn, replace(slot, home=slot.wish, without=frozenset(), short=""), slot.wish, slot.reason)


def _leave_isolated(turn: Turn, slot: Slot, users: list[Container]) -> None:
    without = frozenset(slot.without & turn.node.isolations.keys()) if _agree(users, slot.given) else frozenset()
    if without != slot.without:
        back = say("slot.in-use-again", chips=sorted(slot.without - without))
        slot = _give(turn, replace(slot, without=without), slot.chips, back if without else say("slot.is-whole-again"))
    waiting = [
        hold for c in users if (hold := turn.node.holds.get(c.key)) is not None and hold.state is not HoldState.FAILED
    ]
    bad = _only_isolated(turn.node, slot.chips)
    if not waiting or not bad or any(c.spare is Spare.NEVER for c in users):
        if slot.short:
            turn.put_slot(replace(slot, short=""))
        return
    chips = in_place_of(turn.node, bad, slot.chips, slot.name)
    ring = turn.ring_for(slot.chips)
    why = isolated_words(turn.node, min(bad))
    if not chips:
        if slot.without != bad and _agree(users, slot.chips - bad):
            _go_short(turn, slot, bad, why)
        elif not slot.short:
            turn.put_slot(replace(slot, short=NO_SPARE))
            text = say("slot.stays", slot=slot.name, chips=sorted(slot.chips), why=NO_SPARE)
            turn.note(NoteKind.WARNING, text, ring)
            look_again(turn)
        return
    gone, new = sorted(slot.chips - chips), sorted(chips - slot.chips)
    for hold in waiting:
        text = say("slot.moves", slot=slot.name, gone=gone, why=why, new=new)
        if hold.name == slot.name:
            text = say("slot.container-moves", name=hold.name, gone=gone, why=why, new=new)
        turn.note(NoteKind.HOLD, text, ring, container=hold.key)
    _give(turn, replace(slot, without=frozenset(), short=""), chips, why)


def _only_isolated(node: Node, chips: Chips) -> Chips:
    """Return those of the chips that are isolated, if nothing else speaks against any of them; else none."""
    isolated = frozenset(chips & node.isolations.keys())
    return frozenset() if any(chip_blocker(node, chip) for chip in chips - isolated) else isolated


def _agree(users: list[Container], left: Chips) -> bool:
    """Return whether every container on the slot has said that it can work with so few chips."""
    return all(0 < container.min_chips <= len(left) for container in users)


def _go_short(turn: Turn, slot: Slot, bad: Chips, why: str) -> None:
    """Give only the chips that are left."""
    left, all_ = len(slot.chips - bad), len(slot.chips)
    text = say("slot.gives-fewer", slot=slot.name, left=left, all=all_, without=sorted(bad), why=why, short=NO_SPARE)
    turn.note(NoteKind.WARNING, text, turn.ring_for(slot.chips))
    _give(turn, replace(slot, without=bad, short=NO_SPARE), slot.chips, why)


def _give(turn: Turn, slot: Slot, chips: Chips, reason: str) -> Slot:
    """Give the slot these chips, and what is held on it, too."""
    given = replace(slot, chips=chips, wish=frozenset(), since=turn.at, reason=reason)
    turn.put_slot(given)
    _resettle(turn, slot.name)
    return given


def _resettle(turn: Turn, slot: str) -> None:
    for container in users_of(turn.node, slot):
        chips, _ = resolve(container.claims, turn.node.chips, chips_of_slots(turn.node))
        # Where its last life was seen says nothing of the next one.
        used = container.kept.used if container.running else frozenset()
        wanted = container.kept.wanted or (container.running and container.enabled)
        kept = replace(container.kept, chips=chips | used, used=used, wanted=wanted)
        turn.put_container(replace(container, kept=kept))
        hold = turn.node.holds.get(container.key)
        if hold is not None and not container.running:
            turn.put_hold(replace(hold, chips=chips))
