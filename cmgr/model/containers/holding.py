"""Holds: making them, and carrying out what they promise.

Rules:
1. A hold is written before its container is stopped, and ends only by a start that worked, by the container's
   removal, by a start by hand, or, before anything was tried, because no stop is needed any more.
2. `keep` looks at what is, not at what happened: it may be called after any event, any number of times.
"""

from datetime import datetime

from cmgr.frozen import replace
from cmgr.model.containers.healing import adopt, confirm, count, is_still_ill, unconfirmed, why_restarted
from cmgr.model.containers.moving.cdi import look_at_files
from cmgr.model.containers.sightings import (
    container_removed,
    had_ended,
    started,
    started_in_stop,
    stopped,
)
from cmgr.model.containers.together.groups import why_coupled
from cmgr.model.containers.together.ordering import starts_before, stops_before
from cmgr.model.holds.endings import hand_back, rearmed
from cmgr.model.holds.making import hold_on, is_to_be_paused
from cmgr.model.holds.obstacles import Block, Blocker, start_blocker
from cmgr.model.holds.restarters import count_stop, restarted, wait_before_stop
from cmgr.model.holds.settling import UNHEALTHY_AFTER, let_settle, settle
from cmgr.model.holds.tries import failed_start, has_failed, retried, unsure_start
from cmgr.model.homes import placing
from cmgr.model.scope import (
    died_of_it,
    ended_with_daemon,
    halting,
    handled_faults,
    in_round,
    in_scope,
    observing,
    on_ring,
    scope_of,
    why_idle,
)
from cmgr.model.turn import Turn
from cmgr.model.units import is_covered, is_left_behind, outlives, unit_of
from cmgr.model.values.chips import listed
from cmgr.model.values.holds import Attempt, Cause, Hold, HoldState, entered
from cmgr.model.values.messages.commands import NoteKind, SetRestartPolicy, StartContainer, StopContainer
from cmgr.model.values.messages.facts import ContainerStarted, ContainerStopped, RestartPolicySet
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Ring
from cmgr.model.values.services.containers import NO_RESTART, Container, Exit
from cmgr.model.values.services.slots import slots_of
from cmgr.words import span


def hold_in_scope(turn: Turn, ring: Ring, since: datetime | None = None) -> None:
    """Hold every running container that this ring's faults want down, and every one that died of them.

    `since`: when the faults were there already, if that is long before the episode began.
    """
    if observing(turn.node):
        return
    adopt(turn, ring)
    scope = scope_of(turn.node, ring, turn.at)
    for container in list(on_ring(turn.node, ring)):
        hold = turn.node.holds.get(container.key)
        if hold is not None and not (container.running and hold.runs):
            continue
        if container.running and in_scope(turn.node, ring, container, scope):
            what = "fault" if handled_faults(turn.node, ring) or scope.isolated else "reset"
            again = "started and paused again" if is_to_be_paused(container, turn.at) else "started again"
            text = f"{container.name} will be stopped, and {again} when the {what} is over"
            if container.frozen and not is_to_be_paused(container, turn.at):
                text += "; its pause, which had only begun, is not made again"
            if container.owner:
                text = f"{container.name} will be stopped, and is not held: {container.owner} starts its own again"
            elif container.auto_remove:
                text = f"{container.name} will be stopped, which removes it (--rm): its label agrees to that"
            _make(turn, ring, container, text)
        elif not container.running and died_of_it(turn.node, ring, container, since or ring.began):
            assert container.exit is not None
            how = "died by itself" if container.exit.by_itself else f"ended with {container.key.runtime}"
            text = f"{container.name} {how} (exit code {container.exit.code}) and will be started again"
            _make(turn, ring, container, text)


