"""The making of holds: the promise for a container as it is."""

from datetime import datetime, timedelta

from cmgr.frozen import replace
from cmgr.model.holds.restarters import count_stop, restarted, wait_before_stop
from cmgr.model.holds.tries import failed_start
from cmgr.model.index import users_on
from cmgr.model.own_chips import have_met
from cmgr.model.scope import died_of_it, handled_faults, holds_on, in_scope, observing, on_ring, scope_of
from cmgr.model.sparing import veto_ends
from cmgr.model.successors import places
from cmgr.model.turn import Turn
from cmgr.model.units import is_left_behind, outlives, unit_of
from cmgr.model.values.chips import ChipId
from cmgr.model.values.holds import Attempt, Cause, Hold, HoldState, entered
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.node import Node
from cmgr.model.values.rings import Ring
from cmgr.model.values.services.containers import Container, ContainerKey
from cmgr.model.values.services.healing import Healing
from cmgr.sentences.sentence import say

PAUSE_LASTS = timedelta(minutes=1)


def hold_on(node: Node, container: Container, at: datetime, cause: Cause, episode: int = 0) -> Hold:
    """Return the promise for a container as it is: one that runs is to be stopped first."""
    before = node.holds.get(container.key)
    due = before is not None and before.state is HoldState.RETURNING  # Then it runs without its policy.
    return Hold(
        container.key,
        container.name,
        container.kept.chips,
        episode,
        at,
        HoldState.TO_STOP if container.running else HoldState.DOWN,
        container.run,
        order=container.order,
        grace=container.grace,
        restart_policy=before.restart_policy if before is not None and due else container.restart_policy,
        cause=cause,
        frozen=is_to_be_paused(container, at),
        beside=_beside(node, container),
        places=places(node, container),
    )


def is_to_be_paused(container: Container, at: datetime) -> bool:
    """Return whether it is paused again after its next start: not if it was for a moment, by a backup or a commit.

    Whoever made such a pause takes it back soon, and while the container is down nobody can.
    """
    return container.frozen and (container.kept.paused is None or at - container.kept.paused >= PAUSE_LASTS)


def _beside(node: Node, container: Container) -> frozenset[ContainerKey]:
    """Return those on its chips whose last life and its own have met, as far as the books can tell."""
    others = (other for other in users_on(node, container.kept.chips) if other.key != container.key)
    return frozenset(other.key for other in others if have_met(container, other))


def hold_in_scope(turn: Turn, ring: Ring, since: datetime | None = None) -> None:
    """Hold every running container that this ring's faults want down, and every one that died of them.

    `since`: when the faults were there already, if that is long before the episode began.
    """
    if observing(turn.node):
        return
    _adopt(turn, ring)
    scope = scope_of(turn.node, ring, turn.at)
    for container in list(on_ring(turn.node, ring)):
        hold = turn.node.holds.get(container.key)
        if hold is not None and not (container.running and hold.runs):
            continue
        if container.running and in_scope(turn.node, ring, container, scope):
            what = "fault" if handled_faults(turn.node, ring) or scope.isolated else "reset"
            _tell_if_busy(turn, ring, container)
            hold_for(turn, ring, container, _will_stop(turn, container, what))
        elif not container.running and died_of_it(turn.node, ring, container, since or ring.began):
            assert container.exit is not None
            name, code = container.name, container.exit.code
            text = say("hold.ended-with-runtime", name=name, runtime=container.key.runtime, code=code)
            if container.exit.by_itself:
                text = say("hold.died", name=name, code=code)
            hold_for(turn, ring, container, text)


def _will_stop(turn: Turn, container: Container, what: str) -> str:
    name = container.name
    if container.owner:
        return say("hold.will-stop-owned", name=name, owner=container.owner)
    if container.auto_remove:
        return say("hold.will-stop-removes", name=name)
    if is_to_be_paused(container, turn.at):
        return say("hold.will-stop-paused", name=name, what=what)
    stopped = say("hold.will-stop", name=name, what=what)
    return say("hold.pause-is-not-made", stopped=stopped) if container.frozen else stopped


def _tell_if_busy(turn: Turn, ring: Ring, container: Container) -> None:
    ends, veto = veto_ends(turn.node, ring), container.kept.veto
    if ends is not None and veto is not None and veto.busy and ends <= turn.at:
        longest = turn.node.policy.limits.busy
        text = say("hold.busy-too-long", name=container.name, longest=longest, said=veto.said)
        turn.note(NoteKind.WARNING, text, ring, container=container.key)


