"""Covering: what a unit of systemd has from the containers that it runs, and what they have from it.

A unit uses the chips that its containers ask for, and wishes what their labels wish, unless a setting of its own says
something else. All that is remembered while it is down: its next life brings new containers.
"""

from collections.abc import Iterable
from datetime import timedelta

from cmgr.frozen import replace
from cmgr.model.holds.restarters import look_who_started
from cmgr.model.turn import Turn
from cmgr.model.units import has_client_of, is_asked_for, kept_vouches, run_by, unit_key, unit_of, with_client_of
from cmgr.model.values.chips import resolve
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.node import SYSTEMD, Node, chips_of_slots
from cmgr.model.values.services.containers import HEALTHY, STARTING, UNHEALTHY, Container, ContainerKey, Exit
from cmgr.model.wanted import was_meant
from cmgr.sentences.sentence import say

_CLIENTS_END = timedelta(seconds=1)
"""Docker tells of a container's end when its client knows of it already: so much later at most."""


def cover(turn: Turn) -> None:
    """Look at every unit that containers say runs them."""
    theirs: dict[ContainerKey, list[Container]] = {}
    for container in turn.node.containers.values():
        if container.unit:
            theirs.setdefault(unit_key(container.unit), []).append(container)
    for key, containers in theirs.items():
        if any(is_asked_for(turn.node, container) for container in containers) and SYSTEMD in turn.node.runtimes:
            asked = max(c.kept.since or turn.at for c in containers)
            turn.ask_list(SYSTEMD, f"is there a unit {key.id}?", not_older=asked)
        unit = turn.node.containers.get(key)
        if unit is not None:
            its = run_by(turn.node, unit)
            _fit(turn, unit, [c for c in its if c.running])
            _ask_whether_ended(turn, unit, its)


def _fit(turn: Turn, unit: Container, running: list[Container]) -> None:
    """Have the unit be what those are that it runs now; one that is held keeps what it was, too."""
    if not running or not unit.running:
        return
    hold = turn.node.holds.get(unit.key)
    own = replace(unit, claims=unit.claims - unit.kept.covers)
    now = _like(own, running, unit.kept.covers if hold is not None else frozenset())
    used = unit.kept.used | {chip for c in running for chip in c.kept.used}
    chips = resolve(now.claims, turn.node.chips, chips_of_slots(turn.node))[0] | used
    new = not _has_theirs(unit) and _has_theirs(now)
    now = replace(now, kept=replace(now.kept, chips=chips, used=used, wanted=(unit.kept.wanted or new) and now.enabled))
    if now != unit:
        turn.put_container(now)
    if new and hold is None:
        look_who_started(turn, None, turn.node.containers[unit.key])
    if hold is not None and not chips <= hold.chips:
        turn.put_hold(replace(hold, chips=hold.chips | chips))


def _like(unit: Container, those: Iterable[Container], more: frozenset[str] = frozenset()) -> Container:
    """Return the unit with what those claim, besides `more`, and wish."""
    those = sorted(those, key=lambda c: (c.name, c.key))
    covers = more.union(*(c.kept.covers or c.claims for c in those))
    asked = unit.says_within if unit.ready is not None else None
    healths, within = {c.says for c in those}, [asked, *(c.says_within for c in those)]
    return replace(
        unit,
        claims=unit.claims | covers,
        strategy=next((c.strategy for c in those if c.strategy is not None), unit.strategy),
        order=next((c.order for c in those if c.order), unit.order),
        enabled=all(c.enabled for c in those),
        needs_network=any(c.needs_network for c in those),
        group=next((c.group for c in those if c.group), ""),
        group_size=max((c.group_size for c in those), default=0),
        min_chips=max((c.min_chips for c in those), default=0),
        spare=next((c.spare for c in those if c.spare is not None), None),
        heal=next((c.heal for c in those if c.heal is not None), None),
        health=next((word for word in (UNHEALTHY, STARTING, HEALTHY) if word in healths), ""),
        says_within=max((each for each in within if each is not None), default=None),
        kept=replace(
            unit.kept,
            covers=covers,
            denied=frozenset().union(*(c.kept.denied for c in those)),
            lost={chip: at for c in those for chip, at in c.kept.lost.items()},
        ),
    )


