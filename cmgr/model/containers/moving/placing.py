"""Containers without a slot whose runtime can give them other chips: they are moved off isolated chips, too.

Which chips a hold is to be started on is decided and noted first (`Hold.chips`); the order to start it says what its
definition is to give then. Only a container whose label asks for that is moved (`cmgr.spare=auto`): one on a slot was
made to be moved, and of any other nobody can know.
"""

from collections.abc import Mapping

from cmgr.frozen import replace
from cmgr.model.containers.moving.moves import NO_SPARE, why_not
from cmgr.model.containers.moving.spares import free_chips, in_place_of, look_again
from cmgr.model.holds.making import hold_to_move
from cmgr.model.own_chips import given_away, home_of
from cmgr.model.scope import chip_blocker, isolated_words, observing
from cmgr.model.successors import former, successor
from cmgr.model.turn import Turn
from cmgr.model.values.chips import ChipId
from cmgr.model.values.holds import Hold, HoldState
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.messages.facts import MoveOrdered
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import Container, Spare
from cmgr.model.values.services.slots import can_be_placed
from cmgr.sentences.sentence import say

Chips = frozenset[ChipId]


def move_ordered(turn: Turn, fact: MoveOrdered) -> None:
    """Have the container started on these chips; where that cannot be, nothing happens: who has ordered it looks."""
    container, hold = turn.node.containers.get(fact.key), turn.node.holds.get(fact.key)
    if container is None or why_not_placed(turn.node, container, fact.chips):
        return
    held = hold is not None and hold.is_held_down
    if not held and not (container.running and fact.stop):
        return
    if hold is not None and hold.wish and fact.chips == hold.chips:
        text = say("slot.container-taken-back", who=fact.who, name=container.name, chips=sorted(hold.wish))
        turn.note(NoteKind.ACTION, text, container=fact.key)
        turn.put_hold(replace(hold, wish=frozenset()))
        return
    text = say("slot.container-ordered", who=fact.who, name=container.name, chips=sorted(fact.chips))
    turn.note(NoteKind.ACTION, text, container=fact.key)
    hold_to_move(turn, container, say("ring.chips", chips=sorted(fact.chips)), fact.chips)


def why_not_placed(node: Node, container: Container, chips: Chips) -> str:
    """Return why the container cannot be given these chips, in words."""
    home, name = home_of(node, container), container.name
    if container.tied:
        return say("slot.is-tied", name=name, tied=container.tied)
    if _is_divided(node, container):
        return say("slot.is-on-shares", name=name)
    if len(chips) != len(home):
        return say("slot.as-many", name=name, chips=sorted(home))
    return why_not(node, "", chips, container.key)


def _is_divided(node: Node, container: Container) -> bool:
    """Return whether a chip of its own is divided: it may ask for a share, and a share stays on its chip."""
    return any(
        node.chips[chip].shares for chip in home_of(node, container) | container.kept.chips if chip in node.chips
    )


def place(turn: Turn, *, only_short: bool = False) -> None:
    """Give what is held other chips, where a person wants that, or where its own are isolated or somebody else's.

    `only_short`: only those that have fewer than they were made for.
    """
    if observing(turn.node):
        return
    for hold in sorted(turn.node.holds.values(), key=lambda h: (h.order, h.name, h.key)):
        container = turn.node.containers.get(hold.key)
        idle = hold.state is HoldState.DOWN and hold.attempt.command is None
        if not idle or container is None or container.running or not can_be_placed(container):
            continue
        if only_short and len(hold.chips) >= len(home_of(turn.node, container)):
            continue
        if hold.wish:
            _obey(turn, hold, container)
        elif container.spare is Spare.AUTO and not _is_divided(turn.node, container):
            _leave_bad(turn, hold, container)


def _obey(turn: Turn, hold: Hold, container: Container) -> None:
    why = why_not_placed(turn.node, container, hold.wish)
    if why:
        text = say("slot.container-keeps", name=hold.name, chips=sorted(hold.chips), why=why)
        turn.note(NoteKind.WARNING, text, container=hold.key)
        turn.put_hold(replace(hold, wish=frozenset()))
        return
    text = say("slot.container-gets", name=hold.name, chips=sorted(hold.wish), before=sorted(hold.chips))
    turn.note(NoteKind.RESULT, text, turn.ring_for(hold.wish), container=hold.key)
    _give(turn, hold, hold.wish)


def _leave_bad(turn: Turn, hold: Hold, container: Container) -> None:
    bad, home = _bad_chips(turn.node, hold), home_of(turn.node, container)
    kept = hold.chips - frozenset(bad)
    if not home or len(kept) >= len(home):
        if hold.short:
            turn.put_hold(replace(hold, short=""))
        return
    chips = _as_many(turn.node, kept, home)
    name, why = hold.name, bad[min(bad)] if bad else ""
    if chips:
        gone, new = sorted(hold.chips - chips or hold.chips), sorted(chips - hold.chips)
        moves = say("slot.container-moves", name=name, gone=gone, why=why, new=new)
        turn.tell(hold, moves if why else say("slot.container-moves-home", name=name, gone=gone, new=new))
        _give(turn, hold, chips)
    elif bad and 0 < container.min_chips <= len(kept):
        left, all_ = len(kept), len(home)
        text = say(
            "slot.container-gets-fewer", name=name, left=left, all=all_, without=sorted(bad), why=why, short=NO_SPARE
        )
        turn.tell(hold, text, NoteKind.WARNING)
        _give(turn, replace(hold, short=NO_SPARE), kept)
    elif bad and not hold.short:
        turn.put_hold(replace(hold, short=NO_SPARE))
        text = say("slot.container-stays", name=name, chips=sorted(hold.chips), why=NO_SPARE)
        turn.tell(hold, text, NoteKind.WARNING)
        look_again(turn)


def _bad_chips(node: Node, hold: Hold) -> Mapping[ChipId, str]:
    """Return the chips that it is to leave, and why.

    None while anything else speaks against those that it keeps, or another is to run in its place.
    """
    if successor(node, hold) is not None or former(node, hold) is not None:
        return {}
    isolated, away = hold.chips & node.isolations.keys(), given_away(node, hold)
    if any(chip_blocker(node, chip) for chip in hold.chips - isolated - away.keys()):
        return {}
    return {**{chip: isolated_words(node, chip) for chip in isolated}, **away}


def _as_many(node: Node, kept: Chips, home: Chips) -> Chips:
    """Return as many chips as it was made for, its own where they are free; none where there are not as many."""
    if kept < home and home - kept <= set(free_chips(node, "")):
        return home
    lacking = frozenset(sorted(home - kept)[: len(home) - len(kept)])
    return in_place_of(node, lacking, kept | lacking, "")


def whole_for(node: Node, container: Container) -> Chips:
    """Return as many chips as it was made for, where it runs on fewer and there are as many now; else none."""
    home = home_of(node, container)
    return _as_many(node, container.kept.chips, home) if len(container.kept.chips) < len(home) else frozenset()


def _give(turn: Turn, hold: Hold, chips: Chips) -> None:
    turn.put_hold(replace(hold, chips=chips, wish=frozenset()))
    container = turn.node.containers[hold.key]
    turn.put_container(replace(container, kept=replace(container.kept, chips=chips, used=frozenset())))
