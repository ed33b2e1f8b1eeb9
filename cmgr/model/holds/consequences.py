"""Consequences: what follows from our own stop is no wish of anybody, and goes and comes with the one that was stopped.

A client that ends a whole project when one of its containers ends (`compose up --abort-on-container-exit`) acts within
moments, and so does systemd, which stops with a unit what goes with it. Where compose says `restart: true` it is the
owner's own word that one is restarted with the other. One in the namespaces of another is cut off without that.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from cmgr.frozen import replace
from cmgr.model.holds.making import hold_on
from cmgr.model.holds.tries import put_off
from cmgr.model.index import project_mates
from cmgr.model.scope import observing, strategy_of
from cmgr.model.turn import Turn
from cmgr.model.units import is_covered, unit_key
from cmgr.model.values.handling.policy import Strategy
from cmgr.model.values.holds import Cause, Hold, HoldState
from cmgr.model.values.lookup import Indexed
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.node import SYSTEMD, Node
from cmgr.model.values.services.containers import Container, ContainerKey
from cmgr.sentences.sentence import say

SOON = timedelta(seconds=5)
"""So soon after our stop has worked acts who acts because of it; and a client removes a whole project in that time."""


def ends_along(turn: Turn, known: Container | None, now: Container) -> None:
    """Look whether one that is not held down was told to end because of a stop of ours: it is held with that one then.

    Where no tie can be seen between two of one runtime, it is told, and stays wanted; not where perhaps nobody asked.
    """
    hold, node = turn.node.holds.get(now.key), turn.node
    if known is None or (hold is not None and hold.state not in (HoldState.SETTLING, HoldState.RETURNING)):
        return
    if (told := _told(node, known, now, turn.at)) is not None and _is_news(known, now, told[0]):
        stopped, is_told = [*_stopped(node, told, known)], hold is None and known.kept.wanted
        _ended(turn, node.containers[now.key], stopped, is_told=is_told)


def _ended(turn: Turn, now: Container, stopped: list[Container], *, is_told: bool) -> None:
    asked = now.exit is None or now.exit.asked
    tied = [c for c in stopped if _is_joined(c, now) or (asked and _is_tied(turn.node, c, now))]
    along = tied or [c for c in stopped if asked and c.key.runtime == now.key.runtime]
    if tied and _is_ours(turn.node, now):
        text = say("hold.stopped-along", name=now.name, other=tied[0].name)
        _hold_with(turn, now, frozenset(c.key for c in tied), text)
    elif along and is_told and not _is_others_business(turn.node, now):
        _tell(turn, now, along[0])


def _is_others_business(node: Node, now: Container) -> bool:
    """Return whether it is its owner's, or its unit's, or a person's: its record has come to say so in our stop."""
    persons = now.marked is True and any(now.key in ring.theirs for ring in node.rings.values())
    return persons or bool(now.owner) or is_covered(node, now)


def _tell(turn: Turn, now: Container, first: Container) -> None:
    turn.put_container(replace(now, kept=replace(now.kept, along=first.name, wanted=True)))
    text = say("hold.stopped-by-others", name=now.name, other=first.name)
    turn.note(NoteKind.WARNING, text, turn.ring_for(first.kept.chips), container=now.key)


def _told(node: Node, known: Container, now: Container, at: datetime) -> tuple[datetime, datetime] | None:
    """Return since when and until when somebody else can have told it to end; None where nobody has.

    Podman tells of no order: then an end that looks like one says it. systemd forgets a unit that has ended well.
    """
    if (end := now.exit) is None:
        forgotten = known.key.runtime == SYSTEMD and known.running and not now.running
        return (known.kept.seen or node.alive or at, at) if forgotten else None
    # In its grace podman calls it stopping, and says nothing yet of how it ends. A list may be earlier than that word.
    news = known.running or known.exit is None or known.exit.missed
    unsure = news and end.asked is None and not (end.missed or end.by_itself)
    told = end.told if end.asked else end.at if unsure else None
    return None if told is None else (told, told)


def _is_news(known: Container, now: Container, told: datetime) -> bool:
    """Return whether its end is news, or that somebody else than cmgr had asked for it."""
    unsure = known.run == now.run and (known.exit is None or known.exit.asked is None)
    ours = bool(now.kept.halted) and now.kept.halted[0] <= told <= now.kept.halted[1]
    return known.running or (unsure and not ours)