def as_remembered(node: Node, told: Container) -> Container:
    """Return a unit as systemd tells of it now with what it has from its containers, which systemd does not know."""
    known = node.containers.get(told.key)
    if told.key.runtime != SYSTEMD or known is None:
        return told
    runs = told.runs if told.running else told.runs or known.runs
    unit = replace(told, runs=runs, vouches=told.vouches | kept_vouches(node, known))
    # Of those that it is found to run just now it takes on what they claim as of any that it begins to run (`_fit`).
    running = [c for c in run_by(node, known) if c.running] if told.running else []
    if running:
        unit = _like(unit, running, known.kept.covers if told.key in node.holds else frozenset())
    elif _has_theirs(known):
        covers, like = known.kept.covers, _like(unit, [known])
        unit = replace(like, claims=unit.claims | covers, health="", kept=replace(like.kept, covers=covers))
    end, same = told.exit, known.run == told.run
    if same and end is not None and end.asked is None and known.kept.ended is not None:
        # The client of a container that was stopped, or died, ends as that did, and says no more.
        end = replace(end, asked=known.kept.ended.asked if _explains(known.kept.ended, unit, end) else None)
    return replace(unit, exit=end, kept=replace(unit.kept, ended=known.kept.ended if same else None))


def _has_theirs(unit: Container) -> bool:
    """Return whether the unit has chips or wishes from containers: the configuration gives a unit no such wishes."""
    return bool(unit.kept.covers or unit.heal is not None or unit.group)


def adopted(turn: Turn, container: Container) -> Container:
    """Return the container with the unit that was found to run it, if there is one and no label names another."""
    if container.unit or container.key.runtime == SYSTEMD or SYSTEMD not in turn.node.runtimes:
        return container
    units = with_client_of(turn.node, container)
    return replace(container, unit=units[0].name) if len(units) == 1 else container


def fit_to_unit(turn: Turn, container: Container, *, begun: bool) -> None:
    """Take note of what a container that was just seen says of its unit, or a unit of its containers.

    `begun`: it has begun a life.
    """
    if container.runs:
        _adopt_those_of(turn, container)
    elif container.unit:
        _told_of_end(turn, container)
    elif begun and SYSTEMD in turn.node.runtimes and container.key.runtime != SYSTEMD:
        turn.ask_list(SYSTEMD, f"which unit runs {container.name}?", not_older=turn.at)


def _adopt_those_of(turn: Turn, unit: Container) -> None:
    """Take note of the containers that the unit was found to run."""
    for container in [c for c in turn.node.containers.values() if has_client_of(unit, c) and not c.unit]:
        found = adopted(turn, container)
        if found.unit and container.key not in turn.node.holds:
            turn.put_container(found)
            text = say("container.run-by-unit", name=found.name, unit=found.unit)
            turn.tell(found, text, NoteKind.RESULT)


def _told_of_end(turn: Turn, container: Container) -> None:
    """Take note for its unit of how a container ended: systemd itself only sees how its client did."""
    unit, hold = unit_of(turn.node, container), turn.node.holds.get(container.key)
    if unit is None or container.running or container.exit is None or container.exit.asked is None:
        return
    if hold is not None and hold.is_held_down:
        return  # It was cmgr that has stopped it.
    if not unit.running and unit.exit is not None and not _explains(container.exit, unit, unit.exit):
        return
    unit, end = replace(unit, kept=replace(unit.kept, ended=container.exit)), unit.exit
    if not unit.running and end is not None and end.asked is None:
        end = replace(end, asked=container.exit.asked)
        unit = replace(unit, exit=end, kept=replace(unit.kept, wanted=unit.kept.wanted and not was_meant(end)))
    turn.put_container(unit)


def _explains(end: Exit, unit: Container, of_unit: Exit) -> bool:
    """Return whether a container's end can be why its unit ended: not if it outlived that, or had ended long before."""
    return -unit.grace - _CLIENTS_END <= end.at - of_unit.at <= _CLIENTS_END


def _ask_whether_ended(turn: Turn, unit: Container, containers: Iterable[Container]) -> None:
    """Have those listed that run still, as far as the books know, though their unit is down."""
    if unit.running or unit.kept.since is None:
        return
    for name in sorted({c.key.runtime for c in containers if c.running} & turn.node.runtimes.keys()):
        listed = turn.node.runtimes[name].listed
        if listed is None or listed < unit.kept.since:
            turn.ask_list(name, f"did what {unit.name} ran end with it?", not_older=unit.kept.since)
