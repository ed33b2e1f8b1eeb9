"""Questions that decisions ask of a node: which faults count, who is in scope, what speaks against a chip."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from cmgr.frozen import replace
from cmgr.model.index import held_on, running_in, users_on
from cmgr.model.own_chips import replaced
from cmgr.model.sparing import Obstacle, Users, veto_of, wait_of
from cmgr.model.units import is_covered, is_left_behind, is_of, run_by, unit_of
from cmgr.model.values.chips import ChipId, Process
from cmgr.model.values.faults import PROGRAMS, Fault, FaultClass, FaultCode, Handling, Level, gravest_first
from cmgr.model.values.handling.policy import OnIsolate, ResetPolicy, Strategy
from cmgr.model.values.holds import Cause, Hold, HoldState
from cmgr.model.values.lookup import Indexed, kept
from cmgr.model.values.machine import DRIVER_REPLACED
from cmgr.model.values.node import SYSTEMD, Node, rings_with
from cmgr.model.values.rings import REBOOTING, Phase, Ring, resets_within
from cmgr.model.values.services.containers import HEALTHY, Container, ContainerKey, Exit, is_same_life
from cmgr.model.values.services.groups import Group, GroupPhase
from cmgr.model.values.services.healing import Hang, Healing, ailment
from cmgr.model.values.standing import ResetOrder
from cmgr.sentences.sentence import say
from cmgr.words import stamp


def active_faults(node: Node, chip: ChipId) -> list[Fault]:
    """Return the chip's active faults, gravest first."""
    return gravest_first(node.faults.get(chip, {}).values())


def grave_faults(node: Node, chip: ChipId) -> list[Fault]:
    """Return the active faults that speak against the chip."""
    known, least = node.faults.get(chip, {}).values(), Level.RestartRequest  # A storm leaves many that do not.
    return gravest_first(f for f in known if f.level >= least and not f.spares_others)


def blocking_faults(node: Node, chip: ChipId) -> list[Fault]:
    """Return those of them that keep cmgr from starting anything on the chip."""
    return [f for f in grave_faults(node, chip) if not node.policy.levels[f.level].observe]


def pre_isolating(node: Node, chip: ChipId) -> Mapping[FaultCode, datetime]:
    """Return the codes for which nothing new is to be started on the chip, and since when."""
    since = {f.code: f.risen for f in active_faults(node, chip) if f.handling.pre_isolates}
    raised = {t.code: r.since for t in node.tallies.values() if t.chip == chip and (r := t.pre_isolating) is not None}
    for fault in node.machine_faults.values():
        if fault.pre_isolates:
            since[fault.code] = min(since.get(fault.code, fault.since), fault.since)
    return dict(sorted({**since, **raised}.items()))


def dead_link(node: Node, chip: ChipId) -> FaultCode | None:
    """Return the fault for which nothing that needs the network can work on the chip; None when its link is well."""
    down = {f.code for f in active_faults(node, chip) if f.handling is not Handling.SubHealthFault}
    down |= {code for code in pre_isolating(node, chip) if (chip, code) in node.tallies}
    return min((code for code in down if node.catalog.class_of(code) is FaultClass.NETWORK), default=None)


def over_for(node: Node, chip: ChipId, code: FaultCode) -> str:
    """Return in words that the chip is without a fault which a rule holds against it still; nothing while it has it."""
    tally = node.tallies.get((chip, code))
    if tally is None or tally.recovered is None:
        return ""
    since = stamp(tally.recovered)
    if tally.due is None:
        return say("chip.over-since", since=since)
    return say("chip.over-believed", since=since, until=stamp(tally.due))


def handles(node: Node, fault: Fault) -> bool:
    """Return whether a fault of this level opens an episode, if its chip is not isolated."""
    return fault.level.handled and not node.policy.levels[fault.level].observe


