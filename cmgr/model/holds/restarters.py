"""Others who start a container that cmgr has stopped: a person, or something that keeps it running.

A systemd unit, docker compose and scripts start again what ends, a person does not: the first start that comes long
after the stop is a person's, and the container theirs. Any other is an owner's: the container is stopped again, a few
times, for its chip is broken. Then the ring waits, and a person has to stop the owner.

A client that tries again makes another one each time, under another name, and perhaps on another chip: each counts as
one start more on its ring than those had that cmgr has stopped there (`successors`).

An orchestrator (`Container.owner`) makes another one on the same chips instead, a successor, again and again: cmgr
stops the first one, holds nothing, and waits from the second one on.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from cmgr.frozen import replace
from cmgr.model.index import held_on
from cmgr.model.scope import halting, is_to_be_down
from cmgr.model.successors import places_taken
from cmgr.model.turn import Turn
from cmgr.model.values.handling.policy import backed_off
from cmgr.model.values.holds import Hold
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.node import Node, rings_with
from cmgr.model.values.rings import Ring
from cmgr.model.values.services.containers import NO_RESTART, Container, ContainerKey, full_name
from cmgr.sentences.sentence import say

MOST_STOPS = 3
"""How often a container that something starts again is stopped again in an episode."""


MOST_SUCCESSORS = 1
"""How many of those that an orchestrator makes on the same chips are stopped in an episode."""


def _counted_as(container: Container) -> str:
    """Return what stays the same when something starts the container again, or another in its place."""
    chips = ",".join(map(str, sorted(container.kept.chips)))
    return full_name(container.key, f"{container.owner} on {chips}" if container.owner else container.name)


def restarted(ring: Ring, container: Container) -> int:
    """Return how often something else has started the container, or one in its place, in this episode."""
    return ring.restarts.get(_counted_as(container), 0)


def is_fought_for(ring: Ring, container: Container) -> bool:
    """Return whether cmgr has given in to what starts the container again and again."""
    return restarted(ring, container) > _most_stops(container)


def _most_stops(container: Container) -> int:
    return MOST_SUCCESSORS if container.owner else MOST_STOPS


def times_started_again(node: Node, rings: Iterable[Ring], hold: Hold, container: Container) -> int:
    """Return how often something else has started the held container in these rings' episodes, or in its round."""
    group = halting(node, hold.key)
    in_round = group.restarts.get(full_name(hold.key, hold.name), 0) if group is not None else 0
    return max([in_round, *(restarted(ring, container) for ring in rings)])


def wait_before_stop(node: Node, times: int) -> timedelta:
    """Return how long to wait before stopping what was started again that many times."""
    return backed_off(node.policy.retry.backoff, node.policy.retry.backoff_max, times)


def keeps_starting(node: Node, hold: Hold, container: Container, at: datetime) -> bool:
    """Return whether this start of the held container, which is not counted yet, is that of what keeps it running.

    After too many of them in an episode it is taken for a person's.
    """
    rings, group = [ring for ring in rings_with(node, hold.chips) if ring.in_episode], halting(node, hold.key)
    times = times_started_again(node, rings, hold, container) + 1
    soon = hold.down is not None and at - hold.down < node.policy.retry.owner_window
    again = any(restarted(ring, container) for ring in rings) or (group is not None and times > 1)
    return bool(rings or group) and (soon or again) and times <= _most_stops(container)


def count_start(turn: Turn, hold: Hold, container: Container, *, theirs: bool) -> None:
    """Count a start of the held container that is not cmgr's. `theirs`: a person has taken it with that."""
    rings = [_count(turn, ring, container) for ring in turn.rings_of(hold.chips) if ring.in_episode]
    _count_in_round(turn, hold)
    if theirs:
        taken(turn, hold.key)
        for ring in rings:
            turn.put_ring(replace(ring, theirs=ring.theirs | {hold.key}))


def count_stop(turn: Turn, container: Container) -> bool:
    """Count that a container is stopped which its unit has left behind. Return whether it still is: not without end."""
    if any(container.key in ring.theirs for ring in turn.rings_of(container.kept.chips)):
        return False
    counted = [_count(turn, ring, container) for ring in turn.rings_of(container.kept.chips) if ring.in_episode]
    for ring in counted:
        if is_fought_for(ring, container):
            turn.put_ring(replace(ring, theirs=ring.theirs | {container.key}))
    return not any(is_fought_for(ring, container) for ring in counted)


