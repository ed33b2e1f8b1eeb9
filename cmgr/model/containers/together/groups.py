"""Groups: a stop of one member stops all, and none is started before all can be.

Rules:
1. `couple` looks at what is, not at what happened: a member is held while no round is on, so a round begins.
2. In a round every member is held, whatever its ring; what else keeps one from its start keeps all (`scope`).
3. A round never overrules a container's own wish: one that cmgr must not stop is waited for until its life has ended.
4. A member that a person takes out of a round is theirs, and the others go on. They wait for one that is removed.
"""

from collections.abc import Iterable
from datetime import datetime

from cmgr.frozen import replace
from cmgr.model.containers.healing import begin_anew, confirm
from cmgr.model.containers.together.fleet_group_part import call
from cmgr.model.holds.endings import hand_back
from cmgr.model.holds.making import hold_with_group
from cmgr.model.holds.obstacles import Block, group_obstacle, is_due, own_blocker
from cmgr.model.holds.tries import try_anew
from cmgr.model.scope import (
    blocks_its_group,
    halting,
    handled_faults,
    is_coupled,
    isolated_words,
    members_of,
    observing,
    why_idle,
)
from cmgr.model.turn import Turn
from cmgr.model.values.fleet import FleetGroup, gate, left_out, starts_here
from cmgr.model.values.holds import Cause, Hold, HoldState
from cmgr.model.values.messages.commands import NoteKind
from cmgr.model.values.messages.facts import GroupRestartOrdered, GroupResumeOrdered
from cmgr.model.values.node import Node, is_unsure
from cmgr.model.values.services.containers import Container, ContainerKey, full_name
from cmgr.model.values.services.groups import Group, GroupPhase, over
from cmgr.sentences.sentence import because, say


def couple(turn: Turn) -> None:
    """Let the round of every group go on, and begin one where a member is held."""
    if observing(turn.node):
        return
    held = (turn.node.containers.get(key) for key in turn.node.holds)
    names = {c.group for c in held if c is not None and c.group}
    names |= {name for name in turn.node.fleet_groups if call(turn.node, name) is not None}
    # A member that was left behind is one again as soon as it runs, and not only when its next stop is looked at.
    for name in sorted(names | {g.name for g in turn.node.groups.values() if g.in_round or g.out}):
        _couple(turn, turn.node.groups.get(name) or Group(name))


def _couple(turn: Turn, group: Group) -> None:
    left = group.out & turn.node.containers.keys()
    group = replace(group, out=left if group.in_round else _still_down(turn, left))
    group = _called(turn, group)
    if group.phase is GroupPhase.STARTING:
        group = _starting(turn, group)
    elif group.phase is GroupPhase.RUNNING:
        group = _begun_anew(turn, group)
    if group.phase is GroupPhase.HALTING:
        group = _halting(turn, group)
    if group.in_round or group.name in turn.node.groups:
        turn.put_group(group)


def _called(turn: Turn, group: Group) -> Group:
    """Follow the round that the appliances of the fleet have agreed on, if the members here are not held for it yet."""
    document = call(turn.node, group.name)
    if document is None:
        return group
    if group.phase is GroupPhase.HALTING:
        group = replace(group, round=document.round)
    else:
        cause = say("word.because", what=document.by, why=document.cause)
        group = begin(turn, group, cause, number=document.round)
    known = turn.node.fleet_groups[group.name]
    turn.put_fleet_group(replace(known, held=document.round, alone=False, looked=0))
    if document.ordered and document.by != turn.node.engine.name:
        group = _take_in(turn, group)
    return group


def _still_down(turn: Turn, keys: Iterable[ContainerKey]) -> frozenset[ContainerKey]:
    return frozenset(k for k in keys if (hold := turn.node.holds.get(k)) is not None and hold.is_held_down)


def _begun_anew(turn: Turn, group: Group) -> Group:
    """Begin a round if a member is held that belongs to none."""
    for container in members_of(turn.node, group.name):
        hold = turn.node.holds.get(container.key)
        if hold is None or container.key in group.out | group.members or not is_coupled(turn.node, container):
            continue
        if _stops_all(turn, hold):
            return begin(turn, group, _why_held(turn, hold), hold)
    return group


