"""Containers: taking in what the runtimes say, by event or by listing."""

from dataclasses import replace

from cmgr.model.chips import resolve
from cmgr.model.commands import NoteKind
from cmgr.model.containers import NO_RESTART, Container, ContainerKey
from cmgr.model.facts import ContainersListed, RuntimeDown, RuntimeUp
from cmgr.model.holds import Hold, HoldState
from cmgr.model.turn import Turn


def runtime_up(turn: Turn, fact: RuntimeUp) -> None:
    """Events flow again: whatever was missed is found by listing."""
    state = turn.node.runtimes.get(fact.runtime)
    if state is None:
        return
    restarted = turn.at if fact.restarted else state.restarted
    turn.put_runtime(replace(state, why_down="", restarted=restarted, ask_at=None, failures=0))
    turn.ask_list(fact.runtime, f"{fact.runtime} is there", not_older=turn.at)
    if state.why_down:
        turn.note(NoteKind.WARNING, f"{fact.runtime} is back")


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
    turn.put_runtime(replace(state, asked=None, listed=issued, why_down="", failures=0, ask_at=None))
    listed = {c.key: c for c in fact.containers}
    for container in listed.values():
        known = turn.node.containers.get(container.key)
        if known is None or known.seen is None or known.seen <= issued:
            container_seen(turn, container)
    for key in {*turn.node.containers, *turn.node.holds} - {*listed}:
        known = turn.node.containers.get(key)
        newer = known is not None and known.seen is not None and known.seen > issued
        if key.runtime == fact.runtime and not newer:
            container_removed(turn, key)


def container_seen(turn: Turn, container: Container) -> None:
    """Take in a container's present state."""
    hold = turn.node.holds.get(container.key)
    if hold is not None and not hold.disarmed and container.restart_policy not in (NO_RESTART, hold.restart_policy):
        # The books may have been behind when the hold was made: right after a start, before the policy was back.
        hold = replace(hold, restart_policy=container.restart_policy)
        turn.put_hold(hold)
    if hold is not None and container.running:
        container = _seen_running(turn, hold, container)
    known = turn.node.containers.get(container.key)
    chips, warnings = resolve(container.claims, turn.node.chips)
    changed = known is None or (known.running, known.run) != (container.running, container.run)
    turn.put_container(
        replace(
            container,
            exit=None if container.running else container.exit,
            chips=chips,
            warnings=container.warnings + warnings,
            since=turn.at if changed or known is None else known.since,
            seen=turn.at,
        )
    )


def _seen_running(turn: Turn, hold: Hold, container: Container) -> Container:
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
    if hold.state is HoldState.STARTING:
        _hand_back(turn, hold, "it runs, so an earlier start had worked")
    elif _by_daemon(turn, hold.key.runtime):
        text = f"{hold.name} was started by the restart policy of {hold.key.runtime}: it is stopped again"
        turn.note(NoteKind.HOLD, text, turn.ring_for(hold.chips), container=hold.key)
        turn.put_hold(replace(hold, state=HoldState.STOPPING, run=container.run, tries=0, retry_at=None, error=""))
    else:
        for ring in turn.rings_of(hold.chips):
            if ring.in_episode:
                turn.put_ring(replace(ring, theirs=ring.theirs | {hold.key}))
        _hand_back(turn, hold, "somebody started it by hand: it is theirs")
    return container


def _by_daemon(turn: Turn, runtime: str) -> bool:
    came_up = turn.node.runtimes[runtime].restarted
    return came_up is not None and turn.at - came_up < turn.node.policy.daemon_grace


def _hand_back(turn: Turn, hold: Hold, why: str) -> None:
    """End the hold; a restart policy that was switched off goes back first."""
    turn.note(NoteKind.HOLD, f"{hold.name} is no longer held: {why}", turn.ring_for(hold.chips), container=hold.key)
    if hold.restart_policy != NO_RESTART:
        # Switching it off may be under way, and then comes first; or it worked in a life that could not book that.
        off = hold.command is None
        turn.put_hold(replace(hold, state=HoldState.RETURNING, disarmed=off, tries=0, retry_at=None, error=""))
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
        turn.put_container(replace(container, running=not ended, run=run, exit=exit_, since=turn.at, seen=turn.at))
    rearmed(turn, hold)


def rearmed(turn: Turn, hold: Hold) -> None:
    """The container has its restart policy back."""
    container = turn.node.containers.get(hold.key)
    if container is not None and container.restart_policy != hold.restart_policy:
        turn.put_container(replace(container, restart_policy=hold.restart_policy))


def stopped(turn: Turn, hold: Hold, run: str) -> None:
    """Our stop has worked, and ended the life `run`: what is still said of that life is old news."""
    container = turn.node.containers.get(hold.key)
    run = run or (container.run if container else hold.run)
    if container is not None:
        turn.put_container(replace(container, running=False, run=run, since=turn.at, seen=turn.at))
    turn.put_hold(replace(hold, state=HoldState.STOPPED, run=run, command=None, tries=0, retry_at=None, error=""))
