"""Holds: carrying out what they promise.

Rules:
1. A hold is written before its container is stopped, and ends only by a start that worked, by the container's
   removal, by a start by hand, or, before anything was tried, because no stop is needed any more.
2. `keep` looks at what is, not at what happened: it may be called after any event, any number of times.
"""

from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from cmgr.frozen import replace
from cmgr.model.holds.endings import hand_back
from cmgr.model.holds.making import hold_killed_by_isolated, hold_left_behind
from cmgr.model.holds.obstacles import Block, Blocker, start_blocker
from cmgr.model.holds.settling import settle, why_sick
from cmgr.model.holds.tries import has_failed
from cmgr.model.own_chips import placing
from cmgr.model.scope import is_ill, is_to_be_down, observing, why_idle
from cmgr.model.turn import Turn
from cmgr.model.units import is_covered, is_left_behind, unit_of
from cmgr.model.values.holds import Hold, HoldState, entered
from cmgr.model.values.messages.commands import NoteKind, SetRestartPolicy, StartContainer, StopContainer
from cmgr.model.values.services.containers import NO_RESTART
from cmgr.sentences.sentence import say


def _says_nothing(_turn: Turn, _hold: Hold) -> None:
    """The answer of a form to what it does not care for."""


class Form(NamedTuple):
    """A form in which people run containers, and its answers about a hold; with None it leaves them to the others.

    `why`: the reason of a stop or start. `stops_after`, `starts_after`: who or what comes before that, in words.
    `stops_still`: whether one that is to be stopped still is. `ask`: have asked what the start waits for. `starts`: the
    start is ordered.
    """

    why: Callable[[Turn, Hold], str | None] = _says_nothing
    stops_after: Callable[[Turn, Hold], str | None] = _says_nothing
    starts_after: Callable[[Turn, Hold], str | None] = _says_nothing
    stops_still: Callable[[Turn, Hold], bool | None] = _says_nothing
    ask: Callable[[Turn, Hold], object] = _says_nothing
    starts: Callable[[Turn, Hold], None] = _says_nothing


Forms = tuple[Form, ...]
"""The first of them that says something counts."""


def look_after(turn: Turn) -> None:
    """Hold what died of an isolated chip or outlived its unit, and look whether what was started stays up."""
    hold_killed_by_isolated(turn)
    hold_left_behind(turn)
    for hold in list(turn.node.holds.values()):
        if hold.attempt.command is None and hold.state is HoldState.SETTLING:
            settle(turn, hold)


def keep(turn: Turn, forms: Forms) -> None:
    """Send the commands that holds ask for now."""
    for hold in sorted(turn.node.holds.values(), key=lambda h: (h.order, h.name, h.key)):
        obstacle = _obstacle(turn, hold, forms) if hold.stays_down else None
        if obstacle is not None:
            hold = _reasoned(turn, hold, obstacle.why)
        if hold.attempt.command is not None or hold.state is HoldState.SETTLING:
            continue
        if hold.attempt.retry_at is not None and turn.at < hold.attempt.retry_at:
            continue
        if hold.is_to_end:
            _stop(turn, hold, forms)
        elif hold.state is HoldState.RETURNING:
            _set_policy(turn, hold, hold.restart_policy, "its restart policy goes back")
        elif obstacle is not None:
            _start(turn, hold, obstacle.kind, forms)


def _reasoned(turn: Turn, hold: Hold, reason: str) -> Hold:
    """Leave on the hold why it waits: whoever shows it shows that."""
    if reason != hold.reason:
        hold = replace(hold, reason=reason)
        turn.put_hold(hold)
    return hold


def _obstacle(turn: Turn, hold: Hold, forms: Forms) -> Blocker:
    """Return what keeps a container that is down from being started now, failures of its own apart."""
    blocker = start_blocker(turn.node, hold)
    if blocker.kind is not Block.NOTHING:
        return blocker
    first = next((why for form in forms if (why := form.starts_after(turn, hold)) is not None), None)
    return blocker if first is None else Blocker(Block.TURN, first)


def _stop(turn: Turn, hold: Hold, forms: Forms) -> None:
    mute = why_idle(turn.node, chips=bool(hold.chips))
    if hold.key.runtime not in turn.node.runtimes:
        mute = say("hold.its-runtime-not-managed")
    if not mute and (first := next(filter(None, (form.stops_after(turn, hold) for form in forms)), "")):
        _reasoned(turn, hold, first)
        return
    made_now = hold.since == turn.at
    if hold.state is HoldState.TO_STOP and not made_now and not _still_wanted(turn, hold, forms):
        # Its policy may be off all the same: it may have been stopped before, and be back by somebody's hand.
        hand_back(turn, hold, say("hold.need-not-stop"))
        return
    if mute:
        _reasoned(turn, hold, mute)
        return
    # A runtime that is down is asked all the same: its events may have broken off while it still takes orders.
    reason = _why(turn, hold, forms) or _why_in_episode(turn, hold)
    before = _last_words(turn, hold)
    command = StopContainer(turn.command_id("stop"), reason, hold.key, hold.name, hold.grace, before)
    # A life of cmgr before this one has told it already, which the others that end because of it have heard.
    told = hold.attempt.told or (hold.since if hold.state is HoldState.STOPPING else turn.at)
    _order(turn, replace(entered(hold, HoldState.STOPPING), reason=reason), command, told)
    if not hold.attempt.error:  # Of one that cannot be stopped the timeline tells once, not every minute for days.
        turn.tell(hold, say("hold.stop", name=hold.name, grace=hold.grace), NoteKind.ACTION)