def _stops_all(turn: Turn, hold: Hold) -> bool:
    """Return whether the others are to be stopped because this one is held."""
    if not hold.is_held_down:
        return False
    if hold.cause is not Cause.HEAL or hold.is_to_end:
        return True
    # It died and is to be healed: perhaps a person had stopped it. The wait and a list have to bear it out first.
    attempt = hold.attempt
    due = attempt.command is None and (attempt.retry_at is None or turn.at >= attempt.retry_at)
    managed = hold.key.runtime in turn.node.runtimes
    return hold.state is not HoldState.FAILED and due and managed and confirm(turn, hold)


def _why_held(turn: Turn, hold: Hold) -> str:
    if hold.cause is Cause.HEAL:
        return say("group.died", name=hold.name) if hold.died else say("group.is-unhealthy", name=hold.name)
    if hold.attempt.tries and hold.attempt.error:
        return say("word.because", what=hold.name, why=hold.attempt.error)
    ring = turn.ring_for(hold.chips)
    faults = handled_faults(turn.node, ring) if ring is not None and hold.episode else []
    isolated = sorted(hold.chips & turn.node.isolations.keys())
    if hold.episode and isolated and not faults:
        return say("group.stops-as-isolated", name=hold.name, why=isolated_words(turn.node, isolated[0]))
    if not hold.episode:
        return say("group.is-held", name=hold.name)
    for fault in faults[:1]:
        what = say("ring.fault-on-chip", code=fault.code, level=fault.level.name, chip=fault.chip)
        return say("group.stops-for", name=hold.name, fault=what)
    order = turn.node.reset_orders.get(ring.id) if ring is not None else None
    return say("group.stops-for-order", name=hold.name, what=order.what if order is not None else "reset")


def begin(turn: Turn, group: Group, cause: str, hold: Hold | None = None, *, number: int = 0) -> Group:
    """Begin a round; one that is on ends with it. `number`: the one that the fleet has given it, if it has."""
    if group.in_round:
        group = over(group, turn.at, "again")
    known = turn.node.fleet_groups.get(group.name)
    if known is not None and not number:
        turn.put_fleet_group(replace(known, held=0, alone=False))  # It is this appliance's own, until all agree.
    number = number or max(group.round, known.round if known is not None else 0) + 1
    ring = turn.ring_for(hold.chips) if hold is not None else None
    turn.note(NoteKind.HOLD, say("group.begins", group=group.name, round=number, cause=cause), ring)
    return Group(
        group.name,
        GroupPhase.HALTING,
        number,
        since=turn.at,
        began=turn.at,
        cause=cause,
        out=_still_down(turn, group.out),
        history=group.history,
    )


def _halting(turn: Turn, group: Group) -> Group:
    for container in members_of(turn.node, group.name):
        if container.key not in group.out and is_coupled(turn.node, container):
            _hold_member(turn, group, container)
    found = members_of(turn.node, group.name)
    keys = frozenset(c.key for c in found if c.key not in group.out and is_coupled(turn.node, c))
    back = {full_name(c.key, c.name) for c in found}
    group = replace(group, members=_still_down(turn, keys), missing=group.missing - back)
    known, obstacle = turn.node.fleet_groups.get(group.name), group_obstacle(turn.node, group, turn.at)
    if not group.members and (known is None or obstacle is None):
        turn.note(NoteKind.HOLD, say("group.over-as-none-is-held", group=group.name, round=group.round))
        return over(group, turn.at, "given back")
    if obstacle is not None:
        if known is not None and starts_here(known) and obstacle.kind is Block.CHIP:
            return _halting(turn, begin(turn, group, obstacle.why))  # The others start by now: all have to stop again.
        return group
    if gate(turn.node.engine, known):
        return group
    turn.note(NoteKind.HOLD, say("group.all-are-down", group=group.name))
    return replace(group, phase=GroupPhase.STARTING, since=turn.at, up=frozenset())


