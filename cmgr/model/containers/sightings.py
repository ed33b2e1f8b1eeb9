"""Containers: taking in what the runtimes say, by event or by listing."""

from cmgr.frozen import replace
from cmgr.model.containers.covering import adopted, as_remembered, fit_to_unit, left_to_its_unit
from cmgr.model.containers.healing import notice_death
from cmgr.model.containers.moving.placing import as_placed
from cmgr.model.containers.steadiness import found_again, paused_since, tell_end, unsteady_since
from cmgr.model.containers.users import as_ignored
from cmgr.model.holds.endings import hand_back, lose, rearmed
from cmgr.model.holds.leaving import wait_for_another
from cmgr.model.holds.obstacles import Block, start_blocker
from cmgr.model.holds.policies import ended_without_policy, policy_seen
from cmgr.model.holds.recreated import heir_started, passed_on
from cmgr.model.holds.restarters import (
    is_fought_for,
    look_who_started,
    started_again,
    times_started_again,
    wait_before_stop,
)
from cmgr.model.holds.tries import try_anew
from cmgr.model.numbers import misplaced
from cmgr.model.scope import halting, in_scope, observing, scope_of
from cmgr.model.turn import Turn
from cmgr.model.values.chips import ChipId, resolve
from cmgr.model.values.handling.policy import backed_off
from cmgr.model.values.holds import Hold, HoldState, entered
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.messages.facts import (
    ContainersListed,
    RuntimeDown,
    RuntimeForgetOrdered,
    RuntimeFound,
    RuntimeUp,
)
from cmgr.model.values.node import RuntimeState, chips_of_slots
from cmgr.model.values.services.containers import NO_RESTART, Container, ContainerKey, Exit, is_same_life
from cmgr.model.values.services.healing import Healing
from cmgr.model.values.services.slots import can_be_placed
from cmgr.model.values.standing import Gone
from cmgr.model.wanted import is_wanted, was_meant, was_told_before
from cmgr.words import span


def runtime_told(turn: Turn, fact: RuntimeFound | RuntimeUp | RuntimeDown) -> None:
    """Take in that a runtime is there, answers, or does not."""
    match fact:
        case RuntimeFound():
            _runtime_found(turn, fact)
        case RuntimeUp():
            _runtime_up(turn, fact)
        case RuntimeDown():
            _runtime_down(turn, fact)


def _runtime_found(turn: Turn, fact: RuntimeFound) -> None:
    if fact.runtime not in turn.node.runtimes and fact.runtime not in turn.node.gone:
        _take_on(turn, fact.runtime, covering=fact.covering)


def _take_on(turn: Turn, runtime: str, *, covering: bool = False) -> None:
    """From now on nothing is decided on who uses a chip before this runtime, too, has said so, but for `covering`."""
    turn.put_runtime(RuntimeState(runtime, covering=covering))
    turn.note(NoteKind.WARNING, f"{runtime} is there now: its containers are taken care of, too")
    turn.ask_list(runtime, f"{runtime} is there", not_older=turn.at)


def runtime_forgotten(turn: Turn, fact: RuntimeForgetOrdered) -> None:
    """Wait no longer for a runtime, nor answer for what was held of it."""
    node, runtime = turn.node, fact.runtime
    turn.note(NoteKind.ACTION, f"{fact.who} ordered that {runtime} is gone for good, with its containers")
    for key in sorted(key for key in {*node.containers, *node.holds, *node.healings} if key.runtime == runtime):
        hold = turn.node.holds.get(key)
        if hold is not None:
            text = f"{hold.name} is no longer held: {runtime} is gone for good"
            turn.note(NoteKind.HOLD, text, turn.ring_for(hold.chips), container=key)
        turn.drop_hold(key)
        turn.put_healing(Healing(key))
        turn.drop_container(key)
    left = {name: state for name, state in node.runtimes.items() if name != runtime}
    gone = {**node.gone, runtime: Gone(runtime, turn.at, fact.who)}
    turn.node = replace(turn.node, runtimes=left, gone=gone)


def _runtime_up(turn: Turn, fact: RuntimeUp) -> None:
    """Events flow again: whatever was missed is found by listing."""
    state = turn.node.runtimes.get(fact.runtime)
    if fact.runtime in turn.node.gone:
        turn.node = replace(turn.node, gone={n: g for n, g in turn.node.gone.items() if n != fact.runtime})
        _take_on(turn, fact.runtime)
    if state is None:
        return
    restarted = turn.at if fact.restarted else state.restarted
    turn.put_runtime(replace(state, why_down="", restarted=restarted, ask_at=None, failures=0))
    turn.ask_list(fact.runtime, f"{fact.runtime} is there", not_older=turn.at)
    _wait_no_longer(turn, fact.runtime)
    if fact.restarted:
        _try_anew(turn, fact.runtime)
    if state.why_down:
        turn.note(NoteKind.WARNING, f"{fact.runtime} is back")


