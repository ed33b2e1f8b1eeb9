"""Containers: taking in what the runtimes say, by event or by listing."""

from dataclasses import replace

from cmgr.model.containers.healing import notice_death
from cmgr.model.scope import Block, start_blocker
from cmgr.model.turn import Turn
from cmgr.model.values.chips import resolve
from cmgr.model.values.commands import NoteKind
from cmgr.model.values.containers import NO_RESTART, Container, ContainerKey, Exit
from cmgr.model.values.facts import ContainersListed, RuntimeDown, RuntimeUp
from cmgr.model.values.holds import Hold, HoldState


def runtime_up(turn: Turn, fact: RuntimeUp) -> None:
    """Events flow again: whatever was missed is found by listing."""
    state = turn.node.runtimes.get(fact.runtime)
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
        if hold.delays and hold.key.runtime == runtime:
            turn.put_hold(replace(hold, delays=0, retry_at=None))


def _try_anew(turn: Turn, runtime: str) -> None:
    """What the last daemon could not start a new one may."""
    for hold in list(turn.node.holds.values()):
        # Of one that is healed the limit counts, and not the daemon.
        given_up = (h := turn.node.healings.get(hold.key)) is not None and h.given_up is not None
        if hold.failed and hold.key.runtime == runtime and not given_up:
            turn.put_hold(replace(hold, failed=False, tries=0, delays=0, retry_at=None, error=""))
            text = f"{hold.name} is tried again: {runtime} is a new daemon"
            turn.note(NoteKind.HOLD, text, turn.ring_for(hold.chips), container=hold.key)


def runtime_down(turn: Turn, fact: RuntimeDown) -> None:
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
            container_seen(turn, container, sure=True)
    for key in sorted({*turn.node.containers, *turn.node.holds} - {*listed}):
        known = turn.node.containers.get(key)
        newer = known is not None and known.seen is not None and known.seen > issued
        if key.runtime == fact.runtime and not newer:
            container_removed(turn, key)


def container_seen(turn: Turn, container: Container, *, sure: bool = False) -> None:
    """Take in a container's present state; `sure`: from a list, while an event may be late news of an earlier state."""
    if not sure and _is_of_an_earlier_life(turn.node.containers.get(container.key), container):
        turn.ask_list(container.key.runtime, f"does {container.name} run?", not_older=turn.at)
        return
    hold = turn.node.holds.get(container.key)
    if hold is not None and not hold.disarmed and container.restart_policy not in (NO_RESTART, hold.restart_policy):
        # The books may have been behind when the hold was made: right after a start, before the policy was back.
        hold = replace(hold, restart_policy=container.restart_policy)
        turn.put_hold(hold)
    if hold is not None and container.running:
        container = _seen_running(turn, hold, container, sure)
    elif hold is not None and sure:
        _seen_down(turn, hold, container)
    known = turn.node.containers.get(container.key)
    notice_death(turn, known, container)
    chips, warnings = resolve(container.claims, turn.node.chips)
    held = turn.node.holds.get(container.key)
    if held is not None and known is not None and known.claims != container.claims and chips:
        # Another one was made under the same name: what it will run on is what it asks for.
        turn.put_hold(replace(held, chips=chips))
    changed = known is None or (known.running, known.run) != (container.running, container.run)
    turn.put_container(
        replace(
            container,
            exit=None if container.running else _end(known, container),
            chips=chips,
            warnings=container.warnings + warnings,
            since=turn.at if changed or known is None else known.since,
            seen=turn.at,
        )
    )


def _is_of_an_earlier_life(known: Container | None, container: Container) -> bool:
    """Return whether this tells of an end from before the life that the books know of."""
    if known is None or container.exit is None or container.run == known.run or not known.run:
        return False
    later = known.exit.at if known.exit is not None else known.since
    return later is not None and container.exit.at < later


def _end(known: Container | None, container: Container) -> Exit | None:
    """Return how its life ended, at the moment that was told first: a clock that is set must not move it."""
    told_before = known is not None and known.seen is not None and known.run == container.run
    if container.exit is None or known is None or known.exit is None or not told_before:
        return container.exit
    return replace(container.exit, at=known.exit.at)


def _seen_running(turn: Turn, hold: Hold, container: Container, sure: bool) -> Container:
    """Say what it means that a held container runs; return it as it is to be booked."""
    if hold.state is HoldState.STOPPING:
        turn.put_hold(replace(hold, run=container.run))  # Whichever life it is in, that one is to end.
        return container
    if container.run == hold.run:
        return replace(container, running=False)  # Old news of the life that was stopped.
    if hold.state is HoldState.RETURNING:
        return container  # Theirs already.
    if hold.state is HoldState.STARTING and hold.command is not None:
        return container  # Our own start, whose answer is on its way.
    if sure:
        _runs_again(turn, hold, container)
        return container
    # What follows cannot be taken back, and lives have no order by which late news could be told.
    if _by_policy(turn, hold, container):
        turn.put_hold(replace(hold, revived=container.run))
    turn.ask_list(hold.key.runtime, f"does {hold.name} run again?", not_older=turn.at)
    return container


