"""Obstacles: they keep a hold from starting, each told in words. And whether its container is on its way up."""

from collections.abc import Callable, Sequence
from datetime import datetime
from enum import Enum
from typing import NamedTuple

from cmgr.model.lost_shares import lost_share, lost_words, shares_to_make
from cmgr.model.numbers import number_blocker
from cmgr.model.own_chips import given_away, slots_asked_for
from cmgr.model.scope import (
    blocks_its_group,
    chip_blocker,
    dead_link,
    in_round,
    is_coupled,
    isolated_words,
    members_of,
    over_for,
    strategy_of,
    why_idle,
)
from cmgr.model.successors import former, successor
from cmgr.model.values.fleet import gate
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.holds import Cause, Hold, HoldState
from cmgr.model.values.node import Node, is_unsure
from cmgr.model.values.services.cdi import EVERY_CHIP, Spec
from cmgr.model.values.services.containers import Container
from cmgr.model.values.services.groups import Group, GroupPhase
from cmgr.model.values.services.slots import Slot
from cmgr.sentences.sentence import because, say


class Block(Enum):
    """The kind of obstacle that keeps a hold from starting.

    `TURN`: others come first, or a list has to confirm something. `ANSWER`: a driver or runtime that was asked.
    `CHIP`: it waits beyond the end of the episode that made it.
    """

    NOTHING = "nothing"
    TURN = "turn"
    ANSWER = "answer"
    CHIP = "chip"


class Blocker(NamedTuple):
    kind: Block
    why: str


def start_blocker(node: Node, hold: Hold) -> Blocker:
    """Return what keeps cmgr from starting the held container now, in words."""
    own = own_blocker(node, hold)
    group = in_round(node, hold.key) if own.kind is not Block.CHIP else None
    if group is None:
        return own
    found = group_obstacle(node, group) if group.phase is GroupPhase.HALTING else None
    if found is None and (why := gate(node.engine, node.fleet_groups.get(group.name))):
        # The other appliances may take long: no episode waits for them.
        return Blocker(Block.CHIP, group_waits(group, why))
    if group.phase is GroupPhase.STARTING:
        return own
    # That the last of them can be started, and the round goes on, is seen within the same turn.
    return Blocker(found.kind if found else Block.ANSWER, group_waits(group, found.why if found else ""))


def group_waits(group: Group, why: str) -> str:
    return say("group.waits", group=group.name, why=why) if why else say("group.about-to-start", group=group.name)


def own_blocker(node: Node, hold: Hold) -> Blocker:
    """Return what keeps cmgr from starting the held container now, its group apart."""
    return next((found for check in _CHECKS if (found := check(node, hold)) is not None), _FREE)


_FREE = Blocker(Block.NOTHING, "")


def _unmanaged(node: Node, hold: Hold) -> Blocker | None:
    name = hold.key.runtime
    return None if name in node.runtimes else Blocker(Block.CHIP, say("hold.runtime-not-managed", runtime=name))


def _isolated(node: Node, hold: Hold) -> Blocker | None:
    """Of an isolated chip it is told first: an episode ends by itself, and an isolation mostly by a person."""
    chip = min(hold.chips & node.isolations.keys() & node.chips.keys(), default=None)
    return None if chip is None else Blocker(Block.CHIP, isolated_words(node, chip))


def _chips(node: Node, hold: Hold) -> Blocker | None:
    why = next((why for chip in sorted(hold.chips) if (why := chip_blocker(node, chip))), "")
    return Blocker(Block.CHIP, why) if why else None


def _network(node: Node, hold: Hold) -> Blocker | None:
    container = node.containers.get(hold.key)
    if container is None or not container.needs_network:
        return None
    dead = ((chip, code) for chip in sorted(hold.chips) if (code := dead_link(node, chip)) is not None)
    if (first := next(dead, None)) is None:
        return None
    chip, code = first
    if over := over_for(node, chip, code):
        return Blocker(Block.CHIP, say("hold.needed-network", chip=chip, code=code, over=over))
    return Blocker(Block.CHIP, say("hold.needs-network", chip=chip, code=code))


