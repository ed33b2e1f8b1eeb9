"""The making of a hold: the promise for a container as it is."""

from datetime import datetime, timedelta

from cmgr.model.homes import have_met
from cmgr.model.values.holds import Cause, Hold, HoldState
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import Container, ContainerKey

PAUSE_LASTS = timedelta(minutes=1)


def hold_on(node: Node, container: Container, at: datetime, cause: Cause, episode: int = 0) -> Hold:
    """Return the promise for a container as it is: one that runs is to be stopped first."""
    before = node.holds.get(container.key)
    due = before is not None and before.state is HoldState.RETURNING  # Then it runs without its policy.
    return Hold(
        container.key,
        container.name,
        container.chips,
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
    )


def is_to_be_paused(container: Container, at: datetime) -> bool:
    """Return whether it is paused again after its next start: not if it was for a moment, by a backup or a commit.

    Whoever made such a pause takes it back soon, and while the container is down nobody can.
    """
    return container.frozen and (container.paused is None or at - container.paused >= PAUSE_LASTS)


def _beside(node: Node, container: Container) -> frozenset[ContainerKey]:
    """Return those on its chips whose last life and its own have met, as far as the books can tell."""
    others = (other for other in node.containers.values() if other.key != container.key)
    return frozenset(o.key for o in others if not o.chips.isdisjoint(container.chips) and have_met(container, o))
