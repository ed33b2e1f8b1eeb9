"""The checks before a reset: each says in words, and with a deadline, what is in the way."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from cmgr.frozen import replace
from cmgr.model.faults.isolation import booting_apart
from cmgr.model.holds.making import hold_in_scope
from cmgr.model.holds.restarters import is_fought_for
from cmgr.model.recovery.resetting import look_again
from cmgr.model.scope import (
    Scope,
    handled_faults,
    held_keys,
    holds_on,
    in_scope,
    observing,
    on_ring,
    refuser,
    scope_of,
    shut,
    stop_due,
    strategy_of,
    unclear_users,
    used_chips,
    users_listed,
    why_idle,
    widest_scope,
)
from cmgr.model.sparing import Obstacle
from cmgr.model.turn import Turn
from cmgr.model.units import is_asked_for, tells_of_users, unit_of
from cmgr.model.values.chips import ChipReport, Process, listed
from cmgr.model.values.faults import Fault, Level
from cmgr.model.values.handling.policy import NO_TIME, Strategy, look_again_after
from cmgr.model.values.holds import HoldState
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.node import RuntimeState
from cmgr.model.values.rings import Phase, Ring
from cmgr.model.values.services.containers import Container
from cmgr.sentences.sentence import say

LOOK_AGAIN = timedelta(milliseconds=50)


Check = Callable[[Turn, Ring, Sequence[Fault]], Obstacle | None]


def require_due(turn: Turn, ring: Ring, faults: Sequence[Fault]) -> bool:
    """Return whether a reset is due, by the faults' own measure where it is for faults; else the ring says why not."""
    checks: tuple[Check, ...] = (_observed, _stops, _booting)
    return _passes(turn, ring, faults, (*checks, _too_early, _spares, _backing_off) if faults else checks)


def require_free(turn: Turn, ring: Ring, faults: Sequence[Fault]) -> bool:
    """Return whether nobody is in the way of a reset, as far as the books know; else the ring says who."""
    if not _passes(turn, ring, faults, (_users, _shares, _runtimes, _other_rings)):
        return False
    ring = turn.ring(ring.id)
    if ring.blocked is not None:
        turn.put_ring(replace(ring, blocked=None))
    return True


def _passes(turn: Turn, ring: Ring, faults: Sequence[Fault], checks: tuple[Check, ...]) -> bool:
    for check in checks:
        obstacle = check(turn, ring, faults)
        if obstacle is not None:
            _wait(turn, obstacle, ring)
            return False
    return True


def _wait(turn: Turn, obstacle: Obstacle, ring: Ring) -> None:
    """Leave the reason on the ring. A last look that was under way is void: it was taken too early."""
    times = [obstacle.until] if obstacle.until else []
    stops = (stop_due(turn.node, f) for f in handled_faults(turn.node, ring))
    times += [due for due in stops if due is not None and due > turn.at]
    ring = turn.ring(ring.id)
    turn.put_ring(replace(ring, reason=obstacle.why, deadline=min(times, default=None), look=None, free=None))


def _stops(turn: Turn, ring: Ring, faults: Sequence[Fault]) -> Obstacle | None:
    for hold in holds_on(turn.node, ring):
        if hold.is_to_end and hold.attempt.error:
            why = say("ring.cannot-be-stopped", name=hold.name, error=hold.attempt.error)
            return Obstacle(why, hold.attempt.retry_at)
        if hold.is_to_end:
            return Obstacle(say("ring.is-being-stopped", name=hold.name))
        if hold.is_being_started and hold.state is HoldState.STARTING:
            return Obstacle(say("ring.is-started-then-stopped", name=hold.name))
        if hold.is_being_started:
            return Obstacle(say("ring.is-started-forgotten", name=hold.name))
    return None


def _observed(turn: Turn, ring: Ring, faults: Sequence[Fault]) -> Obstacle | None:
    if not observing(turn.node):
        return None
    maintenance, idle = turn.node.maintenance, why_idle(turn.node)
    until = maintenance.until if maintenance is not None else None
    if faults:
        return Obstacle(say("ring.would-recover", idle=idle, chips=ring.chips, code=faults[0].code), until)
    return Obstacle(say("ring.would-reset", idle=idle, chips=ring.chips), until)