def _make(turn: Turn, ring: Ring, container: Container, text: str) -> None:
    died = not container.running
    again = restarted(ring, container)
    hold = replace(
        hold_on(turn.node, container, turn.at, Cause.EPISODE, ring.episode),
        died=died,
        attempt=Attempt(retry_at=turn.at + wait_before_stop(turn.node, again) if again and not died else None),
        down=turn.at if died else None,
    )
    if died and (starts := ring.starts.get(container.key, 0)):
        # It died of what cmgr started it into: that start did not work after all.
        code = container.exit.code if container.exit else 0
        hold = failed_start(turn, replace(hold, attempt=Attempt(tries=starts - 1)), f"exited with code {code}")
    turn.put_hold(hold)
    turn.note(NoteKind.HOLD, text, ring, container=container.key)


def _hold_killed_by_isolated(turn: Turn) -> None:
    """Hold what died of a fault that isolates its chip at once, which opens no episode."""
    if observing(turn.node):
        return
    for isolation in turn.node.isolations.values():
        ring = turn.ring_of(isolation.chip)
        if ring is None or ring.in_episode or isolation.by == "operator":
            continue
        for container in list(on_ring(turn.node, ring)):
            down = container.wanted and not container.running and container.key not in turn.node.holds
            on_it = isolation.chip in container.chips
            if down and on_it and died_of_it(turn.node, ring, container, isolation.since):
                text = f"{container.name} died by itself: it is started when chip {isolation.chip} is in use again"
                _make(turn, ring, container, text)


def _hold_left_behind(turn: Turn) -> None:
    """Hold, to stop it, what runs on though its unit was stopped: its client may have been killed."""
    if observing(turn.node):
        return
    for container in list(turn.node.containers.values()):
        unit = unit_of(turn.node, container)
        if unit is None or container.key in turn.node.holds or not container.enabled:
            continue
        if is_left_behind(turn.node, container) and outlives(turn.node, container) and count_stop(turn, container):
            of = turn.node.holds[unit.key]
            turn.put_hold(hold_on(turn.node, container, turn.at, of.cause, of.episode))
            text = f"{container.name} runs on though its unit {unit.name} is down: it is stopped, too"
            turn.note(NoteKind.WARNING, text, turn.ring_for(container.chips), container=container.key)


def look_after(turn: Turn) -> None:
    """Hold what died of an isolated chip or outlived its unit, and look whether what was started stays up."""
    _hold_killed_by_isolated(turn)
    _hold_left_behind(turn)
    for hold in list(turn.node.holds.values()):
        if hold.attempt.command is None and hold.state is HoldState.SETTLING:
            settle(turn, hold)


def keep(turn: Turn) -> None:
    """Send the commands that holds ask for now."""
    for hold in sorted(turn.node.holds.values(), key=lambda h: (h.order, h.name, h.key)):
        obstacle = _obstacle(turn, hold) if hold.stays_down else None
        if obstacle is not None:
            hold = _reasoned(turn, hold, obstacle.why)
        if hold.attempt.command is not None or hold.state is HoldState.SETTLING:
            continue
        if hold.attempt.retry_at is not None and turn.at < hold.attempt.retry_at:
            continue
        if hold.is_to_end:
            _stop(turn, hold)
        elif hold.state is HoldState.RETURNING:
            _set_policy(turn, hold, hold.restart_policy, "its restart policy goes back")
        elif obstacle is not None:
            _start(turn, hold, obstacle.kind)


def _reasoned(turn: Turn, hold: Hold, reason: str) -> Hold:
    """Leave on the hold why it waits: whoever shows it shows that."""
    if reason != hold.reason:
        hold = replace(hold, reason=reason)
        turn.put_hold(hold)
    return hold


def _obstacle(turn: Turn, hold: Hold) -> Blocker:
    """Return what keeps a container that is down from being started now, failures of its own apart."""
    blocker = start_blocker(turn.node, hold)
    if blocker.kind is not Block.NOTHING:
        return blocker
    if first := starts_before(turn, hold):
        return Blocker(Block.TURN, first)
    due = unconfirmed(turn.node, hold)
    if due is None:
        return blocker
    return Blocker(Block.TURN, "a list has to confirm that it is down" if turn.at >= due else "")