def _wait_no_longer(turn: Turn, runtime: str) -> None:
    """Try at once what only the runtime's absence had put off."""
    for hold in list(turn.node.holds.values()):
        if hold.attempt.delays and hold.key.runtime == runtime:
            turn.put_hold(replace(hold, attempt=replace(hold.attempt, delays=0, retry_at=None)))


def _try_anew(turn: Turn, runtime: str) -> None:
    """Try again what the last daemon could not start: the new one perhaps can."""
    for hold in list(turn.node.holds.values()):
        # Of one that is healed the limit counts, and not the daemon.
        given_up = (h := turn.node.healings.get(hold.key)) is not None and h.given_up is not None
        if hold.state is HoldState.FAILED and hold.key.runtime == runtime and not given_up:
            try_anew(turn, hold)
            text = f"{hold.name} is tried again: {runtime} is a new daemon"
            turn.note(NoteKind.HOLD, text, turn.ring_for(hold.chips), container=hold.key)


def _runtime_down(turn: Turn, fact: RuntimeDown) -> None:
    state = turn.node.runtimes.get(fact.runtime)
    if state is None:
        return
    if not state.why_down:
        turn.note(NoteKind.WARNING, f"cannot reach {fact.runtime}: {fact.why}")
    turn.put_runtime(replace(state, why_down=fact.why))


def containers_listed(turn: Turn, fact: ContainersListed) -> None:
    """Take in a list: it is the truth about every container that no event has spoken of since it was asked for."""
    state = turn.node.runtimes.get(fact.runtime)
    if state is None or state.asked is None or state.asked[0] != fact.command:
        return  # An answer that nobody waits for any more.
    issued = state.asked[1]
    if fact.error:
        if not state.why_down:
            turn.note(NoteKind.WARNING, f"cannot list the containers of {fact.runtime}: {fact.error}")
        turn.list_failed(state, fact.error)
        return
    listed_now = replace(state, asked=None, again=False, listed=issued, why_down="", failures=0, ask_at=None)
    turn.put_runtime(listed_now)
    if state.why_down:
        _wait_no_longer(turn, fact.runtime)
    if state.again:
        turn.ask_list(fact.runtime, "something happened while it was listed", not_older=turn.at)
    listed = {c.key: c for c in fact.containers}
    for container in listed.values():
        known = turn.node.containers.get(container.key)
        if known is None or known.seen is None or known.seen <= issued:
            _listed(turn, known, container)
    for key in sorted({*turn.node.containers, *turn.node.holds} - {*listed}):
        known = turn.node.containers.get(key)
        newer = known is not None and known.seen is not None and known.seen > issued
        if key.runtime == fact.runtime and not newer:
            container_removed(turn, key)


def _listed(turn: Turn, known: Container | None, container: Container) -> None:
    if not container.unread:
        container_seen(turn, container, sure=True)
    elif known is None:
        turn.put_container(replace(as_ignored(turn.node.policy, container), since=turn.at, seen=turn.at))
    else:
        # The books know its chips and its life. It counts as running when either says so: it may hold its chips.
        running = known.running or container.running
        turn.put_container(replace(known, running=running, seen=turn.at, unread=container.unread))


def container_seen(turn: Turn, container: Container, *, sure: bool = False) -> None:
    """Take in a container's present state; `sure`: from a list, while an event may be late news of an earlier state."""
    if container.key.runtime not in turn.node.runtimes:
        return  # Late news of a runtime that is gone for good.
    container = as_ignored(turn.node.policy, container)
    if not sure and _is_of_an_earlier_life(turn.node.containers.get(container.key), container):
        turn.ask_list(container.key.runtime, f"does {container.name} run?", not_older=turn.at)
        return
    container = adopted(turn, as_remembered(turn.node, container))
    hold = turn.node.holds.get(container.key)
    container = _seen_held(turn, hold, container, sure) if hold is not None else container
    known = turn.node.containers.get(container.key)
    notice_death(turn, known, container)
    asked, warnings = resolve(container.claims, turn.node.chips, chips_of_slots(turn.node))
    goes_on = known is not None and known.run == container.run and not container.ignored
    used = known.used if known is not None and goes_on else frozenset()
    chips = _agreed(turn, known, container, asked | used)
    changed = known is None or (known.running, known.run) != (container.running, container.run)
    # That it is down, as is known, may be told late: it must not make a list count as older that says more.
    seen = known.seen if known is not None and not (sure or changed or container.running) else turn.at
    now = replace(
        container,
        exit=None if container.running else _end(known, container),
        chips=chips,
        used=used,
        warnings=(*container.warnings, *warnings, *(misplaced(turn.node, container) if container.running else ())),
        since=turn.at if changed or known is None else known.since,
        seen=seen,
        deaf=known is not None and known.deaf,
        forgotten=known.forgotten if known is not None else "",
        told_before=was_told_before(known, container),
        paused=paused_since(turn, known, container),
        unsteady=unsteady_since(turn, known, container),
    )
    turn.put_container(replace(now, wanted=is_wanted(known, now)))
    fit_to_unit(turn, now, begun=changed and now.running)
    found_again(turn, now)
    if hold is None:
        tell_end(turn, known, now)
        look_who_started(turn, known, turn.node.containers[container.key])