def _booting(turn: Turn, ring: Ring, faults: Sequence[Fault]) -> Obstacle | None:
    found = _boots(turn, ring, faults)
    if found is not None:
        look_again(turn, ring)
    return found


def _boots(turn: Turn, ring: Ring, faults: Sequence[Fault]) -> Obstacle | None:
    """Chips that boot after the last reset, failed or not, are given their time: another would have them begin anew."""
    apart = booting_apart(turn.node, ring) if faults else ()
    reports = filter(None, map(turn.node.reports.get, sorted({*apart, *used_chips(turn.node, ring)})))
    down = [report.chip for report in reports if not report.error and not report.booted]
    due = ring.resets[-1] + turn.node.policy.reset.boot if ring.resets else turn.at
    return None if not down or turn.at >= due else Obstacle(say("ring.not-booted", chips=down), due)


def _too_early(turn: Turn, ring: Ring, faults: Sequence[Fault]) -> Obstacle | None:
    """The highest level decides, and of its faults the one that has lasted longest."""
    level = faults[0].level
    policy = turn.node.policy.levels[level]
    risen = min(f.risen for f in faults if f.level is level)
    what = say("ring.fault-on-chip", code=faults[0].code, level=level.name, chip=faults[0].chip)
    if not policy.reset:
        return Obstacle(say("ring.asks-for-no-reset", fault=what))
    due = risen + policy.reset_after
    if turn.at >= due:
        return None
    return Obstacle(say("ring.reset-when-lasted", fault=what, length=policy.reset_after), due)


def _spares(turn: Turn, ring: Ring, faults: Sequence[Fault]) -> Obstacle | None:
    return shut(turn.node, ring, faults, turn.at)


def _backing_off(turn: Turn, ring: Ring, faults: Sequence[Fault]) -> Obstacle | None:
    if ring.not_before is None or turn.at >= ring.not_before:
        return None
    return Obstacle(say("ring.tried-again", failures=ring.failures), ring.not_before)


def _users(turn: Turn, ring: Ring, faults: Sequence[Fault]) -> Obstacle | None:
    found = [c for c in on_ring(turn.node, ring) if c.running] + unclear_users(turn.node, ring.chips)
    # Of a unit and its containers the unit is told.
    users = [c for c in found if (unit := unit_of(turn.node, c)) is None or unit not in found]
    if not users:
        return None
    scope = scope_of(turn.node, ring, turn.at)
    if not scope.mates:
        mates, users = users, [c for c in users if _is_in_the_way(turn, ring, c, scope)]
        if not users:
            return _mates_run(turn, ring, mates, scope)
    ring = turn.put_ring(replace(ring, blocked=ring.blocked or turn.at))
    waits = say("ring.waits-for", chips=ring.chips, who=[_why_left(turn, ring, c) for c in users])
    until = _widens_at(turn, ring, users) if faults else None
    if until is None:
        return Obstacle(waits)
    length = turn.node.policy.reset.widen_after or NO_TIME
    if turn.at < until:
        return Obstacle(say("ring.widens-after", waits=waits, length=length), until)
    text = say("ring.widened", chips=ring.chips, length=length, names=[c.name for c in users])
    turn.note(NoteKind.WARNING, say("ring.widened-by", widened=text), ring)
    # Its mates are held now, not at the next event: nothing else may happen for long.
    hold_in_scope(turn, turn.put_ring(replace(ring, widened=True)))
    return Obstacle(text, turn.at)


def _is_in_the_way(turn: Turn, ring: Ring, container: Container, scope: Scope) -> bool:
    """Return whether it would not be stopped either if nobody else were in the way."""
    hold = turn.node.holds.get(container.key)
    if container.unclear or (hold is not None and hold.is_held_down):
        return True
    return not in_scope(turn.node, ring, container, scope._replace(mates=True))


def _mates_run(turn: Turn, ring: Ring, mates: Sequence[Container], scope: Scope) -> Obstacle:
    """Healthy ring mates run until the way is free: look whether it is."""
    look_who_is_there(turn, ring, ring.since)
    # Where they were given back since a look was late, who is in the way may have been found since.
    why = refuser(turn.node, ring, scope) or (ring.spared.why if ring.spared is not None else "")
    return Obstacle(say("ring.mates-run", chips=ring.chips, names=[c.name for c in mates], why=why))


