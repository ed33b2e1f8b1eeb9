"""Isolation: taking a chip out of use, and giving it back."""

from datetime import datetime

from cmgr.frozen import replace
from cmgr.model.faults.escalation import separating
from cmgr.model.scope import active_faults, blocking_faults
from cmgr.model.turn import Turn
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import FaultClass, FaultCode, Isolation, Level
from cmgr.model.values.handling.policy import NO_TIME
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Ring
from cmgr.sentences.sentence import say

BOOT = "boot"
"""A chip that has not come up since its reset is isolated by this, and used as soon as it has."""

TEST = "test"
"""A chip that has failed its test is isolated by this: that its driver has nothing against it does not end that."""


def booting_apart(node: Node, ring: Ring) -> list[ChipId]:
    """Return the ring's chips that are kept out because they have not come up since its reset."""
    return [c for c in ring.chips if (found := node.isolations.get(c)) is not None and found.by == BOOT]


def isolate(turn: Turn, chip: ChipId, *, by: str, reason: str, code: FaultCode | None) -> None:
    """Take the chip out of use until a person, a rule or a clean period says otherwise."""
    turn.put_isolation(Isolation(chip, turn.at, by, reason, code))
    text = say("chip.is-isolated", chip=chip, reason=reason)
    turn.note(NoteKind.ISOLATION, text, turn.ring_of(chip), chip=chip)
    for fault in active_faults(turn.node, chip):
        if fault.momentary:
            turn.put_fault(replace(fault, cleared=turn.at))  # No episode will be about it any more.
    track_clean(turn, chip)


def separate(turn: Turn, chip: ChipId) -> None:
    """Have the chip isolated by whatever asks for that now: a rule that was fired before a fault's own level."""
    _lift(turn, chip)
    isolation, standing = turn.node.isolations.get(chip), separating(turn.node, chip)
    if turn.node.policy.levels[Level.SeparateNPU].observe:
        standing = None
    if standing is not None:
        if isolation is None or isolation.by in ("level", "budget", BOOT):
            code, raised = standing
            reason = say("chip.raised", code=code, reason=raised.reason)
            if raised.manual:
                reason = say("chip.raised-manual", code=code, reason=raised.reason)
            isolate(turn, chip, by="escalation", reason=reason, code=code)
        return
    if isolation is not None and isolation.by == "escalation":
        why = say("chip.its-raised-no-more")
        if isolation.code is not None:
            why = say("chip.raised-no-more", code=isolation.code)
        _release(turn, isolation, why)
    asking = [f for f in active_faults(turn.node, chip) if f.level is Level.SeparateNPU]
    if asking and chip not in turn.node.isolations and not turn.node.policy.levels[Level.SeparateNPU].observe:
        isolate(turn, chip, by="level", reason=say("chip.level-asks", code=asking[0].code), code=asking[0].code)


def _lift(turn: Turn, chip: ChipId) -> None:
    """End an isolation for a fault of the network, as cmgr 0.1.0 made them: the chip itself is well."""
    isolation = turn.node.isolations.get(chip)
    if isolation is None or isolation.code is None or isolation.by == "operator":
        return
    if turn.node.catalog.class_of(isolation.code) is FaultClass.NETWORK:
        _release(turn, isolation, say("chip.fault-of-network", code=isolation.code))


def track_clean(turn: Turn, chip: ChipId) -> None:
    """Book since when the isolated chip has been up, and without a fault that would keep it so."""
    isolation = turn.node.isolations.get(chip)
    if isolation is None:
        return
    report = turn.node.reports.get(chip)
    free = isolation.by == BOOT or not blocking_faults(turn.node, chip)  # A fault of one that is up is handled.
    clean = free and (report is None or report.is_up)
    if clean is not (isolation.clean_since is not None):
        turn.put_isolation(replace(isolation, clean_since=turn.at if clean else None))


def release_at(node: Node, isolation: Isolation) -> datetime | None:
    """Return when a clean period ends the isolation; None when something else does."""
    if isolation.by in ("operator", "escalation", TEST) or isolation.clean_since is None:
        return None
    return isolation.clean_since + (NO_TIME if isolation.by == BOOT else node.policy.isolation.release_after)


def release_due(turn: Turn) -> None:
    """End the isolations whose chips have been clean for long enough, on the word of a read-out made since."""
    for isolation in list(turn.node.isolations.values()):
        due, ring = release_at(turn.node, isolation), turn.ring_of(isolation.chip)
        if due is None or ring is None or turn.at < due:
            continue
        if ring.read is None or ring.read < due:
            if ring.ask_at is None or turn.at >= ring.ask_at:
                turn.ask_read(ring, f"is chip {isolation.chip} clean?", not_older=due)
            continue
        after = say("chip.clean", length=turn.node.policy.isolation.release_after)
        _release(turn, isolation, say("chip.has-booted") if isolation.by == BOOT else after)


def _release(turn: Turn, isolation: Isolation, why: str) -> None:
    chip = isolation.chip
    turn.drop_isolation(chip)
    turn.note(NoteKind.ISOLATION, say("chip.released", chip=chip, why=why), turn.ring_of(chip), chip=chip)
