"""How containers do, as a person or a program reads it: what is wrong, when it is restarted, who was not waited for."""

from collections.abc import Iterator
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING

from cmgr.model.scope import hang_of, holds_on, why_idle
from cmgr.model.sparing import veto_ends
from cmgr.model.values.holds import Cause, Hold
from cmgr.model.values.node import SYSTEMD, Node
from cmgr.model.values.rings import Ring
from cmgr.model.values.services.containers import STARTING, UNHEALTHY, Container, ContainerKey
from cmgr.model.values.services.healing import Healing, ailment, limit_of
from cmgr.model.values.troubles import Trouble, TroubleKind
from cmgr.sentences.sentence import parts, say
from cmgr.view.advice import called, resume_hint, titled
from cmgr.words import stamp, stamp_or_none

if TYPE_CHECKING:
    from cmgr.view import shapes

HURRIED = say("heal.waited-for-busy")
WAIT_LONGER = say("hint.wait-longer")


def heal(node: Node, key: ContainerKey) -> "shapes.Heal | None":
    """Return where the container stands, or None when it does not wish to be healed."""
    container, healing = node.containers.get(key), node.healings.get(key)
    if healing is None and (container is None or container.heal is None):
        return None
    healing = healing or Healing(key)
    return {
        "restarts": len(healing.times),
        "limit": limit_of(node.policy.heal, container.heal if container is not None else None),
        "window_seconds": node.policy.heal.window.total_seconds(),
        "since": stamp_or_none(healing.since),
        "next": stamp_or_none(_next(healing)),
        "given_up": stamp_or_none(healing.given_up),
    }


def health(container: Container | None) -> str:
    """Return what its own check says, its answer, or systemd; nothing while it does not run, and without any."""
    if container is None or not container.running:
        return ""
    return STARTING if container.starting else container.says


def _unchecked(node: Node, container: Container) -> tuple[str, str]:
    """Return that its own check does not run any more, and what to do about that; nothing of any other container."""
    if not container.running or container.unchecked is None:
        return "", ""
    told = say("heal.check-has-not-run", at=stamp(container.unchecked))
    blind = say("heal.sees-the-end-only") if container.heal is not None else ""
    return parts([told, blind]), say("hint.unchecked", name=called(node, container.key))


def troubles(node: Node) -> Iterator[Trouble]:
    """Return the containers whose own check does not run any more, and those that may have lost their chips."""
    # Few have any: these are put in order, and not all.
    found = {key: told for key, container in node.containers.items() if (told := [*_troubles(node, container)])}
    return chain.from_iterable(found[key] for key in sorted(found))


def _troubles(node: Node, container: Container) -> Iterator[Trouble]:
    yield from _reach(node, container)
    why, what = _unchecked(node, container)
    if why and container.enabled:
        text, chips = say("heal.nobody-knows", name=titled(node, container.key)), tuple(sorted(container.kept.chips))
        about, names = "/".join(container.key), (container.name,)
        yield Trouble(TroubleKind.BLIND, about, text, why, what, container.unchecked, chips=chips, containers=names)


def _reach(node: Node, container: Container) -> Iterator[Trouble]:
    """Yield that it may have lost chips; that it has lost some beyond doubt is told by its not serving."""
    doubted = (container.kept.denied | container.kept.lost.keys()) - container.kept.barred
    # Of a unit the containers that it runs are told.
    if not container.running or not container.enabled or not doubted or container.key.runtime == SYSTEMD:
        return
    name, chips = titled(node, container.key), tuple(sorted(doubted))
    if denied := doubted & container.kept.denied:
        text = say("heal.cannot-open", name=name, chips=sorted(denied))
        why = say("heal.rules-have-changed")
        what = say("hint.restart-when-it-suits")
    else:
        began = min(at for chip in chips if (at := container.kept.steady.get(chip)) is not None)
        text = say("heal.has-left", name=name, chips=chips)
        why = say("heal.no-process-there", at=stamp(began))
        what = say("hint.ask-for-work")
    since = min((at for chip in chips if (at := container.kept.lost.get(chip)) is not None), default=None)
    about = "/".join(container.key)
    yield Trouble(TroubleKind.REACH, about, text, why, what, since, chips=chips, containers=(container.name,))


def ails(node: Node, key: ContainerKey) -> Healing | None:
    """Return what is remembered of the container while it ails."""
    healing = node.healings.get(key)
    return healing if healing is not None and healing.ails else None


def of_running(node: Node, container: Container) -> tuple[str, str]:
    """Return what there is to say of the health of a container that runs, and what to type."""
    healing = node.healings.get(container.key)
    if healing is None or not healing.ails:
        spared = healing is not None and healing.spared and healing.life == container.run
        told, what = _unchecked(node, container)
        if container.says != UNHEALTHY:
            return told, what
        mute = say("heal.does-not-answer", said=container.kept.said)
        ill = mute if container.health != UNHEALTHY else say("heal.unhealthy")
        return say("heal.left-by-order", ill=ill) if spared else ill, what
    if healing.given_up is not None:
        return _counted(node, container.key, healing), resume_hint(node, container.key)
    idle = why_idle(node, chips=bool(container.kept.chips))
    return parts([_counted(node, container.key, healing), say("heal.idle", idle=idle) if idle else ""]), ""


def of_held(node: Node, hold: Hold) -> str:
    """Return why a container is held to be healed; nothing of any other."""
    healing = node.healings.get(hold.key)
    return _counted(node, hold.key, healing, hold) if hold.cause is Cause.HEAL and healing is not None else ""


def _counted(node: Node, key: ContainerKey, healing: Healing, hold: Hold | None = None) -> str:
    container = node.containers.get(key)
    hangs = container is not None and hang_of(node, container) is not None
    what = (ailment(container, healing, hangs=hangs) if container is not None else "") or say("heal.unhealthy")
    spent, limit = len(healing.times), limit_of(node.policy.heal, container.heal if container is not None else None)
    window = node.policy.heal.window
    if healing.given_up is not None:
        return say("heal.given-up", what=what, spent=spent, limit=limit, window=window)
    waits = hold is None or (hold.is_down and hold.attempt.tries == 0)
    due = _next(healing) if waits else None
    told = say("heal.restarted", what=what, spent=spent, limit=limit, window=window)
    return say("heal.next-restart", restarted=told, at=stamp(due)) if due else told


def _next(healing: Healing) -> datetime | None:
    """Return when its next restart is due, unless that is under way."""
    return None if healing.counted else healing.due


def hurried(node: Node, ring: Ring) -> Iterator[Trouble]:
    """Yield who is down because he was busy for too long."""
    ends = veto_ends(node, ring)
    late = [h for h in holds_on(node, ring) if ends is not None and h.since >= ends and not h.died and not h.is_theirs]
    busy = [
        h.name
        for h in late
        if (c := node.containers.get(h.key)) is not None and c.kept.veto is not None and c.kept.veto.busy
    ]
    if busy:
        text = say("heal.stopped-while-busy", names=busy)
        yield Trouble(
            TroubleKind.HURRIED, f"ring {ring.id}", text, HURRIED, WAIT_LONGER, ring=ring.id, episode=ring.episode,
            chips=ring.chips, containers=tuple(busy),
        )  # fmt: skip
