"""Which containers ought to run, which of them do not, and which run and do not serve: what cmgr answers for.

Wanted is what was seen running on chips, or asking for some, in a group, wishing to be healed or asked, what ran so
while its daemon could not be heard and perhaps ended with that, and what is held, until somebody means it to end: a
person who stops, removes or forgets it, or the container itself, by ending with 0 where nothing says that it is a
service.
Where it is not known who ended it, it stays wanted: to tell of one too many is better than to call a machine well on
which a service is down. So it does where its daemon may have ended it, which is no person's wish: then a service that
ends well says 0, too. Of an orchestrator's none is wanted that is down: it makes another.

Running says that a container has its chips, and nothing more: whoever says that all is well asks whether it serves.
"""

from cmgr.model.units import is_stood_for
from cmgr.model.values.chips import UNCLEAR
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import HEALTHY, UNHEALTHY, Container, ContainerKey, Exit
from cmgr.sentences.sentence import say


def is_wanted(known: Container | None, now: Container, *, unseen: bool) -> bool:
    """Return whether a container as it is seen now ought to run; `known` is how it was in the books.

    `unseen`: it is down, and cmgr could see nothing of this life, which its daemon may have ended.
    """
    before = known is not None and known.kept.wanted
    if not now.enabled:
        return False
    if now.owner and not now.running:
        return False  # Its owner starts another in its place.
    if now.running or unseen:
        # A container that a person has forgotten is wanted again in its next life.
        begun = known is None or (known.running, known.run) != (True, now.run)
        # The first read-out says what a share's name means, and it may be down by then.
        asks = bool(now.kept.chips or now.claims - {UNCLEAR})
        return before or (begun and (asks or now.heal is not None or now.ready is not None or bool(now.group)))
    return before and (now.kept.told_before or bool(now.kept.along) or not was_meant(now.exit))


def was_told_before(known: Container | None, now: Container) -> bool:
    """Return whether an earlier life of cmgr saw this end.

    That life knew more of it than the runtime remembers: what a new daemon ends looks like a person's order later on.
    """
    if known is None or known.running or now.running or known.run != now.run:
        return False
    return known.kept.seen is None or known.kept.told_before


def was_meant(end: Exit | None) -> bool:
    """Return whether a life that ended so was meant to end."""
    return end is not None and (end.asked is True or (end.code == 0 and not end.missed and not end.amiss))


def serves(container: Container) -> bool:
    """Return whether it works, as far as anybody can tell."""
    return container.running and not why_not_serving(container)


def is_well(container: Container) -> bool:
    """Return whether it serves and, where it has a check of its own or is asked, has said so."""
    said = container.says_within is None or container.says == HEALTHY
    return serves(container) and said and not container.starting


def why_not_serving(container: Container) -> str:
    """Return in words why a container that runs does not serve, or nothing."""
    if container.frozen:
        return say("container.is-paused")
    if container.kept.unsteady is not None:
        return say("container.dies-soon")
    if container.cut_off:
        begun = say("container.cut-off-begun", name=container.cut_off)
        return say("container.cut-off-gone", name=container.cut_off) if container.orphaned else begun
    if container.kept.barred:
        return say("container.chips-are-barred", chips=sorted(container.kept.barred))
    if container.health == UNHEALTHY:
        return say("container.check-says-unhealthy")
    return say("container.does-not-answer", said=container.kept.said) if container.kept.answer == UNHEALTHY else ""


def idle(node: Node) -> tuple[ContainerKey, ...]:
    """Return the wanted containers that run, or are about to, and do not serve; what is held is told as that.

    A container that is cut off is told on whatever chips, or none: others need what it serves.
    """
    ours = {key for key, hold in node.holds.items() if not hold.is_theirs}
    found = (c for c in node.containers.values() if (c.kept.wanted or _is_left(c)) and c.key not in ours)
    return tuple(sorted(c.key for c in found if (c.running or c.kept.unsteady is not None) and why_not_serving(c)))


def _is_left(container: Container) -> bool:
    ours = container.enabled and not container.owner and container.kept.forgotten != container.run
    return bool(container.cut_off) and ours


def missing(node: Node) -> tuple[ContainerKey, ...]:
    """Return the wanted containers that do not run, as far as the books know."""
    wanted = {key for key, hold in node.holds.items() if not hold.is_theirs}
    wanted |= {key for key, container in node.containers.items() if container.kept.wanted}
    return tuple(key for key in sorted(wanted) if not _runs(node, node.containers.get(key)))


def _runs(node: Node, container: Container | None) -> bool:
    return container is not None and (container.running or is_stood_for(node, container))
