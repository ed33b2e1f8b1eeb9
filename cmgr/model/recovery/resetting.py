"""Ordering a reset, and looking what became of it."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from cmgr.frozen import replace
from cmgr.model.faults.isolation import BOOT, TEST, booting_apart, isolate
from cmgr.model.faults.occurrences import end_momentary
from cmgr.model.faults.reports import ended_by_reset
from cmgr.model.recovery.chip_tests import begin_test, failed_words, is_untested, tried_in_vain
from cmgr.model.recovery.shares import promise_shares
from cmgr.model.scope import handled_faults, on_ring, spent_words, used_chips, why_idle
from cmgr.model.turn import Turn
from cmgr.model.values.chips import ChipId, RingId, listed
from cmgr.model.values.faults import Fault, FaultClass, FaultCode
from cmgr.model.values.handling.policy import backed_off, look_again_after
from cmgr.model.values.messages.commands import PrepareReset, ResetRing
from cmgr.model.values.messages.reset_facts import ChipsTested, ResetDone, ResetPrepared
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Phase, Ring, Testing, resets_within
from cmgr.sentences.sentence import because, say

REFUSED = timedelta(seconds=1)
"""How long to wait after the first refusal of the driver; then twice as long each time."""

REFUSED_MOST = timedelta(minutes=1)
"""The longest such wait. Each try disturbs all chips: a driver may have to let go of them for it."""

BOOT_POLL = timedelta(milliseconds=20)


def cause_of(faults: list[Fault]) -> str:
    """Name the gravest fault, and say how many there are besides."""
    first = faults[0]
    told = say("ring.fault-on-chip", code=first.code, level=first.level.name, chip=first.chip)
    return say("ring.faults-on-chip", fault=told, more=len(faults) - 1) if len(faults) > 1 else told


def give_up(turn: Turn, faults: list[Fault]) -> None:
    """The budget is used up: isolate the chips that one more reset would be for."""
    policy = turn.node.policy.reset
    for chip in sorted({f.chip for f in faults}):
        code = next(f.code for f in faults if f.chip == chip)
        why = say("chip.still-there-spent", code=code, spent=spent_words(policy))
        isolate(turn, chip, by="budget", reason=why, code=code)


class Why(NamedTuple):
    """The reason for a reset: chips, and the codes of their faults.

    No code where a person ordered it, where the chips have not come up after the last one, or where no driver has seen
    the fault.
    """

    cause: str
    chips: tuple[ChipId, ...]
    codes: frozenset[FaultCode]


def because_of(faults: list[Fault]) -> Why:
    """Return the reason of a reset that is to cure these."""
    return Why(
        cause_of(faults),
        tuple(sorted({f.chip for f in faults})),
        frozenset(f.code for f in faults if f.fault_class is not FaultClass.REPORTED),
    )


def order_reset(turn: Turn, ring: Ring, why: Why) -> None:
    """Have the reset prepared, and count it. Its order goes out when it is noted that this is done."""
    assert not [c for c in on_ring(turn.node, ring) if c.running], "a reset under a running container"
    reason = say("ring.cause-nobody-on", cause=why.cause, chips=ring.chips)
    order = ResetRing(turn.command_id("reset"), reason, ring.id, ring.chips, why.chips, why.codes)
    turn.commands.append(PrepareReset(turn.command_id("prepare"), reason, order))
    promise_shares(turn, ring)
    counted = (*resets_within(ring, turn.at, turn.node.policy.reset.window), turn.at)
    ring = turn.put_ring(
        replace(ring, resets=counted, reset=order.id, preparing=True, look=None, makes=0, make_at=None)
    )
    most = turn.node.policy.reset.attempts
    turn.enter(ring, Phase.RESETTING, say("ring.reset-number", number=len(counted), most=most, reason=reason))


def reset_prepared(turn: Turn, fact: ResetPrepared) -> None:
    """Let the order go out: from now on it counts, even if nobody lives to see its answer."""
    order, ring = fact.order, turn.node.rings.get(fact.order.ring)
    if ring is None or ring.reset != order.id or not ring.preparing:
        return
    # The preparation took its time, in which somebody may have started a container there, or begun a maintenance.
    why = why_idle(turn.node) or unsafe_reset(turn.node, ring.id)
    if why:
        refused(turn, ring, why)
    else:
        turn.put_ring(replace(ring, preparing=False))
        turn.commands.append(order)


def unsafe_reset(node: Node, ring: RingId) -> str:
    """Return why a reset that is counted must not go out with the node as it is, or nothing."""
    known = node.rings[ring]
    running = [c.name for c in on_ring(node, known) if c.running]
    if running:
        return say("ring.runs-on", name=running[0], ring=ring)
    spent = len(resets_within(known, known.resets[-1], node.policy.reset.window)) if known.resets else 0
    return "" if 0 < spent <= node.policy.reset.attempts else say("ring.over-budget", count=spent)


def reset_done(turn: Turn, fact: ResetDone) -> None:
    """Take in the answer to a reset."""
    ring = turn.node.rings.get(fact.ring)
    if ring is None or ring.reset != fact.command:
        return
    if fact.refused:
        refused(turn, ring, fact.error)
        return
    ring = turn.put_ring(replace(ring, reset=None, refusals=0, refused=None))
    if fact.error:
        reset_failed(turn, ring, fact.error)
    else:
        verify(turn, ring, say("ring.taken"))


def refused(turn: Turn, ring: Ring, why: str) -> Ring:
    """Nothing was reset: that costs no budget, and is tried again, after a wait that grows."""
    refusals, since = ring.refusals + 1, ring.refused or turn.at
    ring = replace(ring, resets=ring.resets[:-1], reset=None, preparing=False, refusals=refusals, refused=since)
    ring = turn.enter(turn.put_ring(ring), Phase.WAITING, say("ring.nothing-reset", why=why))
    again = turn.at + backed_off(REFUSED, min(REFUSED_MOST, turn.node.policy.reset.backoff_max), refusals)
    return turn.put_ring(replace(ring, refused_until=again, deadline=again))


def verify(turn: Turn, ring: Ring, reason: str) -> None:
    """Begin to look what became of the chips."""
    ended_by_reset(turn, ring)
    look_at_chips(turn, turn.ring(ring.id), reason)


def look_at_chips(turn: Turn, ring: Ring, reason: str) -> None:
    """Look whether the chips are up and well, and have them tested then where that is wanted."""
    _ordered_is_done(turn, ring)
    ring = turn.enter(ring, Phase.VERIFYING, reason)
    deadline = turn.at + turn.node.policy.reset.boot
    ring = turn.put_ring(replace(ring, deadline=deadline, failed={}, test=None))
    turn.ask_read(ring, f"did {listed(ring.chips)} boot?", not_older=turn.at)


def chips_tested(turn: Turn, fact: ChipsTested) -> None:
    """Take in the verdict of a test."""
    ring = turn.node.rings.get(fact.ring)
    if ring is None or ring.test is None or ring.test.command != fact.command:
        return
    for chip, words in sorted(fact.failed.items()):
        if (isolation := turn.node.isolations.get(chip)) is not None and isolation.by in (
            "level",
            "budget",
            BOOT,
            TEST,
        ):
            isolate(turn, chip, by=TEST, reason=say("chip.failed-test", words=words), code=isolation.code)
    used = used_chips(turn.node, ring)
    ring = replace(ring, failed={chip: words for chip, words in fact.failed.items() if chip in used})
    ring = replace(ring, deadline=turn.at + turn.node.policy.reset.boot)
    if ring.failed:
        reset_failed(turn, turn.put_ring(replace(ring, test=None)), failed_words(ring, used))
    elif fact.error:
        tried_in_vain(turn, ring, fact.error)
    else:
        turn.put_ring(replace(ring, test=Testing(done=True)))


def reset_failed(turn: Turn, ring: Ring, why: str) -> None:
    """The reset did not cure: wait before the next one, longer each time."""
    _ordered_is_done(turn, ring)
    policy = turn.node.policy.reset
    failures = ring.failures + 1
    again = turn.at + backed_off(policy.backoff, policy.backoff_max, failures)
    was_reset = ring.began is None or any(at >= ring.began for at in ring.resets)
    failed = say("ring.did-not-cure", number=failures, why=why) if was_reset else say("ring.not-well", why=why)
    ring = turn.enter(ring, Phase.WAITING, failed)
    turn.put_ring(replace(ring, failures=failures, not_before=again))


def _ordered_is_done(turn: Turn, ring: Ring) -> None:
    """An order is good for one reset, whatever came of that."""
    order = turn.node.reset_orders.get(ring.id)
    if order is not None and not order.done:
        turn.put_order(replace(order, done=True))


def verifying(turn: Turn, ring: Ring) -> None:
    """Look whether the chips have booted and are well, until they are or the time for it is over."""
    if ring.test is not None and ring.test.command is not None:
        return  # Whatever is new is for later: no reset may meet a program that tests the chips.
    assert ring.deadline is not None
    boot = turn.node.policy.reset.boot
    if is_in_reset(turn.node, ring):
        # The time for the boot begins when the call comes back. Until then nothing has failed.
        ring = turn.put_ring(replace(ring, deadline=turn.at + boot))
    late, used = ring.deadline is not None and turn.at >= ring.deadline, used_chips(turn.node, ring)
    # An isolated chip is given its time, and then not waited for: its mates are used all the same.
    apart = booting_apart(turn.node, ring)
    why = unready(turn, ring, used if late else [chip for chip in ring.chips if chip not in apart])
    if why and (tardy := _tardy(turn, ring, used)):
        _keep_out(turn, ring, tardy)
    elif why and late:
        reset_failed(turn, ring, say("ring.after-reset", why=why, length=boot))
    elif why:
        look_again(turn, turn.put_ring(replace(ring, reason=why)))
    else:
        _verified(turn, ring)


class Tardy(NamedTuple):
    """The chips that boot still, and since when the others of the ring are not to wait for them any longer."""

    chips: Sequence[ChipId]
    since: datetime


def _tardy(turn: Turn, ring: Ring, used: Sequence[ChipId]) -> Tardy | None:
    """Return the chips that boot for too long.

    None while anything else is wrong. A chip that boots is not reset again: that would have it begin anew.
    """
    policy = turn.node.policy.reset
    assert ring.deadline is not None
    tardy = [chip for chip in used if (r := turn.node.reports.get(chip)) is not None and not (r.error or r.booted)]
    others = [chip for chip in used if chip not in tardy]
    due = ring.deadline - policy.boot + (policy.late if others else policy.boot)
    is_due = turn.at >= due and not is_in_reset(turn.node, ring) and not unready(turn, ring, others)
    return Tardy(tardy, due) if tardy and is_due else None


def _keep_out(turn: Turn, ring: Ring, tardy: Tardy) -> None:
    if ring.read is None or ring.read < tardy.since:
        # A driver may take "not ready" for a boot until this moment, and say from now on what the chip really has.
        if ring.asked is None:
            turn.ask_read(ring, f"do {listed(tardy.chips)} boot still?", not_older=turn.at)
        return
    for chip in tardy.chips:
        isolate(turn, chip, by=BOOT, reason=say("chip.not-up"), code=None)
    verifying(turn, turn.ring(ring.id))


def await_tardy(turn: Turn) -> None:
    """Look again at the chips that boot still, though nobody waits for them: they are used as soon as they are up."""
    for isolation in turn.node.isolations.values():
        ring = turn.ring_of(isolation.chip)
        if isolation.by != BOOT or isolation.clean_since is not None or ring is None or ring.since is None:
            continue
        if ring.phase in (Phase.HEALTHY, Phase.RESUMING):
            look_again(turn, ring)


def _verified(turn: Turn, ring: Ring) -> None:
    end_momentary(turn, ring)
    faults = handled_faults(turn.node, ring)
    if faults:
        reset_failed(turn, ring, say("ring.still-there", cause=cause_of(faults)))
        return
    if is_untested(turn.node, ring):
        begin_test(turn, ring)
        return
    apart = booting_apart(turn.node, ring)
    why = say("ring.apart-boots", chips=sorted(apart)) if apart else say("ring.all-well")
    if ring.test is not None:
        why = say("ring.and-passed", well=why)
    turn.enter(turn.put_ring(replace(ring, failures=0)), Phase.RESUMING, why)


def is_in_reset(node: Node, ring: Ring) -> bool:
    """Return whether the driver is still in the call that resets the ring, as far as its last read-out tells."""
    return any(report.in_reset for report in map(node.reports.get, ring.chips) if report is not None)


def look_again(turn: Turn, ring: Ring) -> None:
    """Have the ring that waits for its chips to boot read when it is time for that."""
    assert ring.since is not None
    if ring.asked is None and ring.ask_at is None:
        # Ask often at first and more seldom later: a boot takes from a fraction of a second to minutes.
        wait = look_again_after(turn.at - ring.since, BOOT_POLL, 8)
        ring = turn.put_ring(replace(ring, ask_at=turn.at + wait))
    if ring.ask_at is not None and turn.at >= ring.ask_at:
        turn.ask_read(ring, f"did {listed(ring.chips)} boot?", not_older=turn.at)


def unready(turn: Turn, ring: Ring, chips: Sequence[ChipId]) -> str:
    """Return why these chips of the ring cannot be used yet, in words, or nothing."""
    reports = [turn.node.reports[c] for c in chips if c in turn.node.reports]
    if silent := [r for r in reports if r.error]:
        return say("ring.chip-does-not-answer", chip=silent[0].chip, error=silent[0].error)
    if ring.read is None or ring.since is None or ring.read < ring.since:
        return say("ring.state-asked", chips=ring.chips)
    if is_in_reset(turn.node, ring):
        return say("ring.not-come-back", chips=ring.chips)
    booting, unwell = [r.chip for r in reports if not r.booted], next((r.unwell for r in reports if r.unwell), "")
    if booting:
        why = say("ring.not-booted", chips=booting)
        return because(why, unwell)
    return unwell or failed_words(ring, chips)