def _numbers(node: Node, hold: Hold) -> Blocker | None:
    why = number_blocker(node, hold)
    return Blocker(Block.CHIP, why) if why else None


def _idle(node: Node, hold: Hold) -> Blocker | None:
    why = why_idle(node, chips=bool(hold.chips))
    return Blocker(Block.CHIP, why) if why else None


def _superseded(node: Node, hold: Hold) -> Blocker | None:
    if (other := successor(node, hold)) is not None:
        return Blocker(Block.CHIP, say("hold.successor", name=other.name))
    if (other := former(node, hold)) is not None:
        return Blocker(Block.CHIP, say("hold.former-runs", name=other.name))
    return None


def _given_away(node: Node, hold: Hold) -> Blocker | None:
    others = given_away(node, hold)
    return Blocker(Block.CHIP, min(others.values())) if others else None


def _orphaned(node: Node, hold: Hold) -> Blocker | None:
    container = node.containers.get(hold.key)
    if container is None or not container.orphaned:
        return None
    return Blocker(Block.CHIP, say("hold.orphaned", name=container.cut_off))


def _share(node: Node, hold: Hold) -> Blocker | None:
    for chip in sorted(hold.chips & node.chips.keys()):
        if chip in shares_to_make(node, node.rings[node.chips[chip].ring]):
            return Blocker(Block.ANSWER, say("hold.shares-made", chip=chip))
    lost = lost_share(node, node.containers.get(hold.key))
    return None if lost is None else Blocker(Block.CHIP, lost_words(node, *lost))


def _slot(node: Node, hold: Hold) -> Blocker | None:
    why = slot_blocker(node, hold)
    is_there = all(name in node.slots for name in slots_asked_for(node, hold.key))
    return Blocker(Block.ANSWER if is_there else Block.CHIP, why) if why else None


def _unreached(node: Node, hold: Hold) -> Blocker | None:
    runtime = node.runtimes[hold.key.runtime]
    if not runtime.why_down:
        return None
    what = say("trouble.unreachable", runtime=runtime.name)
    return Blocker(Block.ANSWER, say("word.because", what=what, why=runtime.why_down))


def _unread(node: Node, hold: Hold) -> Blocker | None:
    unread = [c for c in sorted(hold.chips) if node.rings[node.chips[c].ring].read is None]
    return Blocker(Block.ANSWER, say("hold.not-read", chips=unread)) if unread else None


def _unlisted(node: Node, hold: Hold) -> Blocker | None:
    runtime = node.runtimes[hold.key.runtime]
    if runtime.listed is None:
        return Blocker(Block.ANSWER, say("hold.runtime-has-not-answered", runtime=runtime.name))
    late = hold.heard is not None and runtime.listed < hold.heard
    return Blocker(Block.ANSWER, say("hold.looks-whether-started", name=hold.name)) if late else None


_CHECKS: tuple[Callable[[Node, Hold], Blocker | None], ...] = (
    _unmanaged,
    _isolated,
    _chips,
    _network,
    _numbers,
    _idle,
    _superseded,
    _given_away,
    _orphaned,
    _share,
    _slot,
    _unreached,
    _unread,
    _unlisted,
)
"""All that can be in the way of a start, and the first is told. The later ones rest on the earlier ones."""


def group_obstacle(node: Node, group: Group, at: datetime | None = None) -> Blocker | None:
    """Return why the members cannot all be started now; None when they can.

    `at`: the time now; without it a member that is to be tried again later counts as one that cannot.
    """
    held = sorted((node.holds[k] for k in group.members if k in node.holds), key=lambda h: (h.name, h.key))
    for hold in held:
        if (found := _obstacle(node, hold, at)) is not None:
            return found
    if group.missing:
        names = sorted(name.rpartition("/")[2] for name in group.missing)
        return Blocker(Block.CHIP, say("group.was-removed", names=names))
    for container in members_of(node, group.name):
        if (
            container.running
            and container.key not in group.members | group.out
            and _is_waited_for(node, group, container)
        ):
            return Blocker(Block.CHIP, _why_left(node, container))
    return None