def handled_faults(node: Node, ring: Ring) -> list[Fault]:
    """Return the faults that make or keep an episode: active, of a handled level, on a chip not isolated."""
    if not any(map(node.faults.get, ring.chips)):
        return []
    return gravest_first(
        fault
        for chip in ring.chips
        if chip not in node.isolations and chip in node.faults
        for fault in node.faults[chip].values()
        if handles(node, fault)
    )


def used_chips(node: Node, ring: Ring) -> tuple[ChipId, ...]:
    """Return the chips of the ring that are not isolated."""
    return tuple(c for c in ring.chips if c not in node.isolations)


def is_spent(node: Node, ring: Ring, at: datetime) -> bool:
    """Return whether the ring's budget of resets is used up."""
    policy = node.policy.reset
    return len(resets_within(ring, at, policy.window)) >= policy.attempts


def spent_words(policy: ResetPolicy) -> str:
    """Return in words that the budget is used up."""
    return say("chip.resets-spent", count=policy.attempts, window=policy.window)


def stop_due(node: Node, fault: Fault) -> datetime | None:
    """Return when the containers of this fault are to be stopped, or None when never."""
    policy = node.policy.levels[fault.level]
    return fault.risen + policy.stop_after if policy.stop else None


def hang_of(node: Node, container: Container) -> Hang | None:
    """Return that the container hangs, unless a check of its own knows better, or would if it still ran.

    A unit hangs as those that it runs.
    """
    if container.key.runtime == SYSTEMD:
        its = sorted(run_by(node, container), key=lambda c: c.key) if container.running and node.hangs else ()
        found = (hang_of(node, c) for c in its if c.key in node.hangs)
        return next((hang for hang in found if hang is not None), None)
    hang = node.hangs.get(container.key)
    if hang is None or not container.running or hang.run != container.run:
        return None
    knows_better = container.says in (HEALTHY, "starting") or container.unchecked is not None
    return None if knows_better else hang


def observing(node: Node) -> bool:
    """Return whether cmgr decides and records everything about chips and does nothing."""
    return bool(why_idle(node))


def why_idle(node: Node, *, chips: bool = True) -> str:
    """Return why cmgr does nothing, in words; nothing when it acts. `chips`: for what uses any."""
    if node.maintenance is not None:
        return node.maintenance.words
    if node.policy.observe:
        return say("ring.only-observes")
    replaced = node.machine_faults.get((DRIVER_REPLACED, ""))
    halts = chips and replaced is not None and replaced.pre_isolates
    return say("ring.driver-updated") if halts else ""


class Scope(NamedTuple):
    """The chips of a ring whose users are to be down now: for a fault that is due, or because they are isolated.

    `mates`: nobody refuses to go, so that healthy ring mates are stopped, too. `whose`: those who are to be down for
    faults that spare others.
    """

    faulty: frozenset[ChipId]
    isolated: frozenset[ChipId]
    mates: bool = True
    whose: frozenset[str] = frozenset()


def widest_scope(node: Node, ring: Ring, at: datetime) -> Scope:
    """Return who is to be down if nobody refuses to go."""
    due = [f for f in handled_faults(node, ring) if (time := stop_due(node, f)) is not None and time <= at]
    scope = scope_for(node, ring, due if shut(node, ring, due, at) is None else [])
    # Of chips that failed their test no fault may be left: who has come since is in the way of the next reset.
    return scope._replace(faulty=scope.faulty | (ring.failed.keys() - node.isolations.keys()))


def scope_for(node: Node, ring: Ring, faults: Iterable[Fault]) -> Scope:
    """Return who is to be down for these faults if nobody refuses to go."""
    faulty, whose = set[ChipId](), set[str]()
    for fault in faults:
        if fault.spares_others:
            whose.update(fault.whose or ())
        else:
            faulty.add(fault.chip)
    stop = node.policy.isolation.on_isolate is OnIsolate.STOP
    isolated = frozenset(c for c in ring.chips if stop and c in node.isolations)
    return Scope(frozenset(faulty), isolated, whose=frozenset(whose))