def _seen_held(turn: Turn, hold: Hold, container: Container, sure: bool) -> Container:
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


def _agreed(turn: Turn, known: Container | None, container: Container, chips: frozenset[ChipId]) -> frozenset[ChipId]:
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


def _is_of_an_earlier_life(known: Container | None, container: Container) -> bool:
    """Return whether this tells of the life before the one that the books know of, or of an end from before that."""
    if known is None or not known.run or container.run in ("", known.run):
        return False
    later = known.exit.at if known.exit is not None else known.since
    ended_before = container.exit is not None and later is not None and container.exit.at < later
    return container.run == known.former or ended_before


def _end(known: Container | None, container: Container) -> Exit | None:
    """Return how its life ended, at the moment that was told first: a clock that is set must not move it."""
    told_before = known is not None and known.seen is not None and known.run == container.run
    if container.exit is None or known is None or known.exit is None or not told_before:
        return container.exit
    return replace(container.exit, at=known.exit.at)


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
    times = times_started_again(turn.node, turn.rings_of(hold.chips), hold)
    wait = wait_before_stop(turn.node, times)
    text = f"something has started {hold.name} again: it is stopped again in {span(wait)}"
    turn.note(NoteKind.WARNING, text, turn.ring_for(hold.chips), container=hold.key)
    again = entered(hold, HoldState.TO_STOP)
    turn.put_hold(replace(again, run=container.run, attempt=replace(again.attempt, retry_at=turn.at + wait)))


def container_removed(turn: Turn, key: ContainerKey) -> None:
    """The container exists no more: what was promised cannot be kept."""
    hold = turn.node.holds.get(key)
    if hold is not None and not hold.is_held_down:
        text = f"{hold.name} is forgotten: somebody removed it"  # It ran, and was theirs already but for a formality.
        turn.note(NoteKind.HOLD, text, turn.ring_for(hold.chips), container=key)
    elif hold is not None and left_to_its_unit(turn, hold):
        pass
    elif hold is not None and not passed_on(turn, hold):
        wait_for_another(turn, hold)
        container = turn.node.containers.get(key)
        removed = container is not None and container.auto_remove
        why = "it was started with --rm, and its end removed it" if removed else "somebody removed it"
        lose(turn, hold, f"{why}; cmgr cannot start it again")
    turn.drop_hold(key)
    turn.drop_container(key)


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


def started(turn: Turn, hold: Hold, run: str) -> None:
    """Our start has worked: the promise is kept."""
    turn.drop_hold(hold.key)
    container = turn.node.containers.get(hold.key)
    if container is not None and not (container.running and container.run == run):
        # It may have ended again by now: then its event is still to come, or came, and the next list tells.
        ended = container.run == run and container.exit is not None
        exit_ = container.exit if ended else None
        now = replace(container, running=not ended, run=run, exit=exit_, since=turn.at, seen=turn.at, health="")
        now = replace(now, frozen=hold.frozen and not ended)
        turn.put_container(replace(now, wanted=not was_meant(exit_)))
        if can_be_placed(container) and not ended:
            turn.put_container(as_placed(turn.node, turn.node.containers[hold.key], hold.chips))
    rearmed(turn, hold)


def had_ended(turn: Turn, key: ContainerKey, exit_: Exit) -> None:
    """Its life was over before our stop."""
    container = turn.node.containers[key]  # A hold that was made in this life has its container in the books.
    wanted = container.wanted and not was_meant(exit_)
    turn.put_container(replace(container, running=False, exit=exit_, since=turn.at, wanted=wanted))


def stopped(turn: Turn, hold: Hold, run: str) -> None:
    """Our stop has worked, and ended the life `run`: what is still said of that life is old news.

    Where the runtime does not know the life any more, the next list says which it was.
    """
    container = turn.node.containers.get(hold.key)
    if container is not None:
        run_booked = run or container.run
        turn.put_container(replace(container, running=False, run=run_booked, since=turn.at, seen=turn.at))
    down = replace(entered(hold, HoldState.DOWN), run=run, down=turn.at, died=False)
    if hold.sick:
        retry = turn.node.policy.retry
        due = turn.at + backed_off(retry.backoff, retry.backoff_max, hold.sick)
        down = replace(down, attempt=replace(down.attempt, retry_at=due))
    turn.put_hold(down)
    left_to_its_unit(turn, down)
