"""Since when a container that runs does not serve, and when that is over."""

from datetime import datetime

from cmgr.frozen import replace
from cmgr.model.turn import Turn
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import NO_RESTART, Container
from cmgr.model.wanted import was_meant


def unsteady_since(turn: Turn, known: Container | None, container: Container) -> datetime | None:
    """Return since when its runtime begins one life of it after the other; `calm` ends that."""
    before = known.unsteady if known is not None else None
    if container.restarting:
        return before or turn.at
    if not container.running:
        return None if was_meant(container.exit) else before
    died = known is not None and not known.running and known.exit is not None and known.exit.by_itself
    by_policy = container.restart_policy != NO_RESTART and container.key not in turn.node.holds
    return before or (turn.at if died and by_policy else None)


def calm(turn: Turn) -> None:
    """Take note of each container that has run for a while since its runtime restarted it."""
    for container in list(turn.node.containers.values()):
        if (due := steady_at(turn.node, container)) is not None and turn.at >= due:
            turn.put_container(replace(container, unsteady=None))


def steady_at(node: Node, container: Container) -> datetime | None:
    """Return when an unsteady container has run for so long that its present life counts as one."""
    if container.unsteady is None or not container.running or container.restarting or container.since is None:
        return None
    return container.since + node.policy.retry.settle