def scope_of(node: Node, ring: Ring, at: datetime) -> Scope:
    """Return who is to be down now: healthy ring mates only where the books know of nobody who refuses."""
    scope = widest_scope(node, ring, at)
    shuts = bool(scope.faulty) and (ring.spared is not None or bool(refuser(node, ring, scope)))
    return scope._replace(mates=not shuts)


def refuser(node: Node, ring: Ring, scope: Scope) -> str:
    """Return who on the ring does not go for its reset, as far as the books know, or nothing. No list is waited for."""
    for container in (*on_ring(node, ring), *unclear_users(node, ring.chips)):
        if container.running and _stays(node, ring, container, scope):
            return container.name
    if ring.phase is Phase.WAITING and ring.read is None and ring.silent is None:
        return say("ring.not-known-yet")  # After a restart of cmgr: the mates are perhaps given back.
    for chip in ring.chips:
        for process, inside in users_listed(node, chip):
            # A process of which no container is known can be of one that is stopped with the others.
            unknown = inside is None and (process.container or not _may_be_used(node, ring, chip))
            if unknown or (inside is not None and inside.ignored):
                return say("ring.process-on", pid=process.pid, name=process.name or "?", chip=chip)
    return ""


def _may_be_used(node: Node, ring: Ring, chip: ChipId) -> bool:
    """Return whether a container that is to be down for the ring can have been on the chip when that was read."""
    for container in users_on(node, (chip,)):
        hold = node.holds.get(container.key)
        ended = hold.down if hold is not None else None
        read_since = ended is not None and ring.read is not None and ring.read >= ended
        if container.running or (hold is not None and not read_since):
            return True
    return False


def _stays(node: Node, ring: Ring, container: Container, scope: Scope) -> bool:
    """Return whether a running container is not stopped with the whole ring either."""
    hold = node.holds.get(container.key)
    if hold is not None and hold.is_held_down:
        return False
    if is_covered(node, container) or is_left_behind(node, container):
        return False  # It goes with its unit.
    return container.unclear or not in_scope(node, ring, container, scope._replace(mates=True))


def shut(node: Node, ring: Ring, faults: Sequence[Fault], at: datetime) -> Obstacle | None:
    """Return what spares those who run on the ring: a window that is closed, or that they use it, or are busy.

    None for nothing. A window or use spares none once a container of the ring is down for its faults, be it that it
    died of them, or that it was stopped when a window was open. Of several faults the first to be free counts.
    """
    spares = [wait_of(node, ring, fault, at, _in_use) for fault in faults]
    if any(spares) and _has_down(node, ring, faults):
        spares = [None] * len(faults)
    found = zip(spares, faults, strict=True)
    waits = [wait or veto_of(node, ring, f, at, asked_if_busy(node, ring, f)) for wait, f in found]
    told = [wait for wait in waits if wait is not None]
    if not told or len(told) < len(faults):
        return None
    return min(told, key=lambda wait: (not wait.vetoes, wait.until is None, wait.until))


def asked_if_busy(node: Node, ring: Ring, fault: Fault) -> list[Container]:
    """Return those who are asked whether they are busy before anybody is stopped for the fault.

    Those on the whole ring, which cannot be reset while they run, and the members of their groups; nobody any more once
    somebody was stopped.
    """
    if not any_busy(node.containers) or observing(node) or _has_stopped(node, ring):
        return []
    scope, whole = scope_for(node, ring, [fault]), replace(ring, widened=True)
    goes = [c for c in on_ring(node, ring) if in_scope(node, whole, unit_of(node, c) or c, scope)]
    mates = (mate for c in goes if is_coupled(node, c) for mate in in_group(node, c.group))
    found = {c.key: c for c in (*goes, *mates) if c.busy and c.can_answer}
    return list(found.values())