def _obstacle(node: Node, hold: Hold, at: datetime | None) -> Blocker | None:
    attempt = hold.attempt
    if hold.state is HoldState.FAILED and not is_due(hold, at):
        return Blocker(Block.CHIP, say("hold.failed", name=hold.name, error=attempt.error))
    if hold.is_to_end and attempt.error:
        return Blocker(Block.CHIP, say("ring.cannot-be-stopped", name=hold.name, error=attempt.error))
    if hold.is_to_end:
        return Blocker(Block.CHIP, say("hold.is-stopping", name=hold.name))
    own = own_blocker(node, hold)
    if own.kind is not Block.NOTHING:
        return Blocker(own.kind, say("hold.cannot-be-started", name=hold.name, why=own.why))
    if attempt.command is not None:
        return Blocker(Block.ANSWER, say("hold.has-not-answered", name=hold.name))
    if is_unsure(node, hold):
        return Blocker(Block.ANSWER, say("hold.looks-whether-it-runs", name=hold.name))
    if attempt.retry_at is not None and (at is None or at < attempt.retry_at):
        again = say("hold.to-be-tried", name=hold.name)
        why = because(again, attempt.error)
        return Blocker(Block.ANSWER, why)
    return None


def is_due(hold: Hold, at: datetime | None) -> bool:
    """Return whether one that has failed is to be tried now; where `at` is not told it is not."""
    return at is not None and not hold.is_given_up and (hold.attempt.retry_at is None or at >= hold.attempt.retry_at)


def _is_waited_for(node: Node, group: Group, container: Container) -> bool:
    """Return whether the others wait for the end of a running member that is not held."""
    if is_coupled(node, container) and not blocks_its_group(container):
        return True  # It is about to be held.
    # Its life of before the round is of no use to the others. In another one it waits for them.
    return group.began is None or container.kept.since is None or container.kept.since < group.began


def _why_left(node: Node, container: Container) -> str:
    """Return why a running member is not stopped with its group."""
    name, strategy = container.name, strategy_of(node, container)
    if not container.enabled:
        return say("group.member-hands-off", name=name)
    if strategy is Strategy.NEVER:
        return say("group.member-strategy", name=name, strategy=strategy)
    return say("group.member-rm", name=name) if container.auto_remove else say("group.member-runs", name=name)


def slot_blocker(node: Node, hold: Hold) -> str:
    """Return why what is held is not to be started on its slot yet: the slot's file does not say its chips."""
    state = node.cdi
    for name in slots_asked_for(node, hold.key):
        slot = node.slots.get(name)
        if slot is None:
            return say("hold.no-slot", slot=name)
        # An order under way may write something else any moment.
        texts = (state.written,) if state.asked is None else (state.written, state.asked[1])
        if state.again or not all(_say(specs, slot) for specs in texts):
            return say("hold.slot-not-written", slot=name)
    return ""


def _say(specs: Sequence[Spec], slot: Slot) -> bool:
    """Return whether these files give what is started on the slot its chips."""
    devices = [d for spec in specs if spec.name != EVERY_CHIP for d in spec.devices if d.name == slot.name]
    return any(not d.refusal and {chip.id for chip in d.chips} == slot.given for d in devices)


def is_starting(node: Node, hold: Hold) -> bool:
    """Return whether the hold's container is on its way up, so that its ring's episode waits for it."""
    if hold.is_theirs or hold.state in (HoldState.FAILED, HoldState.SETTLING):
        container = node.containers.get(hold.key)
        return hold.state is HoldState.SETTLING and container is not None and container.starting
    if hold.attempt.command is not None or (hold.is_to_end and not why_idle(node, chips=bool(hold.chips))):
        return True
    # A container that is to be healed has a time of its own.
    return hold.cause is not Cause.HEAL and start_blocker(node, hold).kind is not Block.CHIP
