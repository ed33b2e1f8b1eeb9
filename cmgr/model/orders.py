"""Orders of a person: taken in like any other fact, under the same rules."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from cmgr.frozen import replace
from cmgr.model.containers import healing as heals
from cmgr.model.containers.container_news import runtime_forgotten
from cmgr.model.containers.moving.moves import reserve_ordered, slot_ordered, slot_remove_ordered
from cmgr.model.containers.moving.placing import move_ordered
from cmgr.model.containers.together.groups import group_restart_ordered, group_resume_ordered
from cmgr.model.faults import escalation
from cmgr.model.faults.arrivals import piece_forgotten
from cmgr.model.faults.isolation import isolate, separate
from cmgr.model.faults.machine import seen_to
from cmgr.model.faults.occurrences import escalate
from cmgr.model.faults.reports import reported
from cmgr.model.holds.endings import leave
from cmgr.model.holds.restarters import taken
from cmgr.model.holds.tries import try_anew
from cmgr.model.maintenance import maintenance_ordered
from cmgr.model.recovery import restraint
from cmgr.model.recovery.ordered_resets import reset_ordered
from cmgr.model.recovery.reboots import reboot_cancel_ordered
from cmgr.model.recovery.shares import try_shares_again
from cmgr.model.turn import Turn
from cmgr.model.values import standing
from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.messages.facts import Ordered
from cmgr.model.values.messages.piece_facts import ChipForgetOrdered
from cmgr.model.values.messages.reboot_facts import RebootCancelOrdered
from cmgr.model.values.node import Node
from cmgr.model.values.services import groups, slots
from cmgr.sentences.sentence import say


def after_restart(node: Node, at: datetime) -> Node:
    """Return the node with what stands fitted to the machine and the clock of a new life."""
    there = {ring.id for ring in node.rings.values() if ring.chips}
    orders = {r: replace(o, at=min(o.at, at)) for r, o in node.reset_orders.items() if r in there}
    return replace(
        heals.after_restart(node, at),
        reservations={c: slots.not_longer(r, at) for c, r in node.reservations.items()},
        groups={n: groups.not_ahead(g, at) for n, g in node.groups.items()},
        reset_orders=orders,
        maintenance=standing.after_restart(node.maintenance, at),
        restraint=restraint.not_ahead(node.restraint, node.rings, at),
    )


def _resume(turn: Turn, fact: facts.ResumeOrdered) -> None:
    """Forget the failures of a container that is held or ails, and wait no longer before the next try."""
    hold, healing = turn.node.holds.get(fact.key), turn.node.healings.get(fact.key)
    heals.begin_anew(turn, fact.key)
    if hold is not None and hold.state is HoldState.SETTLING:
        return  # It runs.
    if hold is None:
        container = turn.node.containers.get(fact.key)
        if healing is not None and container is not None:
            turn.tell(container, say("person.restart", who=fact.who, name=container.name), NoteKind.ACTION)
        return
    try_shares_again(turn, turn.node.containers.get(fact.key))
    try_anew(turn, hold)
    turn.tell(hold, say("person.start", who=fact.who, name=hold.name), NoteKind.ACTION)


def _resume_all(turn: Turn, fact: facts.ResumeAllOrdered) -> None:
    """Let begin what was kept back, and try every container again that was given up."""
    if turn.node.restraint.kept:
        turn.note(NoteKind.ACTION, say("person.none-kept-back", who=fact.who))
        restraint.lift(turn)
    given_up = {k for k, h in turn.node.healings.items() if h.ails and h.given_up is not None}
    for key in sorted(given_up | {k for k, h in turn.node.holds.items() if h.state is HoldState.FAILED}):
        _resume(turn, facts.ResumeOrdered(key, fact.who))


def _acknowledge(turn: Turn, fact: facts.AcknowledgeOrdered) -> None:
    for trouble in [t for t in turn.node.troubles.values() if t.id in fact.troubles]:
        turn.end_trouble(*trouble.key)
        turn.note(NoteKind.ACTION, say("person.acknowledged", who=fact.who, trouble=trouble.words))
    for id_ in fact.troubles:
        seen_to(turn, id_, fact.who)


def _release(turn: Turn, fact: facts.ReleaseOrdered) -> None:
    """End the chip's isolation, and begin its ring's budget anew."""
    if fact.chip not in turn.node.isolations:
        return
    turn.drop_isolation(fact.chip)
    ring = turn.ring_of(fact.chip)
    if ring is not None:  # Else it was taken out for good.
        turn.put_ring(replace(ring, resets=()))
    turn.note(NoteKind.ISOLATION, say("chip.released-by", chip=fact.chip, who=fact.who), ring, chip=fact.chip)
    # Raises by rules are forgiven; a fault whose own level isolates does so again while it is there.
    escalation.forgive(turn, fact.chip)
    escalate(turn)
    if ring is not None:
        separate(turn, fact.chip)
        # The last look is that of the isolation, when its users were still there: by that one it would be no spare.
        turn.ask_read(turn.node.rings[ring.id], f"who is on chip {fact.chip}?", not_older=turn.at)


def _isolate(turn: Turn, fact: facts.IsolateOrdered) -> None:
    """Take the chip out of use; one that is isolated already is a person's to release from now on."""
    if fact.chip not in turn.node.chips:
        return
    before = turn.node.isolations.get(fact.chip)
    text = say("chip.isolate-ordered", who=fact.who, chip=fact.chip)
    turn.note(NoteKind.ACTION, text, turn.ring_of(fact.chip), chip=fact.chip)
    isolate(turn, fact.chip, by="operator", reason=fact.reason, code=before.code if before is not None else None)
    if before is not None:
        turn.put_isolation(replace(turn.node.isolations[fact.chip], since=before.since))