@kept
def any_busy(containers: Mapping[ContainerKey, Container]) -> bool:
    """Return whether any container wishes to be asked whether it is busy."""
    return any(c.busy for c in containers.values())


def _has_stopped(node: Node, ring: Ring) -> bool:
    """Return whether cmgr has stopped somebody for the ring's episode, which goes on then."""
    mine = (hold for hold in holds_on(node, ring) if ring.in_episode and hold.episode == ring.episode)
    return any(hold.is_held_down and not hold.died and hold.cause is Cause.EPISODE for hold in mine)


def _in_use(node: Node, ring: Ring) -> Users:
    found = [c.name for c in (*on_ring(node, ring), *unclear_users(node, ring.chips)) if c.running]
    processes = (process for chip in ring.chips for process, _ in users_listed(node, chip))
    return Users(found, [say("ring.process", pid=process.pid, name=process.name or "?") for process in processes])


def _has_down(node: Node, ring: Ring, faults: Sequence[Fault]) -> bool:
    since, bad = min(f.risen for f in faults), {f.chip for f in faults}
    for hold in holds_on(node, ring):
        is_down = hold.state in (HoldState.STOPPING, HoldState.DOWN, HoldState.STARTING)
        ours = (ring.in_episode and hold.episode == ring.episode) or not bad.isdisjoint(hold.chips)
        if ours and is_down and hold.cause is Cause.EPISODE and hold.chips.isdisjoint(node.isolations):
            return True
    down = (c for c in on_ring(node, ring) if c.kept.wanted and not c.running and c.key not in node.holds)
    return any(_was_close(node, ring, container) and died_of_it(node, ring, container, since) for container in down)


def strategy_of(node: Node, container: Container) -> Strategy:
    return container.strategy or node.policy.strategy


def on_ring(node: Node, ring: Ring) -> Iterator[Container]:
    """Yield the containers in the books that use any chip of the ring, running or not, by name."""
    yield from sorted(users_on(node, ring.chips), key=lambda c: (c.name, c.key))


def unclear_users(node: Node, chips: Iterable[ChipId]) -> list[Container]:
    """Return the running containers of which nobody knows whether they use one of these chips, by name.

    Whose process the driver lists is a user like any other, and where it lists none of theirs they use none.
    """
    if not any((report := node.reports.get(chip)) is not None and report.blind for chip in chips):
        return []
    return list(all_unclear(node.containers))


@kept
def all_unclear(containers: Mapping[ContainerKey, Container]) -> Sequence[Container]:
    """Return those of whose chips nobody knows which they use, by name."""
    return sorted((c for c in containers.values() if c.unclear), key=lambda c: (c.name, c.key))


def users_listed(node: Node, chip: ChipId) -> list[tuple[Process, Container | None]]:
    """Return the processes that the driver lists on the chip and that keep it from a reset, each with its container.

    Whether one that does not exist any more keeps it from that, only its driver can say.
    """
    report = node.reports.get(chip)
    found = [p for p in report.processes if not p.yields and not p.gone] if report is not None else []
    return [(process, next(reversed(running_in(node, process)), None)) for process in found]


def is_spared(node: Node, container: Container) -> bool:
    """Return whether cmgr would stop it but for this: a stop would remove it, and nothing of its own agrees to that."""
    removed = container.auto_remove and container.strategy is None and unit_of(node, container) is None
    return removed and container.enabled and node.policy.strategy is not Strategy.NEVER