def look_who_is_there(turn: Turn, ring: Ring, since: datetime | None) -> None:
    """Have the ring read, ever more seldom, while it waits, since then, for others of whom only a read-out tells."""
    if ring.asked is not None:
        return
    if ring.ask_at is None:
        due = (ring.read or turn.at) + look_again_after(turn.at - (since or turn.at), LOOK_AGAIN, 4)
        ring = turn.put_ring(replace(ring, ask_at=max(turn.at, due)))
    if ring.ask_at is not None and turn.at >= ring.ask_at:
        turn.ask_read(ring, f"is anybody on {listed(ring.chips)} who keeps it from its reset?", not_older=turn.at)


def _widens_at(turn: Turn, ring: Ring, users: Sequence[Container]) -> datetime | None:
    """Return when those in the way are stopped too; None where that is not set, or would not end the wait."""
    widen_after = turn.node.policy.reset.widen_after
    if ring.widened or ring.blocked is None or widen_after is None:
        return None
    # To stop some of them for nothing, while others stay, helps nobody.
    widened, scope = replace(ring, widened=True), widest_scope(turn.node, ring, turn.at)
    held = held_keys(turn.node)
    if refuser(turn.node, widened, scope):
        return None
    if any(c.unclear or c.key in held or not in_scope(turn.node, widened, c, scope) for c in users):
        return None
    return ring.blocked + widen_after


def _why_left(turn: Turn, ring: Ring, container: Container) -> str:
    """Say which running container is in the way, and why cmgr does not stop it."""
    name = container.name
    if is_asked_for(turn.node, container):
        return say("ring.user-unit-asked", name=name, unit=container.unit)
    if container.unclear:
        return say("ring.user-unclear", name=name)
    if container.key in ring.theirs and is_fought_for(ring, container):
        return say("ring.user-fought-for", name=name)
    if container.key in ring.theirs:
        return say("ring.user-by-hand", name=name)
    if container.key in turn.node.holds:
        return say("ring.user-held", name=name)
    if not container.enabled:
        return say("ring.user-label", name=name, label=container.hands_off)
    if container.auto_remove and container.strategy is None:
        return say("ring.user-rm", name=name)
    strategy = strategy_of(turn.node, container)
    if strategy is Strategy.SINGLE:
        return say("ring.user-mate", name=name)
    return say("ring.user-strategy", name=name, strategy=strategy)


def _shares(turn: Turn, ring: Ring, faults: Sequence[Fault]) -> Obstacle | None:
    if ring.making is None:
        return None
    return Obstacle(say("ring.waits-for-shares", chips=ring.chips))


def _runtimes(turn: Turn, ring: Ring, faults: Sequence[Fault]) -> Obstacle | None:
    for state in tells_of_users(turn.node):
        if state.why_down:
            why = say("ring.cannot-ask-who-uses", runtime=state.name, chips=ring.chips, error=state.why_down)
            return Obstacle(why, state.ask_at)
    return None


def _other_rings(turn: Turn, ring: Ring, faults: Sequence[Fault]) -> Obstacle | None:
    # A ring that takes its last look is next. Were all to look at once, all but one would have looked in vain.
    others = [r for r in turn.node.rings.values() if r.id != ring.id]
    # A ring that boots keeps nobody waiting, but where the driver wants that: its boot perhaps never ends.
    busy = [r for r in others if r.phase is Phase.RESETTING] + [r for r in others if r.look is not None]
    boots = next((r for r in others if r.phase is Phase.VERIFYING), None)
    if boots is not None and any(chip.boots_alone for chip in map(turn.node.chips.get, ring.chips) if chip):
        return Obstacle(say("ring.other-boots", ring=boots.id))
    most = turn.node.policy.reset.at_once
    if len(busy) < most:
        return None
    if busy[0].phase is Phase.RESETTING:
        return Obstacle(say("ring.other-is-reset", ring=busy[0].id, count=most))
    return Obstacle(say("ring.other-is-next", ring=busy[0].id, count=most))