def _stopped(node: Node, told: tuple[datetime, datetime], known: Container) -> Iterator[Container]:
    """Yield those that cmgr was stopping, or had just stopped, when somebody told another one to end.

    Where it is known when the life of that one (`known`) began: whoever was down before that is another matter.
    """
    began = known.kept.since if known.running else None
    for key, container in sorted(node.containers.items()):
        if key == known.key:
            continue
        hold, halted = node.holds.get(key), container.kept.halted
        if hold is not None and hold.state is HoldState.STOPPING and hold.attempt.told is not None:
            halted = hold.attempt.told, told[1]
        if halted and halted[0] <= told[1] and told[0] <= halted[1] + SOON and (began is None or began <= halted[1]):
            yield container


def _is_tied(node: Node, stopped: Container, other: Container) -> bool:
    """Return whether whoever ends the one with the other can be named otherwise: a project, a group, or systemd."""
    if other in project_mates(node, stopped) or (other.group and other.group == stopped.group):
        return True
    return other.key.runtime == SYSTEMD == stopped.key.runtime and other.name in _taken_by(node, stopped)


def _is_joined(stopped: Container, other: Container) -> bool:
    """Return whether the two share a namespace, as those of a pod of podman's do, which join that of its first one."""
    one, two = ({c.key.id, c.name, *c.joins} for c in (stopped, other))
    return stopped.key.runtime == other.key.runtime and not one.isdisjoint(two)


def _taken_by(node: Node, unit: Container) -> frozenset[str]:
    """Return the units that systemd stops with this one, and those that it stops with these."""
    found, new = frozenset[str](), unit.takes
    while new:
        found |= new
        units = [node.containers[unit_key(name)] for name in new if unit_key(name) in node.containers]
        new = frozenset(name for each in units for name in each.takes) - found
    return found


def _is_ours(node: Node, container: Container) -> bool:
    """Return whether cmgr may stop the container, and start it again.

    One with `--rm` never: its label cmgr.strategy agrees to its loss for its own chips, not for another container.
    """
    left = not container.enabled or container.owner or strategy_of(node, container) is Strategy.NEVER
    managed = container.key.runtime in node.runtimes
    return managed and not left and not container.auto_remove and not is_covered(node, container)


def _hold_with(turn: Turn, container: Container, those: frozenset[ContainerKey], text: str) -> None:
    episode = max((turn.node.holds[key].episode for key in those if key in turn.node.holds), default=0)
    down = None if container.running else turn.at
    hold = hold_on(turn.node, container, turn.at, Cause.EPISODE, episode)
    turn.put_hold(replace(hold, follows=those, down=down))
    chips = frozenset(chip for key in those for chip in turn.node.containers[key].kept.chips)
    turn.note(NoteKind.HOLD, text, turn.ring_for(chips), container=container.key)


def hold_restarted(turn: Turn) -> None:
    """Hold, to stop it, whoever is to be restarted with one that cmgr stops or starts again, chips or not.

    Such are those for which compose says `restart: true`, and those in the namespaces of the one.
    """
    if observing(turn.node):
        return
    for hold in list(turn.node.holds.values()):
        needed = turn.node.containers.get(hold.key)
        if needed is None or not hold.is_held_down:
            continue
        _hold_those_inside(turn, hold, needed)
        if needed.composed is None or hold.died:
            continue
        for mate in project_mates(turn.node, needed):
            held = mate.key in turn.node.holds
            # In another life than that of before its chips or its maker may want it so.
            before = mate.running and mate.kept.since is not None and mate.kept.since < hold.since
            if before and not held and _is_restarted_with(mate, needed) and _is_ours(turn.node, mate):
                text = say("hold.goes-by-depends-on", name=mate.name, other=hold.name)
                _hold_with(turn, mate, frozenset({hold.key}), text)