def _stop(turn: Turn, hold: Hold) -> None:
    mute = why_idle(turn.node, chips=bool(hold.chips))
    if hold.key.runtime not in turn.node.runtimes:
        mute = "its runtime is not managed"
    if not mute and (first := stops_before(turn, hold)):
        _reasoned(turn, hold, first)
        return
    made_now = hold.since == turn.at
    if hold.state is HoldState.TO_STOP and not made_now and not _still_wanted(turn, hold):
        # Its policy may be off all the same: it may have been stopped before, and be back by somebody's hand.
        hand_back(turn, hold, "it need not be stopped any more")
        return
    if mute:
        _reasoned(turn, hold, mute)
        return
    # A runtime that is down is asked all the same: its events may have broken off while it still takes orders.
    ring = turn.ring_for(hold.chips)
    what = "an ordered reset" if ring is not None and ring.id in turn.node.reset_orders else "a fault"
    of = listed(ring.chips) if ring else "a chip that is gone"
    sick = f"episode {hold.episode}: {UNHEALTHY_AFTER}" if hold.sick else ""
    reason = why_restarted(turn, hold) or why_coupled(turn, hold) or sick or f"episode {hold.episode}: {what} of {of}"
    reason = "it gets other chips" if hold.cause is Cause.MOVE else reason
    before = _last_words(turn, hold)
    command = StopContainer(turn.command_id("stop"), reason, hold.key, hold.name, hold.grace, before)
    _order(turn, replace(entered(hold, HoldState.STOPPING), reason=reason), command, hold.attempt.told or turn.at)
    if not hold.attempt.error:  # Of one that cannot be stopped the timeline tells once, not every minute for days.
        text = f"stop {hold.name} (grace {span(hold.grace)})"
        turn.note(NoteKind.ACTION, text, ring, container=hold.key)


def _last_words(turn: Turn, hold: Hold) -> tuple[str, ...]:
    """Return the command that it wishes to be run in it: with the first order of each life of cmgr that reaches it."""
    container = turn.node.containers.get(hold.key)
    first = hold.attempt.told is None or hold.attempt.tries == 0
    return container.before_stop if container is not None and first and not container.frozen else ()


def _still_wanted(turn: Turn, hold: Hold) -> bool:
    container = turn.node.containers.get(hold.key)
    if container is None or is_left_behind(turn.node, container):
        return True
    if not container.running and unit_of(turn.node, container) is None:
        return True
    if is_covered(turn.node, container):
        return False  # Its unit, which was not known when the hold was made, is stopped in its place.
    if hold.cause is Cause.HEAL:
        return is_still_ill(turn.node, container)
    if halting(turn.node, hold.key) is not None:
        return True
    if hold.cause is Cause.MOVE:
        return bool(hold.wish) or any(
            slot.wish for name in slots_of(container) if (slot := turn.node.slots.get(name)) is not None
        )
    if hold.sick and is_still_ill(turn.node, container):
        return True
    return _is_in_scope(turn, hold, container)


def _is_in_scope(turn: Turn, hold: Hold, container: Container) -> bool:
    return any(
        in_scope(turn.node, ring, container, scope_of(turn.node, ring, turn.at))
        for ring in turn.rings_of(hold.chips)
        if ring.in_episode
    )


def _start(turn: Turn, hold: Hold, block: Block) -> None:
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
        confirm(turn, hold)
        return
    ring = turn.ring_for(hold.chips)
    count(turn, hold)
    reason = why_restarted(turn, hold) or why_coupled(turn, hold) or _why_started(hold)
    given = placing(turn.node, hold)
    command = StartContainer(
        turn.command_id("start"), reason, hold.key, hold.name, hold.restart_policy, hold.frozen, given
    )
    told = hold.attempt.told if hold.state is HoldState.STARTING or hold.attempt.tries else None
    _order(turn, replace(entered(hold, HoldState.STARTING), reason=""), command, told or turn.at)
    if not hold.attempt.delays and not has_failed(turn.node, hold):
        turn.note(NoteKind.ACTION, f"start {hold.name}", ring, container=hold.key)
    for each in turn.rings_of(hold.chips):
        if each.in_episode:
            turn.put_ring(replace(each, starts={**each.starts, hold.key: each.starts.get(hold.key, 0) + 1}))