def in_scope(node: Node, ring: Ring, container: Container, scope: Scope) -> bool:
    """Return whether the scope means that cmgr stops this container of the ring."""
    if not container.enabled or container.key in ring.theirs or is_covered(node, container):
        return False
    if is_left_behind(node, container):
        return False  # It is stopped whatever the scope (`holds.keeping`), once it is sure that it has not ended.
    if container.auto_remove and container.strategy is None:
        return False  # Its runtime would remove it when it is stopped.
    if is_cleared_by_order(node, ring):
        return True
    strategy = strategy_of(node, container)
    if strategy is Strategy.NEVER:
        return False
    if not scope.isolated.isdisjoint(container.kept.chips):
        return True
    # Isolation is of one chip: it never reaches the ring mates, whatever the strategy.
    whole_ring = scope.mates and (strategy is Strategy.RING or ring.widened)
    if bool(scope.faulty) and (whole_ring or not scope.faulty.isdisjoint(container.kept.chips)):
        return True
    return bool(scope.whose) and is_of(node, container, scope.whose)


def whose_words(node: Node, fault: Fault) -> str:
    """Say whom a fault of a program concerns; nothing where it is none, or there is nobody to spare."""
    if fault.level not in PROGRAMS:
        return ""
    users = [c for c in users_on(node, (fault.chip,)) if c.running and not is_covered(node, c)]
    if fault.spares_others and fault.whose is not None:
        names = sorted(c.name for c in users if is_of(node, c, fault.whose))
        return say("fault.came-of", names=names) if names else say("fault.came-of-nobody")
    return say("fault.concerns-all") if fault.momentary and len(users) > 1 else ""


def is_to_be_down(node: Node, chips: frozenset[ChipId], container: Container, at: datetime) -> bool:
    """Return whether the container is in the scope of an episode of any of these chips."""
    rings = (ring for ring in rings_with(node, chips) if ring.in_episode)
    return any(in_scope(node, ring, container, scope_of(node, ring, at)) for ring in rings)


def died_of_it(node: Node, ring: Ring, container: Container, since: datetime | None) -> bool:
    """Return whether the container, which is down, counts as killed by what the ring's episode is about.

    `since`: when that began.
    """
    mine = container.enabled and container.key not in ring.theirs
    if not mine or strategy_of(node, container) is Strategy.NEVER or is_covered(node, container):
        return False
    if container.exit is None or since is None:
        return False
    with_daemon = container.kept.wanted and ended_with_daemon(node, container.key, container.exit)
    if not container.exit.by_itself and not with_daemon:
        return False
    if container.kept.seen is None:
        return False  # The last life's knowledge is perhaps long out of date.
    if container.owner or replaced(node, container):
        return False  # Somebody has started another in its place, or will.
    if container.kept.forgotten and is_same_life(container.run, container.kept.forgotten):
        return False  # Whatever faults follow, a person wants it left as it is.
    if ring.id in node.reset_orders and not handled_faults(node, ring):
        return False  # A person wanted the reset: there is no fault to die of.
    # The runtime's clock may be ahead of ours: nobody dies after cmgr was told of it.
    at = min(container.exit.at, container.kept.since or container.exit.at)
    if at < since and not _was_close(node, ring, container):
        return False
    return at >= since - node.policy.death_window


def ended_with_daemon(node: Node, key: ContainerKey, end: Exit) -> bool:
    """Return whether it ended as its runtime's daemon went or came, in this life of cmgr: nobody can have asked."""
    state = node.runtimes.get(key.runtime)
    came_up = state.restarted if state is not None else None
    return end.missed and end.asked is None and came_up is not None and end.at <= came_up


def _was_close(node: Node, ring: Ring, container: Container) -> bool:
    """Return whether a fault of the ring can have killed the container before it was told: it is on a bad chip.

    A container that is stopped with its whole ring needs all of it, and dies with any of it.
    """
    bad = {f.chip for f in handled_faults(node, ring)} | {c for c in ring.chips if c in node.isolations}
    return strategy_of(node, container) is Strategy.RING or ring.widened or not bad.isdisjoint(container.kept.chips)


def waiting_order(node: Node, ring: Ring) -> ResetOrder | None:
    """Return the ordered reset of the ring that has not begun, and can be taken back."""
    order = node.reset_orders.get(ring.id)
    return None if order is None or order.done or ring.phase in REBOOTING else order