def look_who_started(turn: Turn, known: Container | None, container: Container) -> None:
    """Look at a container that is not held and has begun a life: was it started again, or made in another's place?"""
    if known is not None and known.running and known.run == container.run:
        return
    # Of one that was only made, and has never run, nobody has known. A new one may have ended before it is seen.
    new = bool(container.run) and (known is None or not known.run)
    name, took = full_name(container.key, container.name), new and take_places(turn, container)
    took = took or (new and is_to_be_down(turn.node, container.kept.chips, container, turn.at))
    for ring in turn.rings_of(container.kept.chips) if container.running else ():
        anew = name in ring.lost or bool(container.owner) or took
        # A container that a person has taken back and that is started once more; its own restart policy is no owner.
        once_more = container.key in ring.theirs and name in ring.restarts and container.restart_policy == NO_RESTART
        if not ring.in_episode or not (anew or once_more):
            continue
        _count_one_made(turn, ring, container, _tries(turn.node, ring) if took else 0)


def look_who_uses(turn: Turn, container: Container) -> None:
    """Look at one of which only a process tells which chips it uses: it may have been made in another's place."""
    since = container.kept.since or turn.at
    earlier = any(hold.since <= since for hold in held_on(turn.node, container.kept.chips) if hold.is_held_down)
    if container.key in turn.node.holds or not earlier or not take_places(turn, container):
        return
    for ring in turn.rings_of(container.kept.chips):
        if ring.in_episode:
            _count_one_made(turn, ring, container, _tries(turn.node, ring))


def _tries(node: Node, ring: Ring) -> int:
    """Return the how many-th try of a client on the ring those are, at most, that cmgr has stopped in its episode.

    Those that clients of other chips make at the same time are one try.
    """
    ended = {full_name(hold.key, hold.name) for hold in held_on(node, ring.chips) if hold.stays_down} | ring.lost
    return max((ring.restarts.get(name, 0) for name in ended), default=0)


def _count_one_made(turn: Turn, ring: Ring, container: Container, before: int) -> None:
    name = full_name(container.key, container.name)
    ring = _count(turn, replace(ring, lost=ring.lost - {name}), container, before)
    fought = is_fought_for(ring, container)
    turn.put_ring(replace(ring, theirs=ring.theirs | {container.key} if fought else ring.theirs - {container.key}))


def take_places(turn: Turn, container: Container) -> bool:
    """Let a new one, where it is too many, take the places of held ones. Return whether it did."""
    those = places_taken(turn.node, container)
    former = {key for each in those for key in (each.key, *each.kept.instead_of)} - {container.key}
    if former:
        kept = replace(container.kept, instead_of=container.kept.instead_of | former)
        turn.put_container(replace(container, kept=kept))
    for each in those:
        taken(turn, each.key)
        if each.running:
            text = say("hold.two-on-its-chips", name=container.name, other=each.name)
            turn.tell(container, text, NoteKind.WARNING)
        else:
            turn.tell(container, say("hold.takes-its-place", name=container.name, other=each.name))
    return bool(those)


def _count(turn: Turn, ring: Ring, container: Container, before: int = 0) -> Ring:
    """Count one start more; `before`: so many tries there were on the ring."""
    name = _counted_as(container)
    times = max(ring.restarts.get(name, 0), before) + 1
    return turn.put_ring(replace(ring, restarts={**ring.restarts, name: times}))


def taken(turn: Turn, key: ContainerKey) -> None:
    """Let the round go on without this member: a person has taken it."""
    container = turn.node.containers.get(key)
    group = turn.node.groups.get(container.group) if container is not None else None
    if group is not None and group.in_round:
        turn.put_group(replace(group, members=group.members - {key}, up=group.up - {key}, out=group.out | {key}))


def _count_in_round(turn: Turn, hold: Hold) -> None:
    """Count that something has started a member that its round keeps down."""
    group = halting(turn.node, hold.key)
    if group is not None:
        name = full_name(hold.key, hold.name)
        turn.put_group(replace(group, restarts={**group.restarts, name: group.restarts.get(name, 0) + 1}))
