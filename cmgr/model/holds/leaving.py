"""Leaving the round of a group: a member that a person takes, and one that is removed."""

from cmgr.frozen import replace
from cmgr.model.scope import halting
from cmgr.model.turn import Turn
from cmgr.model.values.holds import Hold
from cmgr.model.values.services.containers import ContainerKey, full_name


def taken(turn: Turn, key: ContainerKey) -> None:
    """Let the round go on without this member: a person has taken it."""
    container = turn.node.containers.get(key)
    group = turn.node.groups.get(container.group) if container is not None else None
    if group is not None and group.in_round:
        turn.put_group(replace(group, members=group.members - {key}, up=group.up - {key}, out=group.out | {key}))


def wait_for_another(turn: Turn, hold: Hold) -> None:
    """Let the round wait for another one of this name: the group is of no use without it.

    A container that its runtime removes at its end (`--rm`) is its owner's to bring back, and nobody waits for it.
    """
    container, group = turn.node.containers.get(hold.key), halting(turn.node, hold.key)
    if group is not None and container is not None and not container.auto_remove:
        turn.put_group(replace(group, missing=group.missing | {full_name(hold.key, hold.name)}))


def count_in_round(turn: Turn, hold: Hold) -> None:
    """Count that something has started a member that its round keeps down."""
    group = halting(turn.node, hold.key)
    if group is not None:
        name = full_name(hold.key, hold.name)
        turn.put_group(replace(group, restarts={**group.restarts, name: group.restarts.get(name, 0) + 1}))
