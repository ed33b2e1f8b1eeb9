"""The life of one ring: what moves it from phase to phase.

Rules:
1. `advance` looks at what is in the books and moves the ring as far as that allows. It never waits and never assumes:
   calling it twice, or after any event, is harmless.
2. Nothing is reset unless lists of every runtime and a read-out of the ring, all asked for after everything else was in
   order, show no running container, no process and a handled fault. The driver looks once more itself.
3. A reset counts from the moment it is ordered: a crash between the order and its answer cannot add one to the budget.
4. `rings.AFTER_RESTART` decides what follows where cmgr died in mid-work; a reset is never repeated blindly.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from cmgr.frozen import replace
from cmgr.model.faults.occurrences import end_momentary
from cmgr.model.holds.making import hold_in_scope
from cmgr.model.holds.obstacles import is_starting, start_blocker
from cmgr.model.holds.tries import put_off
from cmgr.model.recovery.attempt import Came, try_reset
from cmgr.model.recovery.drills import report_drills
from cmgr.model.recovery.mercy import have_mercy
from cmgr.model.recovery.ordered_resets import carry_out, ordered_cause
from cmgr.model.recovery.resetting import because_of, cause_of, give_up, unready, verifying
from cmgr.model.recovery.restraint import keep_back_or_count
from cmgr.model.recovery.reviving import bring_up, give_up_refused, give_up_silent
from cmgr.model.recovery.shares import bring_back
from cmgr.model.recovery.vetoes import begin_to_ask
from cmgr.model.recovery.waiting import ask_unlisted, look_who_is_there
from cmgr.model.scope import (
    handled_faults,
    held_keys,
    holds_on,
    in_scope,
    observing,
    on_ring,
    scope_of,
    shut,
    used_chips,
)
from cmgr.model.sparing import Obstacle, passes_at
from cmgr.model.turn import Turn
from cmgr.model.values.chips import ChipId, listed
from cmgr.model.values.faults import Fault, Isolation
from cmgr.model.values.handling.policy import OnIsolate, backed_off
from cmgr.model.values.holds import Cause, Hold, HoldState
from cmgr.model.values.messages.commands import Note, NoteKind
from cmgr.model.values.node import Node, RuntimeState
from cmgr.model.values.rings import Phase, Ring
from cmgr.sentences.sentence import because, parts, say

LULL_WINDOW = timedelta(minutes=10)
LULL_FIRST = timedelta(seconds=1)
LULL_MAX = timedelta(minutes=5)
"""A fault that went away by itself is believed at once the first time, and later the more often it came back."""


def advance(turn: Turn, ring: Ring) -> None:
    """Move the ring as far as the books allow."""
    if _rests(turn.node, ring):
        return
    steps = 0
    while True:
        steps += 1
        assert steps <= len(Phase) * 2, f"ring {ring.id} runs in a circle through {ring.phase}"
        before = ring
        _step(turn, ring)
        ring = turn.ring(ring.id)
        if ring.phase is before.phase and ring.episode == before.episode:
            return


def _rests(node: Node, ring: Ring) -> bool:
    """Return whether the ring is well, and nothing is known of it that could let it do or say anything.

    Every decision asks every ring, and of 64 most rest.
    """
    if ring.phase is not Phase.HEALTHY or ring.reason or ring.deadline is not None or ring.making is not None:
        return False
    if ring.vetoed is not None:
        return False
    if ring.id in node.reset_orders or ring.id in node.restraint.kept or any(map(node.faults.get, ring.chips)):
        return False
    chips = map(node.chips.get, ring.chips)
    return node.isolations.keys().isdisjoint(ring.chips) and not any(chip and chip.shares for chip in chips)


def _step(turn: Turn, ring: Ring) -> None:
    begin_to_ask(turn, ring)
    ring = turn.ring(ring.id)
    if ring.phase is not Phase.HEALTHY:
        if ring.of_programs:
            ring = turn.put_ring(replace(ring, of_programs=_is_of_programs(turn.node, ring)))
        have_mercy(turn, ring)
        hold_in_scope(turn, turn.ring(ring.id))
    STEPS[ring.phase](turn, turn.ring(ring.id))


def _is_of_programs(node: Node, ring: Ring) -> bool:
    """Return whether no fault of the ring concerns more than programs do, and nobody orders its reset."""
    return ring.id not in node.reset_orders and all(f.spares_others for f in handled_faults(node, ring))


def _healthy(turn: Turn, ring: Ring) -> None:
    _let_pass(turn, ring)
    faults = handled_faults(turn.node, ring)
    obstacle = shut(turn.node, ring, faults, turn.at)
    handled = faults and obstacle is None
    cause = cause_of(faults) if handled else ordered_cause(turn, ring) or _isolated_cause(turn, ring)
    kept_since = turn.node.restraint.kept.get(ring.id)
    if not cause and kept_since is None:
        _spare(turn, ring, obstacle)
        bring_back(turn, turn.ring(ring.id))
    if not cause or (ring.id not in turn.node.reset_orders and keep_back_or_count(turn, ring)):
        return
    ring = turn.ring(ring.id)
    number = turn.node.episodes + 1
    turn.node = replace(turn.node, episodes=number)
    ring = turn.put_ring(
        replace(
            ring, episode=number, began=turn.at, failures=0, not_before=None, theirs=frozenset(), starts={},
            up=None, answered=None, blocked=None, widened=False, lost=frozenset(), restarts={}, look=None, refusals=0,
            refused=None, mercies=0, of_programs=bool(handled) and _is_of_programs(turn.node, ring),
        )
    )  # fmt: skip
    # Notes of this very turn about the ring are the beginning of its story.
    turn.commands = [
        replace(c, episode=number) if isinstance(c, Note) and c.ring == ring.id and not c.episode else c
        for c in turn.commands
    ]
    turn.commands.append(Note(turn.at, NoteKind.OPENED, cause, ring.id, number))
    ring = turn.enter(ring, Phase.LISTING, cause)
    since = _waits_since(turn.node, ring, faults) or kept_since
    if since is not None:
        hold_in_scope(turn, ring, since=since)


def _waits_since(node: Node, ring: Ring, faults: Sequence[Fault]) -> datetime | None:
    """Return since when the faults were there while a window, or those on the ring, were waited for; None: never."""
    if not faults:
        return None
    level = faults[0].level
    waited = ring.vetoed is not None or node.policy.window_of(level) or node.policy.levels[level].spares
    return min(f.risen for f in faults) if waited else None


def _let_pass(turn: Turn, ring: Ring) -> None:
    """End what happened once and stops nobody, when all who died of it are known: nobody is to wait for it."""
    faults = handled_faults(turn.node, ring)
    passes = max((at for fault in faults if (at := passes_at(turn.node, fault)) is not None), default=None)
    if passes is None or turn.at < passes or (wait := shut(turn.node, ring, faults, turn.at)) is None or wait.vetoes:
        return  # Whoever is busy is stopped for it when he is not.
    if not ask_unlisted(turn, passes, f"has anybody died of a fault of {listed(ring.chips)}?"):
        end_momentary(turn, ring)


def _spare(turn: Turn, ring: Ring, obstacle: Obstacle | None) -> None:
    """Leave on a ring that begins nothing what it waits for and until when, or nothing."""
    reason, until, since, _ = obstacle or Obstacle("")
    if ring.reason != reason or ring.deadline != until:
        if reason and not ring.reason:
            turn.note(NoteKind.RESULT, reason, ring)
        ring = turn.put_ring(replace(ring, reason=reason, deadline=until))
    if since is not None:
        look_who_is_there(turn, ring, since)


def _isolated_cause(turn: Turn, ring: Ring) -> str:
    if turn.node.policy.isolation.on_isolate is not OnIsolate.STOP or observing(turn.node):
        return ""
    scope = scope_of(turn.node, ring, turn.at)
    held = held_keys(turn.node)
    users = [
        c.name
        for c in on_ring(turn.node, ring)
        if c.running and c.key not in held and in_scope(turn.node, ring, c, scope)
    ]
    return say("ring.isolated-and-used", chips=sorted(scope.isolated), name=users[0]) if users else ""


def _listing(turn: Turn, ring: Ring) -> None:
    assert ring.since is not None
    unlisted = ask_unlisted(turn, ring.since, f"who uses {listed(ring.chips)}?")
    if unlisted:
        turn.put_ring(replace(turn.ring(ring.id), reason=parts(map(_asked, unlisted))))
        return
    turn.enter(ring, Phase.DRAINING, say("ring.all-have-said"))


def _asked(state: RuntimeState) -> str:
    if state.why_down:
        return say("ring.cannot-ask", runtime=state.name, error=state.why_down)
    return say("ring.is-asked", runtime=state.name)


def _draining(turn: Turn, ring: Ring) -> None:
    stopping = [h for h in holds_on(turn.node, ring) if h.is_to_end]
    observe = observing(turn.node)  # Orders that were not sent before are not sent any more.
    unanswered = [h.name for h in stopping if h.attempt.command is not None or not (h.attempt.error or observe)]
    if unanswered:
        turn.put_ring(replace(ring, reason=say("ring.stopping", names=unanswered)))
        return
    if observing(turn.node):
        _tell_what_would_stop(turn, ring)
    answered = stopping or holds_on(turn.node, ring)
    turn.enter(ring, Phase.WAITING, say("ring.stops-answered") if answered else say("ring.nothing-to-stop"))


def _tell_what_would_stop(turn: Turn, ring: Ring) -> None:
    scope = scope_of(turn.node, ring, turn.at)
    for container in on_ring(turn.node, ring):
        if container.running and in_scope(turn.node, ring, container, scope):
            turn.note(NoteKind.ACTION, say("ring.would-stop", name=container.name), ring, container=container.key)


def _waiting(turn: Turn, ring: Ring) -> None:
    end_momentary(turn, ring)
    if carry_out(turn, ring):
        return
    ring = turn.ring(ring.id)
    faults = handled_faults(turn.node, ring)
    moved = _recover(turn, ring, faults) if faults else _get_well(turn, ring)
    if moved:
        _waiting(turn, turn.ring(ring.id))  # Chips that were given up are isolated, and not waited for any more.


def _get_well(turn: Turn, ring: Ring) -> bool:
    """No handled fault is left: resume if the chips are up. Return whether some were given up."""
    # A reset that failed may have left chips that report nothing because they are not up.
    why = unready(turn, ring, used_chips(turn.node, ring)) if ring.failures else ""
    if why:
        return bring_up(turn, ring, why)
    _lull(turn, ring)
    return False


def _recover(turn: Turn, ring: Ring, faults: list[Fault]) -> bool:
    """Reset the ring as soon as that is due and possible. Return whether the chips were given up instead."""
    due: dict[ChipId, str] = {f.chip: say("chip.still-there", code=f.code) for f in reversed(faults)}
    if ring.failures and not observing(turn.node) and give_up_refused(turn, ring, due):
        return True
    came = try_reset(turn, ring.id, because_of(faults), faults)
    if came is Came.SPENT:
        give_up(turn, faults)
        return True
    return came is Came.SILENT and give_up_silent(turn, turn.ring(ring.id), due)


def _resetting(turn: Turn, ring: Ring) -> None:
    # Only a restart of cmgr loses the order, and then the ring does not stay in this phase.
    assert ring.reset is not None, f"ring {ring.id} waits for a reset that nobody does"


def _lull(turn: Turn, ring: Ring) -> None:
    """No handled fault is left. Believe it: at once the first time, later the more often it came back."""
    if ring.of_programs:
        _start_programs(turn, ring)
        return
    cured = ring.failures > 0 or any(i.since >= ring.began for i in _isolations(turn, ring) if ring.began)
    lulls = tuple(t for t in ring.lulls if turn.at - t < LULL_WINDOW)
    cleared = _last_cleared(turn.node, ring) if lulls and not cured else []
    if cleared:
        quiet = max(cleared) + backed_off(LULL_FIRST, LULL_MAX, len(lulls))
        if turn.at < quiet:
            reason = say("ring.came-back", count=len(lulls), window=LULL_WINDOW)
            turn.put_ring(replace(ring, reason=reason, deadline=quiet, look=None))
            return
    lulls = lulls if cured else (*lulls, turn.at)
    ring = turn.put_ring(replace(ring, lulls=lulls, look=None, blocked=None, refusals=0, refused=None))
    turn.enter(ring, Phase.RESUMING, say("ring.no-fault-left"))


def _start_programs(turn: Turn, ring: Ring) -> None:
    """Start them again, each time later: nobody else waits for that, for the chips are well."""
    lulls = tuple(t for t in ring.lulls if turn.at - t < LULL_WINDOW)
    wait = backed_off(LULL_FIRST, LULL_MAX, len(lulls)) if lulls else timedelta()
    for hold in holds_on(turn.node, ring):
        if hold.state is HoldState.DOWN and hold.episode == ring.episode and not hold.died:
            put_off(turn, hold, turn.at + wait)
    why = say("ring.no-fault-left")
    if lulls:
        why = say("ring.no-fault-left-wait", count=len(lulls), window=LULL_WINDOW, wait=wait)
    ring = turn.put_ring(replace(ring, lulls=(*lulls, turn.at)))
    turn.enter(ring, Phase.RESUMING, why)


def _last_cleared(node: Node, ring: Ring) -> list[datetime]:
    """Return when the latest handled fault of each chip that had one was over; in a storm it has hundreds of others."""
    past = (reversed([*node.past_faults.get(chip, {}).values()]) for chip in ring.chips)
    last = (next((f.cleared for f in faults if f.level.handled), None) for faults in past)
    return [cleared for cleared in last if cleared is not None]


def _isolations(turn: Turn, ring: Ring) -> list[Isolation]:
    return [turn.node.isolations[c] for c in ring.chips if c in turn.node.isolations]


def _resuming(turn: Turn, ring: Ring) -> None:
    faults, ordered = handled_faults(turn.node, ring), ordered_cause(turn, ring)
    if faults or ordered:
        if not ordered:
            turn.drop_order(ring.id)  # It was carried out: what comes now is stopped by the rules of the fault.
        ring = turn.put_ring(replace(ring, up=None, answered=None))
        turn.enter(ring, Phase.LISTING, say("ring.new-fault", cause=cause_of(faults)) if faults else ordered)
        return
    shares = bring_back(turn, ring)
    ring = turn.ring(ring.id)
    holds = holds_on(turn.node, ring)
    pending = [h for h in holds if is_starting(turn.node, h)]
    settling = [h for h in holds if h.state is HoldState.SETTLING and h not in pending]
    if shares or pending or settling:
        waits = [shares] if shares else _doing(turn, pending)
        if settling:
            waits.append(say("ring.settling", names=[h.name for h in settling]))
        until = min(
            (h.attempt.retry_at for h in settling if h.attempt.retry_at is not None and h.attempt.retry_at > turn.at),
            default=None,
        )
        turn.put_ring(replace(ring, reason=parts(waits), deadline=until))
        return
    _close(turn, ring)


def _doing(turn: Turn, pending: list[Hold]) -> list[str]:
    stopping = [h for h in pending if h.is_to_end]
    starting = [h for h in pending if not h.is_to_end]
    waits = list[str]()
    if stopping:
        what = say("ring.stopping", names=[h.name for h in stopping])
        waits.append(because(what, next(filter(None, (h.attempt.error for h in stopping)), "")))
    if starting:
        what = say("ring.starting", names=[h.name for h in starting])
        whys = (start_blocker(turn.node, h).why or h.attempt.error for h in starting)
        waits.append(because(what, next(filter(None, whys), "")))
    return waits


def _close(turn: Turn, ring: Ring) -> None:
    began = ring.began or turn.at
    outcome = _outcome(turn, ring)
    # How long it took is told without the time in which it was seen that it lasts.
    ran = ring.up if ring.up is not None and outcome in ("recovered", "cleared") else turn.at
    ended = max(ran, ring.answered or ran)
    report_drills(turn, ring, outcome)
    episode, length = ring.episode, ended - began
    text = say("ring.is-over", episode=episode, outcome=outcome, length=length)
    if ring.answered is not None:
        text = say("ring.is-over-answered", episode=episode, outcome=outcome, length=length, ran=ran - began)
    turn.drop_order(ring.id)
    turn.enter(ring, Phase.HEALTHY, say("ring.nothing-left"))
    ring = turn.ring(ring.id)
    over = replace(ring, reason="", episode=0, began=None, starts={}, up=None, lost=frozenset(), blocked=None)
    turn.put_ring(replace(over, answered=None, widened=False, failed={}, vetoed=None))
    turn.commands.append(Note(turn.at, NoteKind.CLOSED, text, ring.id, episode, outcome=outcome, ended=ended))


def _outcome(turn: Turn, ring: Ring) -> str:
    down = [h for h in holds_on(turn.node, ring) if h.cause is not Cause.HEAL and not h.is_theirs]
    if observing(turn.node) and not down and not ring.lost:
        return "observed"
    if not ring.chips or ring.lost or any(h.state is HoldState.FAILED or observing(turn.node) for h in down):
        return "failed"  # Or its chips are gone: the driver lists none of them any more.
    began = ring.began or turn.at
    if any(i.since >= began for i in _isolations(turn, ring)):
        return "isolated"
    if _ordered_in_vain(turn, ring):
        return "failed"
    return "recovered" if any(t >= began for t in ring.resets) else "cleared"


def _ordered_in_vain(turn: Turn, ring: Ring) -> bool:
    """Return whether a person's reset has failed: all may run again, but it was not for that."""
    order = turn.node.reset_orders.get(ring.id)
    return bool(ring.failures) and order is not None and order.done


STEPS: Mapping[Phase, Callable[[Turn, Ring], None]] = {
    Phase.HEALTHY: _healthy,
    Phase.LISTING: _listing,
    Phase.DRAINING: _draining,
    Phase.WAITING: _waiting,
    Phase.RESETTING: _resetting,
    Phase.VERIFYING: verifying,
    Phase.RESUMING: _resuming,
}
"""The function that moves a ring on from each phase."""