def _why_in_episode(turn: Turn, hold: Hold) -> str:
    if hold.sick:
        return say("hold.for-sick", episode=hold.episode, why=why_sick(turn.node.containers.get(hold.key)))
    if (ring := turn.ring_for(hold.chips)) is None:
        return say("hold.for-gone", episode=hold.episode)
    if (order := turn.node.reset_orders.get(ring.id)) is not None:
        return say("hold.for-order", episode=hold.episode, what=order.what, chips=ring.chips)
    return say("hold.for-fault", episode=hold.episode, chips=ring.chips)


def _why(turn: Turn, hold: Hold, forms: Forms) -> str:
    return next(filter(None, (form.why(turn, hold) for form in forms)), "")


def _last_words(turn: Turn, hold: Hold) -> tuple[str, ...]:
    """Return the command that it wishes to be run in it: with the first order of each life of cmgr that reaches it."""
    container = turn.node.containers.get(hold.key)
    first = hold.attempt.told is None or hold.attempt.tries == 0
    return container.before_stop if container is not None and first and not container.frozen else ()


def _still_wanted(turn: Turn, hold: Hold, forms: Forms) -> bool:
    container = turn.node.containers.get(hold.key)
    if container is None or is_left_behind(turn.node, container):
        return True
    if not container.running and unit_of(turn.node, container) is None:
        return True
    if is_covered(turn.node, container):
        return False  # Its unit, which was not known when the hold was made, is stopped in its place.
    said = next((still for form in forms if (still := form.stops_still(turn, hold)) is not None), None)
    if said is not None:
        return said
    if hold.sick and is_ill(turn.node, container):
        return True
    return is_to_be_down(turn.node, hold.chips, container, turn.at)


def _start(turn: Turn, hold: Hold, block: Block, forms: Forms) -> None:
    if hold.is_given_up or block in (Block.ANSWER, Block.CHIP):
        if block is Block.ANSWER:
            _ask_unread(turn, hold)
        if hold.state is HoldState.STARTING:
            # A try: should it run all the same, then because of this start and by nobody's hand.
            attempt = replace(hold.attempt, tries=max(hold.attempt.tries, 1))
            hold = replace(entered(hold, HoldState.DOWN), attempt=attempt)
            turn.put_hold(hold)
        _disarm(turn, hold)
        return
    if block is Block.TURN:
        for form in forms:
            form.ask(turn, hold)
        return
    for form in forms:
        form.starts(turn, hold)
    over = f"episode {hold.episode} is over" if hold.episode else "its chips are in use again"
    reason = _why(turn, hold, forms) or over
    given = placing(turn.node, hold)
    command = StartContainer(
        turn.command_id("start"), reason, hold.key, hold.name, hold.restart_policy, hold.frozen, given
    )
    told = hold.attempt.told if hold.state is HoldState.STARTING or hold.attempt.tries else None
    _order(turn, replace(entered(hold, HoldState.STARTING), reason=""), command, told or turn.at)
    # A delay before the first order is one of its restart policy.
    if (hold.attempt.told is None or not hold.attempt.delays) and not has_failed(turn.node, hold):
        turn.tell(hold, say("hold.start", name=hold.name), NoteKind.ACTION)
    for each in turn.rings_of(hold.chips):
        if each.in_episode:
            turn.put_ring(replace(each, starts={**each.starts, hold.key: each.starts.get(hold.key, 0) + 1}))


def _ask_unread(turn: Turn, hold: Hold) -> None:
    for ring in turn.rings_of(hold.chips):
        asked = ring.asked is not None or (ring.ask_at is not None and turn.at < ring.ask_at)
        if ring.read is None and not asked:
            turn.ask_read(ring, f"is it well? {hold.name} is to be started on it", not_older=turn.at)


def _disarm(turn: Turn, hold: Hold) -> None:
    runtime = turn.node.runtimes.get(hold.key.runtime)
    if hold.restart_policy == NO_RESTART or hold.disarmed or runtime is None or runtime.why_down:
        return
    if not observing(turn.node):
        _set_policy(turn, hold, NO_RESTART, "its restart policy must not start it meanwhile")


def _set_policy(turn: Turn, hold: Hold, policy: str, reason: str) -> None:
    command = SetRestartPolicy(turn.command_id("policy"), reason, hold.key, hold.name, policy)
    _order(turn, hold, command, hold.attempt.told)


def _order(
    turn: Turn, hold: Hold, command: StopContainer | StartContainer | SetRestartPolicy, told: datetime | None
) -> None:
    """Give the order, whose answer the hold waits for from now on. `told`: when it was first told such a thing."""
    turn.put_hold(replace(hold, attempt=replace(hold.attempt, command=command.id, retry_at=None, told=told)))
    turn.commands.append(command)
