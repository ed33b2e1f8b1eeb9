"""Since when a container that runs does not serve, and when that is over."""

from datetime import datetime

from cmgr.frozen import replace
from cmgr.model.index import unsteady
from cmgr.model.turn import Turn
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import NO_RESTART, Container, full_name
from cmgr.model.values.troubles import TroubleKind
from cmgr.model.wanted import is_well, was_meant
from cmgr.sentences.sentence import say


def tell_end(turn: Turn, known: Container | None, now: Container) -> None:
    """Leave a word of one that has ended well, though nobody had asked for that: perhaps it was to run on."""
    news = known is not None and known.running and known.run == now.run and now.kept.chips
    if news and now.exit is not None and now.exit.code == 0 and now.exit.asked is False and not now.exit.amiss:
        turn.tell(now, say("container.ended-well", name=now.name), NoteKind.RESULT)


def paused_since(turn: Turn, known: Container | None, container: Container) -> datetime | None:
    """Return since when it is paused; None where it is not, and where nobody saw that begin."""
    if not container.frozen:
        return None
    went_on = known is not None and known.kept.seen is not None and not known.frozen
    return turn.at if went_on else known.kept.paused if known is not None else None


def unsteady_since(turn: Turn, known: Container | None, container: Container) -> datetime | None:
    """Return since when its runtime begins one life of it after the other; `calm` ends that."""
    before = known.kept.unsteady if known is not None else None
    if container.restarting:
        return before or turn.at
    if not container.running:
        return None if was_meant(container.exit) else before
    died = known is not None and not known.running and known.exit is not None and known.exit.by_itself
    by_policy = container.restart_policy != NO_RESTART and container.key not in turn.node.holds
    revived = known is not None and container.revived and known.run not in ("", container.run)
    return before or (turn.at if revived or (died and by_policy) else None)


def up_since(turn: Turn, known: Container | None, container: Container) -> datetime | None:
    """Return when it was up, of one that was seen starting in this life."""
    if known is None or container.starting or known.run != container.run:
        return None
    return turn.at if known.starting else known.kept.up


def calm(turn: Turn) -> None:
    """Take note of each container that has run for a while since its runtime restarted it."""
    for container in unsteady(turn.node):
        if (due := steady_at(turn.node, container)) is not None and turn.at >= due:
            turn.put_container(replace(container, kept=replace(container.kept, unsteady=None)))
            found_again(turn, turn.node.containers[container.key])


def found_again(turn: Turn, container: Container) -> None:
    """Tell no longer that a container is lost, or was left as it is, once it is well, or somebody has stopped it."""
    stopped = container.exit is not None and container.exit.asked is True and container.key not in turn.node.holds
    if is_well(container) or stopped:
        turn.end_trouble(TroubleKind.LOST, full_name(container.key, container.name))


def steady_at(node: Node, container: Container) -> datetime | None:
    """Return when an unsteady container has run for so long that its present life counts as one."""
    begins = container.restarting or container.starting
    if container.kept.unsteady is None or not container.running or begins or container.kept.since is None:
        return None
    return max(container.kept.since, container.kept.up or container.kept.since) + node.policy.retry.settle
