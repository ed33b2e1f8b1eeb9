"""How a held container is seen, by an event or in a list: whose doing it is, and what becomes of its hold."""

from cmgr.frozen import replace
from cmgr.model.holds.endings import hand_back
from cmgr.model.holds.obstacles import Block, start_blocker
from cmgr.model.holds.policies import ended_without_policy, policy_seen
from cmgr.model.holds.recreated import heir_started
from cmgr.model.holds.restarters import (
    is_fought_for,
    started_again,
    times_started_again,
    wait_before_stop,
)
from cmgr.model.scope import halting, in_scope, observing, scope_of
from cmgr.model.turn import Turn
from cmgr.model.values.chips import ChipId
from cmgr.model.values.holds import Hold, HoldState, entered
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.services.containers import NO_RESTART, Container, Exit, is_same_life
from cmgr.model.values.services.slots import can_be_placed
from cmgr.words import span


def seen_held(turn: Turn, hold: Hold, container: Container, sure: bool) -> Container:
    """Say what it means how a held container is now; return it as it is to be booked."""
    hold = policy_seen(turn, hold, container)
    if container.running:
        return _seen_running(turn, hold, container, sure)
    if hold.state is HoldState.RETURNING and hold.attempt.command is None:
        ended_without_policy(turn, hold, container)
    if _was_asked_for(hold, container):
        hand_back(turn, hold, "somebody had stopped it")
    elif sure and _has_lived_again(hold, container):
        _has_ended_again(turn, hold, container)
    elif _has_lived_again(hold, container) and not is_same_life(container.run, hold.run):
        _hears_of_another_life(turn, hold)
    return container


def _was_asked_for(hold: Hold, container: Container) -> bool:
    """Return whether somebody had stopped what was taken for one that died: that can be told later than the death."""
    waits = hold.died and hold.is_down and hold.attempt.tries == 0
    end = container.exit if container.run == hold.run else None
    return waits and end is not None and end.asked is True


def agreed(turn: Turn, known: Container | None, container: Container, chips: frozenset[ChipId]) -> frozenset[ChipId]:
    """Make its hold and the books agree about its chips: `chips` are those that its definition gives now."""
    held = turn.node.holds.get(container.key)
    if held is not None and known is not None and _is_made_anew(known, container) and chips:
        # Another one was made under the same name: what it will run on is what it asks for.
        turn.put_hold(replace(held, chips=chips))
    elif held is not None and not container.running and can_be_placed(container):
        return held.chips  # Its definition gives it these only with its start.
    return chips


def _is_made_anew(known: Container, container: Container) -> bool:
    """Return whether it asks for other chips than before, or cannot be given those any more that it was to get."""
    return known.claims != container.claims or (can_be_placed(known) and not can_be_placed(container))


def _seen_running(turn: Turn, hold: Hold, container: Container, sure: bool) -> Container:
    """Say what it means that a held container runs; return it as it is to be booked."""
    if hold.is_to_end:
        # Whichever life it is in, that one is to end. A stop thaws: that it is not frozen any more says nothing.
        turn.put_hold(replace(hold, run=container.run))
        return container
    if hold.state is HoldState.SETTLING:
        return container  # As it should be: `keep` looks whether it is still the same life.
    if hold.is_theirs and (sure or container.run != hold.run):
        return container  # Theirs already.
    if container.run == hold.run:
        return replace(container, running=False)  # Old news of the life that was stopped.
    if hold.state is HoldState.STARTING and hold.attempt.command is not None:
        return container  # Our own start, whose answer is on its way.
    if sure:
        _runs_again(turn, hold, container)
        return container
    if _by_policy(turn, hold, container):
        hold = replace(hold, revived=container.run)
    _hears_of_another_life(turn, hold)
    return container


def _hears_of_another_life(turn: Turn, hold: Hold) -> None:
    """Look before the next step, which cannot be taken back: lives have no order, and this may be late news."""
    turn.put_hold(replace(hold, heard=turn.at))
    turn.ask_list(hold.key.runtime, f"does {hold.name} run again?", not_older=turn.at)


def _has_lived_again(hold: Hold, container: Container) -> bool:
    """Return whether a container that was stopped is down in another life than the one that was ended."""
    return hold.stays_down and container.run not in ("", hold.run)


def _has_ended_again(turn: Turn, hold: Hold, container: Container) -> None:
    """Find out whether whoever has ended that other life wants it down."""
    end, known = container.exit, turn.node.containers.get(hold.key)
    # Where it is not known how that life ended, the promise counts for more, unless that life was surely a person's.
    ended = end is not None and (_is_a_persons(hold, container.run, end) if end.asked is None else not end.by_itself)
    if (hold.run or hold.inherited) and ended:
        hand_back(turn, hold, "somebody had started it, and it has ended since")
        if known is not None:
            turn.put_container(replace(known, wanted=True))  # Unless that end was meant.
    else:
        turn.put_hold(replace(hold, run=container.run))