def _why_started(hold: Hold) -> str:
    if hold.cause is Cause.MOVE:
        return "it has other chips"
    return f"episode {hold.episode} is over" if hold.episode else "its chips are in use again"


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


def _take_answer(turn: Turn, fact: ContainerStopped | ContainerStarted | RestartPolicySet) -> Hold | None:
    """Return the hold that waits for this answer, and does so no more.

    A container that is gone is taken out of the books: none is left.
    """
    hold = turn.node.holds.get(fact.key)
    if hold is None or hold.attempt.command != fact.command:
        return None
    if fact.gone:
        _is_gone(turn, hold)
        return None
    return replace(hold, attempt=replace(hold.attempt, command=None))


def _is_gone(turn: Turn, hold: Hold) -> None:
    container = turn.node.containers.get(hold.key)
    if container is None or container.composed is None:
        container_removed(turn, hold.key)
        return
    # Compose may have made it anew while cmgr was not there, or did not hear: the list has its heir, and then it goes.
    hold = entered(hold, HoldState.RETURNING) if hold.is_theirs else hold
    turn.put_hold(retried(turn, hold, hold.attempt.error, counts=False))
    turn.ask_list(hold.key.runtime, f"{hold.name} is gone: has compose made it anew?", not_older=turn.at)


def container_stopped(turn: Turn, fact: ContainerStopped) -> None:
    """Take in the answer to our stop."""
    hold = _take_answer(turn, fact)
    if hold is None:
        return
    ring = turn.ring_for(hold.chips)
    _tell_stop(turn, hold, fact)
    if fact.again and hold.key in turn.node.containers:
        started_in_stop(turn, hold, fact.again)
    elif fact.error:
        turn.put_hold(retried(turn, hold, fact.error, counts=not fact.unreachable))
        if fact.error != hold.attempt.error:
            turn.note(NoteKind.WARNING, f"cannot stop {hold.name}: {fact.error}", ring, container=hold.key)
    elif (end := _persons_end(turn, hold, fact)) is not None:
        # Nothing of ours was under way in an earlier life either, so somebody else had stopped it.
        had_ended(turn, hold.key, end)
        had = "was being stopped by somebody else" if fact.ordered else "had been stopped before"
        if hold.disarmed:
            hand_back(turn, hold, f"it {had}")
        else:
            turn.note(NoteKind.HOLD, f"{hold.name} {had}: not held", ring, container=hold.key)
            turn.drop_hold(hold.key)
    else:
        before = fact.before if hold.attempt.tries == 0 else None
        how = (
            f"had died by itself (exit code {before.code})" if before is not None and before.by_itself else "is stopped"
        )
        turn.note(NoteKind.RESULT, f"{hold.name} {how}", ring, container=hold.key)
        stopped(turn, hold, fact.run)


def _persons_end(turn: Turn, hold: Hold, fact: ContainerStopped) -> Exit | None:
    """Return the end that was a person's doing: it came before our stop, or by an order that was under way then."""
    if hold.attempt.tries:
        return None
    if fact.ordered:
        return Exit(0, turn.at, asked=True)
    before = fact.before
    return before if before is not None and _was_a_persons(turn.node, hold, before) else None


def _was_a_persons(node: Node, hold: Hold, end: Exit) -> bool:
    """Return whether a person had stopped what our stop found down.

    A container that runs again after it was held down does so mostly by its daemon, which may have ended it, too.
    """
    if hold.down is None:
        return not end.by_itself and not ended_with_daemon(node, hold.key, end)
    return end.asked is True and not end.missed


