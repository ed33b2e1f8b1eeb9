"""Runtimes that nobody looks after: left out of the list for a while, or called gone for good.

Whatever ought to run there, and whatever is held, is kept apart with all that was promised until they are back.
"""

from collections.abc import Collection
from datetime import datetime, timedelta

from cmgr.frozen import replace
from cmgr.model.turn import Turn
from cmgr.model.values.holds import Hold, HoldState, entered
from cmgr.model.values.life import reborn
from cmgr.model.values.node import Node
from cmgr.sentences.sentence import say


def parted(node: Node, runtimes: Collection[str]) -> Node:
    """Return the node with the containers and holds of these runtimes in the books, and those of others kept apart."""
    containers = {**node.kept_containers, **node.containers}
    holds = {**node.kept_holds, **node.holds}
    kept = {k: c for k, c in containers.items() if k.runtime not in runtimes and (c.kept.wanted or k in holds)}
    return replace(
        node,
        containers={k: c for k, c in containers.items() if k.runtime in runtimes},
        holds={k: h for k, h in holds.items() if k.runtime in runtimes},
        kept_containers=kept,
        kept_holds={k: h for k, h in holds.items() if k.runtime not in runtimes},
    )


def take_back(turn: Turn, runtime: str) -> None:
    """Take into the books what was kept of a runtime that is there again. Its list is yet to come."""
    node, settle = turn.node, turn.node.policy.retry.settle
    anew = {k: of_a_new_life(hold, turn.at, settle) for k, hold in node.kept_holds.items() if k.runtime == runtime}
    containers = {k: reborn(c) if k.runtime == runtime else c for k, c in node.kept_containers.items()}
    node = replace(node, kept_containers=containers, kept_holds={**node.kept_holds, **anew})
    turn.node = parted(node, {*node.runtimes, runtime})
    for hold in sorted(anew.values(), key=lambda hold: hold.key):
        turn.tell(hold, say("container.held-again", name=hold.name, runtime=runtime))


def of_a_new_life(hold: Hold, at: datetime, settle: timedelta) -> Hold:
    """Return the hold after a time in which nobody looked after it, and in which the clock may have been set back.

    `settle`: how long one that settles may still take.
    """
    hold, settled = replace(hold, since=min(hold.since, at)), at + settle
    if hold.state is HoldState.SETTLING:
        return replace(hold, attempt=replace(hold.attempt, retry_at=min(hold.attempt.retry_at or settled, settled)))
    hold = reborn(hold)
    attempt = replace(hold.attempt, retry_at=None)
    if hold.is_to_end:
        # Our stop may have been under way: from here on nothing else can be said to have stopped it.
        return replace(entered(hold, HoldState.STOPPING), attempt=replace(attempt, tries=max(attempt.tries, 1)))
    hold = replace(hold, attempt=attempt)
    return entered(hold, HoldState.RETURNING) if hold.is_theirs else hold
