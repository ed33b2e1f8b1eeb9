"""Whether the reason that a held container is shown with is the one that cmgr goes by. `World` asks in every walk."""

from datetime import datetime

from cmgr.model.holds.obstacles import Block, start_blocker
from cmgr.model.values.holds import Cause, Hold, HoldState
from cmgr.model.values.node import Node
from cmgr.view.containers import containers
from cmgr.words import joined, one_line

NOTHING = "waits to be started"


def untold(node: Node, at: datetime) -> list[str]:
    """Return the holds that wait for another reason than they have, or for none that they have."""
    wrong = []
    for hold in node.holds.values():
        if not hold.is_down:
            continue
        blocker = start_blocker(node, hold)
        if blocker.kind is not Block.NOTHING and hold.reason != blocker.why:
            wrong.append(f"{hold.name} waits for {blocker.why!r} and has {hold.reason!r}")
        timed = hold.attempt.command is not None or (hold.attempt.retry_at is not None and at < hold.attempt.retry_at)
        if not (hold.reason or hold.state is HoldState.FAILED or timed):
            wrong.append(f"{hold.name} waits, and nothing says for what: {hold}")
    return wrong


def misled(node: Node) -> list[str]:
    """Return the paused containers that are shown with something else than the reason of their hold."""
    waiting = [hold for hold in node.holds.values() if hold.state is HoldState.DOWN]
    shown = {(row["runtime"], row["namespace"], row["id"]): row["reason"] for row in containers(node) if waiting}
    wrong = []
    for hold in waiting:
        told = shown[hold.key.runtime, hold.key.namespace, hold.key.id]
        reason = one_line(joined([hold.reason, hold.short])) or NOTHING
        if hold.reason not in told or (_only_waits(node, hold) and told != reason):
            wrong.append(f"{hold.name} waits for {hold.reason!r} and is shown with {told!r}")
    return wrong


def _only_waits(node: Node, hold: Hold) -> bool:
    """Return whether there is nothing to be shown of it but what it waits for."""
    tried = bool(hold.attempt.tries or hold.attempt.error or hold.sick or hold.cause is Cause.HEAL)
    # Of an isolated chip it is told, too, why the container is not moved away from it.
    return not tried and hold.chips.isdisjoint(node.isolations)