def _hold_member(turn: Turn, group: Group, container: Container) -> None:
    hold = turn.node.holds.get(container.key)
    if container.kept.seen is None or (hold is not None and (hold.is_held_down or hold.attempt.command is not None)):
        return
    if container.running and blocks_its_group(container):
        return
    if not container.running and (hold is not None or not _died_with_it(turn, group, container)):
        return
    hold_with_group(turn, container)
    text = say("group.will-stop", name=container.name, group=group.name)
    turn.tell(container, text if container.running else say("group.died-too", name=container.name, group=group.name))


def _died_with_it(turn: Turn, group: Group, container: Container) -> bool:
    """Return whether it died shortly before the round began, or in it: a member takes the others with it."""
    if (
        container.exit is None
        or not container.exit.by_itself
        or not container.kept.wanted
        or blocks_its_group(container)
    ):
        return False
    began, since = group.began or turn.at, container.kept.since or turn.at
    return since >= began - turn.node.policy.death_window


def _starting(turn: Turn, group: Group) -> Group:
    held = _still_down(turn, group.members)
    for key in sorted(held):
        hold = turn.node.holds[key]
        why = _why_not(turn, group, hold)
        if why:
            return begin(turn, group, why, hold)
    up = group.up | (group.members - held)
    group = _begun_anew(turn, replace(group, up=up) if up != group.up else group)
    if group.phase is GroupPhase.HALTING or held:
        return group
    length = turn.at - (group.began or turn.at)
    turn.note(NoteKind.RESULT, say("group.over", group=group.name, round=group.round, length=length))
    return over(group, turn.at, "resumed" if _still_down(turn, group.out) else "recovered")


def _why_not(turn: Turn, group: Group, hold: Hold) -> str:
    """Return why a member that is yet to be started ends this round; nothing while it may be started."""
    if hold.key in group.up:
        return _why_held(turn, hold)
    if hold.state is HoldState.FAILED and not is_due(hold, turn.at):
        return say("hold.cannot-be-started", name=hold.name, why=hold.attempt.error)
    blocker = own_blocker(turn.node, hold)
    if blocker.kind is not Block.CHIP:
        return ""
    return say("group.cannot-start-any-more", name=hold.name, why=blocker.why)


def why_coupled(turn: Turn, hold: Hold) -> str:
    """Return the reason of a stop or start for the container's group; nothing for any other."""
    container = turn.node.containers.get(hold.key)
    group = turn.node.groups.get(container.group) if container is not None else None
    if group is None or hold.cause is not Cause.GROUP:
        return ""
    return say("group.for-round", round=group.round, group=group.name)


def stops_with_group(turn: Turn, hold: Hold) -> bool | None:
    """Return that a member whose round keeps it down is still to be stopped; None for any other container."""
    return True if halting(turn.node, hold.key) is not None else None


def group_restart_ordered(turn: Turn, fact: GroupRestartOrdered) -> None:
    """Begin a round over all existing members, also those that are down: the order is what entitles."""
    if fact.back:
        _take_back(turn, fact)
        return
    turn.note(NoteKind.ACTION, because(say("group.restart-ordered", who=fact.who, group=fact.group), fact.reason))
    if observing(turn.node):
        turn.note(NoteKind.WARNING, say("group.is-not-restarted", group=fact.group, why=why_idle(turn.node)))
        return
    members = [c for c in members_of(turn.node, fact.group) if is_coupled(turn.node, c) and not blocks_its_group(c)]
    if not members:
        return
    cause = because(say("group.ordered-by", who=fact.who), fact.reason)
    group = begin(turn, turn.node.groups.get(fact.group) or Group(fact.group), cause)
    known, down = turn.node.fleet_groups.get(fact.group), {c.key for c in members if not c.running}
    if known is not None and (known.whole or left_out(known) or known.in_round):
        # The others take it in from now on: it is no longer this appliance's to take back.
        turn.put_fleet_group(replace(turn.node.fleet_groups[fact.group], restart=known.round + 1))
    else:
        group = replace(group, ordered=fact.who, taken=frozenset(down - turn.node.holds.keys()))
    turn.put_group(_halting(turn, _take_in(turn, group)))