def _seen_down(turn: Turn, hold: Hold, container: Container) -> None:
    """Notice that a container that was stopped has lived again meanwhile, and is down again."""
    stopped_by_us = hold.state in (HoldState.STOPPED, HoldState.STARTING) and hold.command is None
    if not stopped_by_us or container.run in ("", hold.run):
        return
    end = container.exit
    # Where it is not known how that life ended, the promise to start it counts for more.
    if hold.run and end is not None and end.asked is not None and not end.by_itself:
        hand_back(turn, hold, "somebody had started it, and it has ended since")
    else:
        turn.put_hold(replace(hold, run=container.run))


def _runs_again(turn: Turn, hold: Hold, container: Container) -> None:
    """Find out whose doing it is that a container runs that was stopped."""
    if hold.state is HoldState.STARTING or (hold.tries > 0 and not hold.failed):
        hand_back(turn, hold, "it runs, so an earlier start had worked")
    elif _by_policy(turn, hold, container):
        _started_by_policy(turn, hold, container)
    else:
        for ring in turn.rings_of(hold.chips):
            if ring.in_episode:
                turn.put_ring(replace(ring, theirs=ring.theirs | {hold.key}))
        hand_back(turn, hold, "somebody started it by hand: it is theirs")


def _by_policy(turn: Turn, hold: Hold, container: Container) -> bool:
    """Return whether rather its restart policy than a person has started the stopped container."""
    if hold.revived and hold.revived == container.run:
        return True
    came_up = turn.node.runtimes[hold.key.runtime].restarted
    if came_up is not None and turn.at - came_up < turn.node.policy.daemon_grace:
        return True
    # Docker restarts one that died by itself, containerd any, unless that was switched off before.
    return hold.restart_policy != NO_RESTART and not hold.disarmed and not hold.error


def _started_by_policy(turn: Turn, hold: Hold, container: Container) -> None:
    if start_blocker(turn.node, hold).kind is not Block.CHIP:
        hand_back(turn, hold, "its restart policy has started it")
        return
    text = f"{hold.name} was started by its restart policy: it is stopped again"
    turn.note(NoteKind.HOLD, text, turn.ring_for(hold.chips), container=hold.key)
    again = replace(hold, state=HoldState.STOPPING, run=container.run, tries=0, delays=0, retry_at=None, error="")
    turn.put_hold(again)


def hand_back(turn: Turn, hold: Hold, why: str) -> None:
    """End the hold; a restart policy that was switched off goes back first."""
    turn.note(NoteKind.HOLD, f"{hold.name} is no longer held: {why}", turn.ring_for(hold.chips), container=hold.key)
    if hold.restart_policy != NO_RESTART:
        # Switching it off may be under way, and then comes first; or it worked in a life that could not book that.
        off = hold.command is None
        hold = replace(hold, state=HoldState.RETURNING, disarmed=off, tries=0, delays=0, retry_at=None, error="")
        turn.put_hold(hold)
    else:
        turn.drop_hold(hold.key)


def container_removed(turn: Turn, key: ContainerKey) -> None:
    """The container exists no more: there is nothing left to promise."""
    hold = turn.node.holds.get(key)
    if hold is not None:
        container = turn.node.containers.get(key)
        why = "it was started with --rm" if container and container.auto_remove else "somebody removed it"
        text = f"{hold.name} is forgotten: {why}"
        turn.note(NoteKind.HOLD, text, turn.ring_for(hold.chips), container=key)
        turn.drop_hold(key)
    turn.drop_container(key)


def started(turn: Turn, hold: Hold, run: str) -> None:
    """Our start has worked: the promise is kept."""
    turn.drop_hold(hold.key)
    container = turn.node.containers.get(hold.key)
    if container is not None and not (container.running and container.run == run):
        # It may have ended again by now: then its event is still to come, or came, and the next list tells.
        ended = container.run == run and container.exit is not None
        exit_ = container.exit if ended else None
        now = replace(container, running=not ended, run=run, exit=exit_, since=turn.at, seen=turn.at)
        turn.put_container(replace(now, health=""))
    rearmed(turn, hold)


def rearmed(turn: Turn, hold: Hold) -> None:
    """The container has its restart policy back."""
    container = turn.node.containers.get(hold.key)
    if container is not None and container.restart_policy != hold.restart_policy:
        turn.put_container(replace(container, restart_policy=hold.restart_policy))


def had_ended(turn: Turn, key: ContainerKey, exit_: Exit) -> None:
    """Its life was over before our stop."""
    container = turn.node.containers[key]  # A hold that was made in this life has its container in the books.
    turn.put_container(replace(container, running=False, exit=exit_, since=turn.at))


def stopped(turn: Turn, hold: Hold, run: str) -> None:
    """Our stop has worked, and ended the life `run`: what is still said of that life is old news.

    Where the runtime does not know the life any more, the next list says which it was.
    """
    container = turn.node.containers.get(hold.key)
    if container is not None:
        run_booked = run or container.run
        turn.put_container(replace(container, running=False, run=run_booked, since=turn.at, seen=turn.at))
    down = replace(hold, state=HoldState.STOPPED, run=run, command=None, tries=0, delays=0, retry_at=None, error="")
    turn.put_hold(down)