def _is_a_persons(hold: Hold, run: str, end: Exit) -> bool:
    """Return whether only a person can have begun the life that ended so: nothing of cmgr's was, or will have been."""
    off = hold.disarmed or hold.restart_policy == NO_RESTART
    ours = not hold.is_down or hold.attempt.tries > 0 or not off
    return not ours and not is_same_life(run, hold.run) and hold.down is not None and end.at > hold.down


def _runs_again(turn: Turn, hold: Hold, container: Container) -> None:
    """Find out whose doing it is that a container runs that was stopped."""
    if hold.state is HoldState.STARTING or (hold.attempt.tries > 0 and hold.state is not HoldState.FAILED):
        if hold.frozen and not container.frozen:
            _started_unfrozen(turn, hold, container)
        else:
            hand_back(turn, hold, "it runs, so an earlier start had worked")
    elif _by_policy(turn, hold, container):
        _started_by_policy(turn, hold, container)
    else:
        _started_by_others(turn, hold, container)


def _started_by_others(turn: Turn, hold: Hold, container: Container) -> None:
    if hold.inherited and _must_wait(turn, hold):
        heir_started(turn, hold, container)
    elif _must_wait(turn, hold) and started_again(turn, hold, container):
        _stopped_again(turn, hold, container)
    else:
        fights = any(is_fought_for(ring, container) for ring in turn.rings_of(hold.chips))
        hand_back(turn, hold, "something starts it again" if fights else "somebody started it by hand: it is theirs")


def _must_wait(turn: Turn, hold: Hold) -> bool:
    """Return whether what has started it was too early: its chips are not well, or its group is not down."""
    return halting(turn.node, hold.key) is not None or start_blocker(turn.node, hold).kind is Block.CHIP


def _started_unfrozen(turn: Turn, hold: Hold, container: Container) -> None:
    """An earlier start has worked but for its last part: the same order does that part, too."""
    on_its_chips = replace(container, chips=hold.chips)
    due = halting(turn.node, hold.key) is not None or any(
        in_scope(turn.node, ring, on_its_chips, scope_of(turn.node, ring, turn.at))
        for ring in turn.rings_of(hold.chips)
        if ring.in_episode
    )
    if due and not observing(turn.node):
        turn.put_hold(replace(entered(hold, HoldState.TO_STOP), run=container.run))
    elif hold.attempt.command is None:  # Else that of its restart policy: a later list tells.
        turn.put_hold(entered(hold, HoldState.STARTING))


def _by_policy(turn: Turn, hold: Hold, container: Container) -> bool:
    """Return whether rather its restart policy than a person has started the stopped container."""
    if hold.revived and hold.revived == container.run:
        return True
    came_up = turn.node.runtimes[hold.key.runtime].restarted
    if came_up is not None and turn.at - came_up < turn.node.policy.daemon_grace:
        return True
    # Docker restarts one that died by itself, containerd any, unless that was switched off before.
    return hold.restart_policy != NO_RESTART and not hold.disarmed and not hold.attempt.error


def _started_by_policy(turn: Turn, hold: Hold, container: Container) -> None:
    if not _must_wait(turn, hold):
        hand_back(turn, hold, "its restart policy has started it")
        return
    text = f"{hold.name} was started by its restart policy: it is stopped again"
    turn.note(NoteKind.HOLD, text, turn.ring_for(hold.chips), container=hold.key)
    turn.put_hold(replace(entered(hold, HoldState.TO_STOP), run=container.run))


def _stopped_again(turn: Turn, hold: Hold, container: Container) -> None:
    times = times_started_again(turn.node, turn.rings_of(hold.chips), hold, container)
    wait = wait_before_stop(turn.node, times)
    text = f"something has started {hold.name} again: it is stopped again in {span(wait)}"
    turn.note(NoteKind.WARNING, text, turn.ring_for(hold.chips), container=hold.key)
    again = entered(hold, HoldState.TO_STOP)
    turn.put_hold(replace(again, run=container.run, attempt=replace(again.attempt, retry_at=turn.at + wait)))


def started_in_stop(turn: Turn, hold: Hold, run: str) -> None:
    """Our stop has worked, and before anybody could look something else began the life `run`.

    Its restart policy it was not: that ends with the stop.
    """
    container = turn.node.containers[hold.key]
    now = replace(container, running=True, run=run, exit=None, since=turn.at, seen=turn.at)
    turn.put_container(now)
    down = replace(entered(hold, HoldState.DOWN), down=turn.at, died=False)
    turn.put_hold(down)
    _started_by_others(turn, down, now)