def _tell_stop(turn: Turn, hold: Hold, fact: ContainerStopped) -> None:
    """Tell what the container's own command came to, and once of one that does not hear its stop signal."""
    ring, container = turn.ring_for(hold.chips), turn.node.containers.get(hold.key)
    if fact.words and fact.before is None:
        turn.note(NoteKind.RESULT, f"before its stop {hold.name} {fact.words}", ring, container=hold.key)
    if fact.deaf and container is not None and not container.deaf:
        turn.put_container(replace(container, deaf=True))
        text = (
            f"{hold.name} was killed after its whole grace of {span(hold.grace)}: {fact.deaf} (hint: give its command "
            'in exec form, CMD ["program", …]; or run it with --init; or name a signal that it takes, STOPSIGNAL)'
        )
        turn.note(NoteKind.RESULT, text, ring, container=hold.key)


def container_started(turn: Turn, fact: ContainerStarted) -> None:
    """Take in the answer to our start."""
    hold = _take_answer(turn, fact)
    if hold is None:
        return
    ring = turn.ring_for(hold.chips)
    if hold.state is HoldState.FORGOTTEN:
        _started_for_nobody(turn, hold, fact)
    elif fact.error:
        _not_started(turn, hold, fact)
    else:
        runs = "is there again, paused as it was" if hold.frozen else "runs again"
        if not has_failed(turn.node, hold):
            turn.note(NoteKind.RESULT, f"{hold.name} {runs}", ring, container=hold.key)
        started(turn, hold, fact.run)
        let_settle(turn, hold, fact.run)


def _not_started(turn: Turn, hold: Hold, fact: ContainerStarted) -> None:
    if fact.unreachable or fact.runtime_ails:
        hold = replace(hold, disarmed=False)  # It may have its policy back by now, and not run.
    if fact.unreachable:
        turn.put_hold(retried(turn, entered(hold, HoldState.DOWN), fact.error, counts=False))
        return
    fail = unsure_start if fact.runtime_ails else failed_start
    look_at_files(turn)  # Somebody may have removed the one that its slot needs.
    turn.put_hold(replace(fail(turn, hold, fact.error), unsure=turn.at))
    known = turn.node.containers.get(fact.key)
    if (known is not None and known.running) or in_round(turn.node, hold.key) is not None:
        turn.ask_list(fact.key.runtime, f"does {hold.name} run all the same?", not_older=turn.at)


def _started_for_nobody(turn: Turn, hold: Hold, fact: ContainerStarted) -> None:
    """Let go of a container that was forgotten while it was started."""
    if not fact.error:
        started(turn, hold, fact.run)
        return
    turn.ask_list(fact.key.runtime, f"does {hold.name} run all the same?", not_older=turn.at)
    if hold.restart_policy == NO_RESTART:
        turn.drop_hold(hold.key)
    else:
        turn.put_hold(entered(hold, HoldState.RETURNING))


def restart_policy_set(turn: Turn, fact: RestartPolicySet) -> None:
    """Take in the answer to a change of a restart policy."""
    hold = _take_answer(turn, fact)
    if hold is None:
        return
    if not hold.disarmed:
        _disarmed(turn, hold, fact)
    elif not fact.error:
        rearmed(turn, hold)
        turn.drop_hold(hold.key)
    else:
        if fact.error != hold.attempt.error:
            text = f"cannot put the restart policy {hold.restart_policy} of {hold.name} back yet: {fact.error}"
            turn.note(NoteKind.WARNING, text, turn.ring_for(hold.chips), container=hold.key)
        turn.put_hold(retried(turn, hold, fact.error, counts=False))


def _disarmed(turn: Turn, hold: Hold, fact: RestartPolicySet) -> None:
    if fact.error and hold.is_to_end:
        turn.put_hold(hold)  # It runs again: first comes the stop, which is due.
        return
    if fact.error:
        again = retried(turn, hold, fact.error, counts=False)
        turn.put_hold(again)
        if fact.error != hold.attempt.error:
            text = f"cannot switch off the restart policy of {hold.name}: {fact.error}"
            turn.note(NoteKind.WARNING, text, turn.ring_for(hold.chips), container=hold.key)
        return
    turn.put_hold(replace(hold, disarmed=True, attempt=replace(hold.attempt, delays=0, error="")))