def _hold_those_inside(turn: Turn, hold: Hold, needed: Container) -> None:
    """Hold whoever runs in its namespaces: of one that is down they are left without network, or without a process.

    Docker starts none of them before the one runs.
    """
    for mate in _inside(turn.node, needed):
        known = turn.node.holds.get(mate.key)
        if known is not None and known.is_held_down and hold.key not in known.follows:
            turn.put_hold(replace(known, follows=known.follows | {hold.key}))
        elif known is None and mate.running and mate.kept.forgotten != mate.run and _is_ours(turn.node, mate):
            text = say("hold.goes-by-namespaces", name=mate.name, other=hold.name)
            _hold_with(turn, mate, frozenset({hold.key}), text)


def _inside(node: Node, container: Container) -> list[Container]:
    """Return the containers that run in namespaces of this one."""
    inside, runtime = _by_joined(node.containers), container.key.runtime
    found = {c.key: c for name in (container.key.id, container.name) for c in inside.get((runtime, name), ())}
    return [found[key] for key in sorted(found.keys() - {container.key})]


def _joined(container: Container) -> Iterator[tuple[str, str]]:
    return ((container.key.runtime, name) for name in container.joins)


_by_joined = Indexed[tuple[str, str], Container](_joined)


def ask_who_is_inside(turn: Turn, container: Container) -> None:
    """Have those looked at that are in its namespaces, for it has begun another life, or is gone: it was not by us.

    By a list, which compares them all.
    """
    if any(mate.running for mate in _inside(turn.node, container)):
        turn.ask_list(container.key.runtime, f"who is in a namespace that {container.name} had?", not_older=turn.at)


def _is_restarted_with(mate: Container, needed: Container) -> bool:
    assert mate.composed is not None
    assert needed.composed is not None
    return any(need.restart and need.service == needed.composed.service for need in mate.composed.needs)


def stops_along(turn: Turn, hold: Hold) -> bool | None:
    """Return that one is still to be stopped whose other is; None for any other container."""
    return True if _held(turn.node, hold) else None


def starts_along(turn: Turn, hold: Hold) -> str | None:
    """Say with whom it is started. Of a container that is not for ever: its own chips may be well."""
    names, until = {other.name for other in _held(turn.node, hold)}, _waits_until(turn.node, hold)
    if hold.key.runtime == SYSTEMD:
        # systemd would start it with this one, also where a person has had it forgotten.
        followed = (c for key in hold.follows - turn.node.holds.keys() if (c := turn.node.containers.get(key)))
        names |= {c.name for c in followed if not c.running}
    waits = names and (until is None or turn.at < until)
    return say("hold.starts-with", name=min(names)) if waits else None


def why_along(turn: Turn, hold: Hold) -> str:
    """Return the reason of a stop or start for another; nothing for any other container."""
    names = sorted(c.name for key in hold.follows if (c := turn.node.containers.get(key)) is not None)
    return say("hold.goes-with", names=names) if names else ""


def wait_for_their_removal(turn: Turn, key: ContainerKey) -> None:
    """This one is gone: let those that went with it wait a moment, for a person perhaps takes all of them down.

    A client that stops a project to remove it looks until then like one that ends it because of our stop. Compose 1
    removes no container that runs again in between.
    """
    for hold in list(turn.node.holds.values()):
        if key in hold.follows and hold.state is HoldState.DOWN and hold.attempt.retry_at is None:
            put_off(turn, hold, turn.at + SOON)


def _held(node: Node, hold: Hold) -> list[Hold]:
    found = (node.holds[key] for key in hold.follows if key in node.holds)
    return [other for other in found if other.is_held_down and other.state is not HoldState.FAILED]


def _waits_until(node: Node, hold: Hold) -> datetime | None:
    # systemd would start with a unit what that needs, however its chips are; and Docker starts nobody before the one
    # whose namespaces it joins.
    container = node.containers.get(hold.key)
    names = {name for key in hold.follows if (c := node.containers.get(key)) is not None for name in (key.id, c.name)}
    waits = hold.key.runtime == SYSTEMD or (container is not None and not names.isdisjoint(container.joins))
    return None if waits else hold.since + node.policy.limits.mercy


def along_times(node: Node) -> Iterator[datetime]:
    """Yield when containers wait no longer for the one that they were stopped with."""
    for hold in node.holds.values():
        if hold.follows and (until := _waits_until(node, hold)) is not None:
            yield until