def is_cleared_by_order(node: Node, ring: Ring) -> bool:
    """Return whether a person wants the whole ring empty for a reset that is still to be made or verified."""
    order = node.reset_orders.get(ring.id)
    return order is not None and order.stop and ring.phase is not Phase.RESUMING


def holds_on(node: Node, ring: Ring) -> list[Hold]:
    """Return the holds that the ring's episode is about: one of a runtime that is not managed any more is not."""
    found = (h for h in held_on(node, ring.chips) if h.key.runtime in node.runtimes)
    return sorted(found, key=lambda h: (h.name, h.key))


def members_of(node: Node, group: str) -> list[Container]:
    """Return the containers in the books that are members of the group, by name; units in the place of theirs."""
    found = (c for c in in_group(node, group) if unit_of(node, c) is None)
    return sorted(found, key=lambda c: (c.name, c.key))


def in_group(node: Node, group: str) -> Sequence[Container]:
    """Return those that say that they belong to the group, the units that run some of them included."""
    return _by_group(node.containers).get(group, ())


_by_group = Indexed[str, Container](lambda container: (container.group,) if container.group else ())


def is_coupled(node: Node, container: Container) -> bool:
    """Return whether cmgr stops and starts the container together with its group."""
    managed = container.key.runtime in node.runtimes
    return (
        bool(container.group) and container.enabled and managed and strategy_of(node, container) is not Strategy.NEVER
    )


def blocks_its_group(container: Container) -> bool:
    """Return whether cmgr must not stop the container for others: a stop would remove it."""
    return container.auto_remove


def held_keys(node: Node) -> set[ContainerKey]:
    """Return the containers that have a hold, but for those that run again."""
    return {key for key, hold in node.holds.items() if not hold.runs}


def in_round(node: Node, key: ContainerKey) -> Group | None:
    """Return the group of whose round the container is a member."""
    container = node.containers.get(key)
    group = node.groups.get(container.group) if container is not None and container.group else None
    return group if group is not None and group.in_round and key in group.members else None


def halting(node: Node, key: ContainerKey) -> Group | None:
    """Return the group whose round keeps this member down."""
    group = in_round(node, key)
    return group if group is not None and group.phase is GroupPhase.HALTING else None


def isolated_words(node: Node, chip: ChipId) -> str:
    return say("chip.is-isolated", chip=chip, reason=node.isolations[chip].reason)


def chip_blocker(node: Node, chip: ChipId) -> str:
    """Return in words what keeps everybody from being started on the chip, or nothing."""
    known = node.chips.get(chip)
    if known is None:
        called = node.missing[chip].title if chip in node.missing else say("chip.number", chip=chip)
        return say("chip.not-there", chip=called)
    ring = node.rings[known.ring]
    busy = ring.keeps_others and ring.phase is not Phase.RESUMING and ring.spared is None
    if chip not in node.isolations and busy:
        return say("chip.in-episode", ring=ring.id, phase=str(ring.phase))
    return chip_words(node, chip, blocking_faults(node, chip))


def chip_words(node: Node, chip: ChipId, faults: Sequence[Fault]) -> str:
    """Return in words what speaks against the chip, of these faults the first; or nothing."""
    if chip in node.isolations:
        return isolated_words(node, chip)
    if chip in node.down and chip in node.chips:
        return say("chip.not-come-up", chip=chip)
    if chip in node.chips and (words := node.rings[node.chips[chip].ring].failed.get(chip)):
        return say("chip.has-failed-test", chip=chip, words=words)
    return say("chip.has-fault", chip=chip, code=faults[0].code, level=faults[0].level.name) if faults else ""


def is_ill(node: Node, container: Container) -> bool:
    """Return whether a running container that is held to be healed still needs that."""
    return bool(ailment(container, Healing(container.key), hangs=hang_of(node, container) is not None))