def _take_back(turn: Turn, fact: GroupRestartOrdered) -> None:
    """End the round that a person has ordered: who was to be stopped runs on, who was stopped is started again."""
    group = turn.node.groups.get(fact.group)
    if group is None or not group.can_be_taken_back:
        return
    text = say("group.restart-taken-back", who=fact.who, group=group.name, by=group.ordered)
    turn.note(NoteKind.ACTION, text)
    held = [hold for key in sorted(group.members) if (hold := turn.node.holds.get(key)) and hold.cause is Cause.GROUP]
    for hold in held:
        if hold.key in group.taken and hold.is_down:
            hand_back(turn, hold, say("group.was-down-before"))
    left = frozenset(hold.key for hold in held if hold.key in turn.node.holds)
    turn.put_group(over(replace(group, out=group.out | left), turn.at, "taken back"))


def _take_in(turn: Turn, group: Group) -> Group:
    """Take all existing members into the round, also those that are down: a person has ordered it."""
    members = [c for c in members_of(turn.node, group.name) if is_coupled(turn.node, c) and not blocks_its_group(c)]
    for container in members:
        hold = turn.node.holds.get(container.key)
        begin_anew(turn, container.key)
        if hold is not None and hold.is_held_down:
            try_anew(turn, hold)
        elif not container.running and hold is None:
            # Late news may have it as down: all the others are started by its word that it is.
            hold_with_group(turn, container, unsure=turn.at)
            turn.ask_list(container.key.runtime, f"is {container.name} down?", not_older=turn.at)
    return replace(group, out=frozenset())


def group_resume_ordered(turn: Turn, fact: GroupResumeOrdered) -> None:
    """Try again what was given up, and start what can be started now without waiting for the rest.

    In a group over appliances that is about the members here: the other appliances are waited for, unless the order
    says not to.
    """
    group, known = turn.node.groups.get(fact.group), turn.node.fleet_groups.get(fact.group)
    text = say("group.starts-what-it-can", who=fact.who, group=fact.group)
    if fact.without:
        text = say("group.goes-on-without", who=fact.who, group=fact.group, names=sorted(fact.without))
    elif fact.alone:
        text = say("group.starts-alone", who=fact.who, group=fact.group)
    turn.note(NoteKind.ACTION, text)
    if known is not None and fact.without:
        # The round may be over by now: nobody is left out of the next one.
        without = known.without | fact.without if known.in_round else known.without
        turn.put_fleet_group(replace(known, without=without, parts=known.parts - fact.without))
        return
    _try_anew(turn, fact.group)
    if group is not None and group.phase is GroupPhase.HALTING and not observing(turn.node):
        _start_some(turn, group, known, alone=fact.alone)


def _try_anew(turn: Turn, group: str) -> None:
    for container in members_of(turn.node, group):
        hold = turn.node.holds.get(container.key)
        if (
            hold is not None
            and hold.is_held_down
            and (hold.state is HoldState.FAILED or hold.attempt.retry_at is not None)
        ):
            begin_anew(turn, container.key)
            try_anew(turn, hold)


def _start_some(turn: Turn, group: Group, known: FleetGroup | None, *, alone: bool) -> None:
    rest = frozenset(k for k in group.members if not can_start(turn.node, turn.node.holds.get(k)))
    group = replace(group, members=group.members - rest, out=group.out | rest, missing=frozenset())
    if known is not None and alone:
        known = turn.put_fleet_group(replace(known, alone=True))
    if gate(turn.node.engine, known):
        left = {c.key for c in members_of(turn.node, group.name) if c.running and c.key not in group.members}
        group = replace(group, out=group.out | left)
    else:
        group = replace(group, phase=GroupPhase.STARTING, since=turn.at, up=frozenset())
    turn.put_group(group)


def can_start(node: Node, hold: Hold | None) -> bool:
    """Return whether this member can be started now, the others apart."""
    if hold is None or not hold.is_down or is_unsure(node, hold):
        return False
    return own_blocker(node, hold).kind is Block.NOTHING


def forget_groups(turn: Turn) -> None:
    """Forget the groups of which no container is left."""
    known = {c.group for c in turn.node.containers.values()}
    for group in list(turn.node.groups.values()):
        if not group.in_round and group.name not in known and _is_old(group, turn.at):
            turn.drop_group(group.name)


def _is_old(group: Group, at: datetime) -> bool:
    return group.since is None or (at - group.since).total_seconds() > 3600