def _forget(turn: Turn, fact: facts.ForgetOrdered) -> None:
    """End the hold; of one that is down that it is wanted, too. Our orders under way take their course.

    A container that runs stays wanted: its death would be another matter.
    """
    hold, container = turn.node.holds.get(fact.key), turn.node.containers.get(fact.key)
    missed = container is not None and container.kept.wanted and not container.running
    if hold is None and container is not None and (missed or fact.key in turn.node.healings):
        turn.tell(container, say("person.left", who=fact.who, name=container.name), NoteKind.ACTION)
    elif container is not None and container.running and container.kept.instead_of and hold is None:
        turn.put_container(replace(container, kept=replace(container.kept, instead_of=frozenset())))
        turn.tell(container, say("person.in-nobodys-place", who=fact.who, name=container.name), NoteKind.ACTION)
    heals.spare(turn, fact.key)
    if hold is not None and not hold.is_theirs:
        leave(turn, hold, say("person.forgotten", who=fact.who))
        return
    if container is not None and missed:
        turn.put_container(replace(container, kept=replace(container.kept, wanted=False, forgotten=container.run)))
    taken(turn, fact.key)


DONE: Mapping[type[Ordered], Callable[[Turn, Any], None]] = {
    facts.ResumeOrdered: _resume,
    facts.ResumeAllOrdered: _resume_all,
    facts.ReleaseOrdered: _release,
    facts.IsolateOrdered: _isolate,
    facts.ResetOrdered: reset_ordered,
    facts.ForgetOrdered: _forget,
    facts.GroupRestartOrdered: group_restart_ordered,
    facts.GroupResumeOrdered: group_resume_ordered,
    facts.RuntimeForgetOrdered: runtime_forgotten,
    ChipForgetOrdered: piece_forgotten,
    facts.MoveOrdered: move_ordered,
    facts.SlotOrdered: slot_ordered,
    facts.ReserveOrdered: reserve_ordered,
    facts.SlotRemoveOrdered: slot_remove_ordered,
    facts.AcknowledgeOrdered: _acknowledge,
    facts.ReportOrdered: reported,
    facts.MaintenanceOrdered: maintenance_ordered,
    RebootCancelOrdered: reboot_cancel_ordered,
}
"""The function that does each kind of order."""


def ordered(turn: Turn, fact: Ordered) -> None:
    """Do what a person wants."""
    DONE[type(fact)](turn, fact)