def hold_for(turn: Turn, ring: Ring, container: Container, text: str) -> None:
    died = not container.running
    again = restarted(ring, container)
    hold = replace(
        hold_on(turn.node, container, turn.at, Cause.EPISODE, ring.episode),
        died=died,
        attempt=Attempt(retry_at=turn.at + wait_before_stop(turn.node, again) if again > 1 and not died else None),
        down=turn.at if died else None,
    )
    if died and (starts := ring.starts.get(container.key, 0)):
        # It died of what cmgr started it into: that start did not work after all.
        code = container.exit.code if container.exit else 0
        hold = failed_start(turn, replace(hold, attempt=Attempt(tries=starts - 1)), say("heal.exited", code=code))
    turn.put_hold(hold)
    turn.note(NoteKind.HOLD, text, ring, container=container.key)


def hold_killed_by_isolated(turn: Turn) -> None:
    """Hold what died of a fault that isolates its chip at once, which opens no episode."""
    if observing(turn.node):
        return
    for isolation in turn.node.isolations.values():
        ring = turn.ring_of(isolation.chip)
        if ring is None or ring.in_episode or isolation.by == "operator":
            continue
        for container in list(on_ring(turn.node, ring)):
            down = container.kept.wanted and not container.running and container.key not in turn.node.holds
            on_it = isolation.chip in container.kept.chips
            if down and on_it and died_of_it(turn.node, ring, container, isolation.since):
                text = say("hold.died-on-isolated", name=container.name, chip=isolation.chip)
                hold_for(turn, ring, container, text)


def hold_left_behind(turn: Turn) -> None:
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
            text = say("hold.left-behind", name=container.name, unit=unit.name)
            turn.tell(container, text, NoteKind.WARNING)


def hold_to_heal(turn: Turn, container: Container, healing: Healing, what: str) -> None:
    """Hold the container that ails, to start it when its wait is over; where it is given up, to tell of it."""
    hold = replace(hold_on(turn.node, container, turn.at, Cause.HEAL), died=not container.running)
    if healing.given_up is not None:
        hold = replace(entered(hold, HoldState.FAILED), attempt=Attempt(error=what))
    elif not container.running:
        hold = replace(hold, attempt=Attempt(retry_at=healing.due))
    turn.put_hold(hold)


def hold_with_group(turn: Turn, container: Container, *, unsure: datetime | None = None) -> None:
    """Hold the container for the round of its group. `unsure`: since when a list has to bear out that it is down."""
    known = turn.node.holds.get(container.key)
    hold = replace(
        hold_on(turn.node, container, turn.at, Cause.GROUP),
        died=not container.running and container.exit is not None and container.exit.by_itself,
        restart_policy=known.restart_policy if known is not None else container.restart_policy,
        down=None if container.running else turn.at,
        unsure=unsure,
    )
    turn.put_hold(hold)


def hold_to_move(turn: Turn, container: Container, where: str, wish: frozenset[ChipId] = frozenset()) -> None:
    """Promise to start it there: with the hold that holds it down, or with a new one for which it is stopped first.

    `wish`: on these chips, which a person has ordered.
    """
    known = turn.node.holds.get(container.key)
    if known is not None and known.is_held_down:
        turn.put_hold(replace(known, wish=wish or known.wish))
        return
    turn.tell(container, say("hold.will-move", name=container.name, where=where))
    hold = replace(hold_on(turn.node, container, turn.at, Cause.MOVE), wish=wish)
    # While that goes back to it, the container has not got its own restart policy yet.
    turn.put_hold(replace(hold, restart_policy=known.restart_policy) if known is not None else hold)


def _adopt(turn: Turn, ring: Ring) -> None:
    """Make what is held to be healed part of the ring's episode, which is the more likely reason."""
    if ring.of_programs:
        return  # Nobody else is held up by those.
    for hold in holds_on(turn.node, ring):
        if hold.cause is not Cause.HEAL or hold.is_theirs or hold.state is HoldState.FAILED:
            continue
        attempt = hold.attempt if hold.attempt.tries else replace(hold.attempt, retry_at=None)
        turn.put_hold(replace(hold, cause=Cause.EPISODE, episode=ring.episode, attempt=attempt))
        _end_healing(turn, hold.key, hold.run)
        turn.note(NoteKind.HOLD, say("hold.was-to-be-healed", name=hold.name), ring, container=hold.key)


def _end_healing(turn: Turn, key: ContainerKey, life: str) -> None:
    healing = turn.node.healings.get(key)
    if healing is not None:
        turn.put_healing(healing.over(life))