def require_look(turn: Turn, ring: Ring) -> bool:
    """Return whether lists and a read-out made for this very reset show nobody on the ring; ask for them if need be."""
    if ring.look is None:
        waits = [at for at in (ring.ask_at, ring.refused_until) if at is not None]
        if waits and turn.at < max(waits):
            if ring.free is not None and _on_chips(turn, ring):
                turn.put_ring(replace(ring, free=None))  # Somebody came: the wait begins anew.
            return False
        # After a look that found somebody the reason stays until the next has an answer.
        why = ring.reason if waits else say("ring.last-look", chips=ring.chips)
        ring = turn.put_ring(replace(ring, look=turn.at, ask_at=None, refused_until=None, deadline=None, reason=why))
    look = ring.look
    assert look is not None
    reason = f"before the reset: is anybody on {listed(ring.chips)}?"
    fresh = not ask_unlisted(turn, look, reason)
    read = ring.read is not None and ring.read >= look
    if not read and (ring.asked is not None or ring.ask_at is None):
        turn.ask_read(ring, reason, not_older=look)
        return False
    # Not read and nothing under way: the read-out made for this look has failed, and a report says why.
    found = _on_chips(turn, ring)
    if not found:
        return fresh and read
    again = turn.at + look_again_after(turn.at - (ring.since or turn.at), LOOK_AGAIN, 4)
    turn.put_ring(replace(turn.ring(ring.id), reason=found, look=None, free=None, ask_at=again, deadline=again))
    return False


def ask_unlisted(turn: Turn, since: datetime, reason: str) -> list[RuntimeState]:
    """Ask those runtimes again whose last list is older. Return them."""
    found = [state for state in tells_of_users(turn.node) if state.listed is None or state.listed < since]
    for state in found:
        turn.ask_list(state.name, reason, not_older=since)
    return found


def require_idle(turn: Turn, ring: Ring, level: Level) -> bool:
    """Return whether nobody has used the ring for as long as the level asks; else the ring says until when it waits.

    Asked after a last look that found nobody.
    """
    idle, free = turn.node.policy.levels[level].idle, ring.free or turn.at
    due = free + idle
    if turn.at >= due:
        return True
    reason = say("ring.idle-long-enough", chips=ring.chips, length=idle)
    turn.put_ring(replace(ring, free=free, look=None, ask_at=due, deadline=due, reason=reason))
    return False


def lasting_obstacle(turn: Turn, ring: Ring) -> Obstacle | None:
    """Return what keeps the ring from its reset, or would if all were stopped that can be, as far as the books know."""
    scope = widest_scope(turn.node, ring, turn.at)
    if who := refuser(turn.node, ring, scope):
        return Obstacle(say("ring.waits-for", chips=ring.chips, who=[who]))
    if ring.silent is not None:
        return Obstacle(say("ring.chip-is-silent"))  # It is given up in its time.
    if ring.refused_until is not None and turn.at < ring.refused_until:
        return Obstacle(ring.reason, ring.refused_until)
    faults = handled_faults(turn.node, ring)
    for_faults: tuple[Check, ...] = (_too_early, _spares, _backing_off) if faults else ()
    checks: tuple[Check, ...] = (_observed, _stops, _boots, *for_faults, _shares, _runtimes, _other_rings)
    return next((found for check in checks if (found := check(turn, ring, faults)) is not None), None)


def _on_chips(turn: Turn, ring: Ring) -> str:
    """Say who or what the read-outs found on the ring's chips."""
    for chip in ring.chips:
        report = turn.node.reports.get(chip, ChipReport(chip, error=say("ring.not-read")))
        if report.error:
            return say("ring.chip-does-not-answer", chip=chip, error=report.error)
        if users := users_listed(turn.node, chip):
            first = _process(*users[0])
            if len(users) == 1:
                return say("ring.process-is-on", process=first, chip=chip)
            return say("ring.processes-are-on", process=first, more=len(users) - 1, chip=chip)
    return ""


def _process(process: Process, container: Container | None) -> str:
    pid, name = process.pid, process.name or "?"
    if container is None:
        return say("ring.process", pid=pid, name=name)
    if container.ignored:
        return say("ring.process-of-ignored", pid=pid, name=name, container=container.name)
    return say("ring.process-of", pid=pid, name=name, container=container.name)
