"""The one function that decides: `reduce(node, event) -> (node, commands)`.

News may be lost, come twice, or in another order; the end is the same state, for these reasons:

- A fact is taken into the books, and no more (`_take_in`). The consequences are read off the books (`_settle`),
  whatever the fact was, and looking again where nothing is new changes nothing. So a second time adds nothing, and
  faults that come together can be decided on together.
- News counts as of the time when it was true, or for the life of a container that it names. Where the books are newer
  they are kept. So the order does not matter.
- What an event tells, a list or a read-out tells too: whole, and as of the moment when it was asked for (`not_older`).
  Sweeps over the chips and resyncs ask for them. So a lost event costs time, and no more.
- Each command has one answer. A new life asks again for what was under way; a reset, which is not safe to repeat, it
  does not: the ring looks what became of it (`AFTER_RESTART`).
- Steps lead forward only, along the edges of rings, until none can go on.
- What nobody asks for changes nothing: then it is not even looked (`until`).
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import assert_never

from cmgr.frozen import replace
from cmgr.model.containers.absent import of_a_new_life, parted
from cmgr.model.containers.answering import answered
from cmgr.model.containers.container_news import concerns_nobody, container_told, containers_listed, runtime_told
from cmgr.model.containers.fleet_groups import fleet_told, look_at_agreements
from cmgr.model.containers.forms import FORMS
from cmgr.model.containers.healing import hangs_seen, tend
from cmgr.model.containers.moving.cdi import cdi_written, write_files
from cmgr.model.containers.moving.moves import lapse, move
from cmgr.model.containers.moving.placing import place
from cmgr.model.containers.outages import count_outages
from cmgr.model.containers.reach import look_who_is_there, rules_read
from cmgr.model.containers.steadiness import calm, steady_at
from cmgr.model.containers.together.fleet_group_part import agree
from cmgr.model.containers.together.groups import couple, forget_groups
from cmgr.model.containers.together.ordering import order_times
from cmgr.model.containers.unit_containers import cover
from cmgr.model.containers.users import users_seen
from cmgr.model.faults.arrivals import (
    chips_listed,
    find_pieces,
    is_numbered_anew,
    look_who_came,
    refitted,
    stragglers_seen,
)
from cmgr.model.faults.isolation import release_at, release_due
from cmgr.model.faults.machine import (
    lapse_machine,
    machine_lapses,
    machine_restarted,
    machine_told,
    relevel_machine,
)
from cmgr.model.faults.occurrences import escalate, fault_reported, forget_old, relevel
from cmgr.model.faults.readings import read_needed, ring_read
from cmgr.model.faults.reports import lapse_reports, lapses
from cmgr.model.holds.answers import container_started, container_stopped, restart_policy_set
from cmgr.model.holds.consequences import along_times, hold_restarted
from cmgr.model.holds.keeping import keep, look_after
from cmgr.model.holds.settling import output_read
from cmgr.model.index import unsteady
from cmgr.model.maintenance import calendar_read, maintenance_due
from cmgr.model.numbers import chips_meant
from cmgr.model.orders import after_restart, ordered
from cmgr.model.recovery.answered import OfResets, order_answered
from cmgr.model.recovery.drills import begin_drills, fault_pretended
from cmgr.model.recovery.mercy import mercy_at
from cmgr.model.recovery.ordered_resets import lapse_orders
from cmgr.model.recovery.reboots import look_at_reboot, machine_booted, reboot_times
from cmgr.model.recovery.recovery import advance
from cmgr.model.recovery.resetting import await_tardy, refused, reset_done, verify
from cmgr.model.recovery.restraint import let_go
from cmgr.model.recovery.shares import shares_read
from cmgr.model.scope import handled_faults
from cmgr.model.sparing import veto_ends
from cmgr.model.turn import Turn
from cmgr.model.values.chips import Chip, rings_of, with_shares
from cmgr.model.values.faults import Fault, Isolation
from cmgr.model.values.fleet import Engine
from cmgr.model.values.handling.policy import Policy
from cmgr.model.values.life import reborn
from cmgr.model.values.messages.commands import Command, Note, NoteKind
from cmgr.model.values.messages.facts import (
    CalendarRead,
    CdiWritten,
    ChipsListed,
    ContainerRemoved,
    ContainerSeen,
    ContainersListed,
    ContainerStarted,
    ContainerStopped,
    Event,
    Fact,
    FaultPretended,
    FaultReported,
    MachineTold,
    Ordered,
    OutputRead,
    ReadNeeded,
    Reconfigured,
    Remarked,
    Restarted,
    RestartPolicySet,
    Resync,
    RingRead,
    RuntimeDown,
    RuntimeFound,
    RuntimeUp,
    Tick,
    TroubleMet,
)
from cmgr.model.values.messages.fleet_facts import FleetTold
from cmgr.model.values.messages.health_facts import Answered, BusySaid, HangsSeen, HealthTold, RulesRead
from cmgr.model.values.messages.piece_facts import StragglersSeen
from cmgr.model.values.messages.reset_facts import ResetDone
from cmgr.model.values.node import CdiState, ChipFaults, Node, RuntimeState, chips_of_slots
from cmgr.model.values.rings import AFTER_RESTART, Phase, Ring, resets_within
from cmgr.model.values.services.containers import Kept
from cmgr.model.values.services.outages import Outage
from cmgr.sentences.sentence import say

MOST_ROUNDS = 16
"""Steps lead forward only, so they come to an end; should that be wrong, the next event goes on."""


def reduce(node: Node, *events: Event, until: datetime | None = None) -> tuple[Node, tuple[Command, ...]]:
    """Return the node after the events, one or more, and what must now be done. Total: it raises nothing.

    `until`: the `next_deadline` of this very node, where that is known. It changes nothing but what this costs.
    """
    turn = Turn(node, events[0].at)
    for event in events:
        turn.at = event.at
        maintenance_due(turn)
        _take_in(turn, event.fact)
    if until is None or turn.at >= until or turn.commands or not concerns_nobody(node, turn.node):
        _settle(turn)
    count_outages(turn, node)
    return turn.node, tuple(turn.commands)


def decided_together(events: Sequence[Event]) -> Iterator[Sequence[Event]]:
    """Yield the events in order: faults that follow each other as one, and each of all others alone.

    Two thirds of what a fault costs is to look what follows from it, and in a storm nothing follows from most.
    """
    for faults, run in groupby(events, lambda event: isinstance(event.fact, FaultReported)):
        if faults:
            yield [*run]
        else:
            yield from ([event] for event in run)


def _take_in(turn: Turn, fact: Fact) -> None:  # noqa: C901 - a flat table, a line a fact
    match fact:
        case _ if isinstance(fact, Ordered):
            ordered(turn, fact)
        case FaultReported():
            fault_reported(turn, fact)
        case RingRead():
            _ring_read(turn, fact)
        case ReadNeeded():
            read_needed(turn, fact)
        case ChipsListed():
            _chips_listed(turn, fact)
        case ResetDone():
            reset_done(turn, fact)
        case RuntimeFound() | RuntimeUp() | RuntimeDown():
            runtime_told(turn, fact)
        case ContainerSeen() | ContainerRemoved():
            container_told(turn, fact)
        case ContainersListed():
            containers_listed(turn, fact)
        case ContainerStopped():
            container_stopped(turn, fact)
        case ContainerStarted():
            container_started(turn, fact)
        case RestartPolicySet():
            restart_policy_set(turn, fact)
        case _ if isinstance(fact, FleetTold):
            fleet_told(turn, fact)
        case Restarted():
            _restarted(turn, fact)
        case Reconfigured():
            _reconfigured(turn, fact)
        case Resync():
            _resync(turn)
        case _ if isinstance(fact, _Told):
            _told(turn, fact)
        case _:
            assert_never(fact)


_Told = (
    MachineTold
    | CalendarRead
    | FaultPretended
    | Tick
    | Remarked
    | TroubleMet
    | HealthTold
    | StragglersSeen
    | CdiWritten
    | OutputRead
    | OfResets
)


def _told(turn: Turn, fact: _Told) -> None:  # noqa: C901 - a flat table, a line a fact
    match fact:
        case MachineTold():
            machine_told(turn, fact)
        case OutputRead():
            output_read(turn, fact)
        case _ if isinstance(fact, OfResets):
            order_answered(turn, fact)
        case CalendarRead():
            calendar_read(turn, fact.openings)
        case FaultPretended():
            fault_pretended(turn, fact)
        case CdiWritten():
            cdi_written(turn, fact)
        case Remarked():
            kind = NoteKind.WARNING if fact.loud else NoteKind.RESULT
            ring = turn.node.rings.get(fact.ring) if fact.ring is not None else None
            episode = fact.episode or (ring.episode if ring is not None else 0)
            turn.commands.append(Note(turn.at, kind, fact.text, fact.ring, episode))
        case TroubleMet():
            turn.remember_trouble(fact.trouble)
        case HangsSeen():
            hangs_seen(turn, fact.hangs)
        case Answered() | BusySaid():
            answered(turn, fact)
        case RulesRead():
            rules_read(turn, fact)
        case StragglersSeen():
            stragglers_seen(turn, fact)
        case Tick():
            pass  # Nothing follows from it: whatever is due is found by looking.


def _ring_read(turn: Turn, fact: RingRead) -> None:
    if not ring_read(turn, fact):
        return
    for report in fact.reports:
        if report.is_up:
            shares_read(turn, report)
    users_seen(turn, fact.reports)
    look_who_is_there(turn, fact.reports)


def _reconfigured(turn: Turn, fact: Reconfigured) -> None:
    for name in turn.node.runtimes if _of_containers(fact.policy) != _of_containers(turn.node.policy) else ():
        turn.ask_list(name, "others are ignored or asked than before", not_older=turn.at)
    turn.node = replace(turn.node, policy=fact.policy, catalog=fact.catalog)
    if fact.who:
        turn.note(NoteKind.ACTION, say("person.configured", who=fact.who))
    relevel(turn)
    relevel_machine(turn)


def _of_containers(policy: Policy) -> object:
    """Return what of the policy is laid over containers when they are listed."""
    return policy.ignore, policy.ready, policy.retry.ready


def _settle(turn: Turn) -> None:
    """Let rings and holds go as far as the books allow."""
    for state in list(turn.node.runtimes.values()):
        if state.asked is None and (state.listed is None or state.why_down):
            turn.ask_list(state.name, f"is {state.name} there?", not_older=turn.at)
    cover(turn)
    calm(turn)
    lapse_reports(turn)
    lapse_machine(turn)
    escalate(turn)
    release_due(turn)
    await_tardy(turn)
    lapse_orders(turn)
    lapse(turn)
    begin_drills(turn)
    rounds = 0
    while _moves(turn) and rounds < MOST_ROUNDS:
        rounds += 1
    let_go(turn)
    look_at_reboot(turn)
    write_files(turn)
    agree(turn)


def _moves(turn: Turn) -> bool:
    """Let every ring and every hold go one step on. Return whether one did."""
    rings, holds, groups, slots = turn.node.rings, turn.node.holds, turn.node.groups, turn.node.slots
    for ring in rings:
        advance(turn, turn.ring(ring))
    # Only when no ring goes on is it known which are done with. A slot that gives fewer could be started on before.
    only_short = turn.node.rings is not rings
    move(turn, only_short=only_short)
    place(turn, only_short=only_short)
    tend(turn)
    look_after(turn)
    hold_restarted(turn)
    couple(turn)  # Once all holds are made that this turn makes: a start that it decides on then is of this round.
    keep(turn, FORMS)
    node = turn.node
    return not (node.rings is rings and node.holds is holds and node.groups is groups and node.slots is slots)


def _chips_listed(turn: Turn, fact: ChipsListed) -> None:
    if not is_numbered_anew(turn.node, fact.chips):
        chips_listed(turn, fact)
        return
    # Whatever is under way was meant for other pieces: it is looked at as after a restart.
    before = turn.node
    covering = tuple(name for name, state in before.runtimes.items() if state.covering)
    _begun_anew(turn, Restarted(fact.chips, tuple(before.runtimes), covering=covering, appliance=before.engine.name))
    turn.node = replace(turn.node, engine=before.engine, alive=None)


def _restarted(turn: Turn, fact: Restarted) -> None:
    machine_booted(turn, fact.boot)
    _begun_anew(turn, fact)
    calendar_read(turn, fact.openings)
    machine_restarted(turn, fact.sources)
    relevel_machine(turn)


def _begun_anew(turn: Turn, fact: Restarted) -> None:
    """Fit what the last life left to the machine as it is now. Its commands are answered by nobody."""
    moved = find_pieces(turn, fact.chips)
    turn.node = parted(turn.node, [name for name in fact.runtimes if name not in turn.node.gone])
    before = turn.node.chips
    chips = {**before, **{chip.id: _as_known(chip, before.get(chip.id)) for chip in fact.chips}}
    node = replace(
        turn.node,
        chips=chips,
        runtimes={n: RuntimeState(n, covering=n in fact.covering) for n in fact.runtimes if n not in turn.node.gone},
        holds={k: of_a_new_life(h, turn.at, turn.node.policy.retry.settle) for k, h in turn.node.holds.items()},
        faults={c: _not_ahead(known, turn.at) for c, known in turn.node.faults.items() if c in chips},
        past_faults={},
        isolations={c: _isolation_not_ahead(i, turn.at) for c, i in turn.node.isolations.items()},
        outages={k: _outage_not_ahead(o, turn.at) for k, o in turn.node.outages.items()},
        reports={},
        down=frozenset(),
        cdi=CdiState(),
        engine=Engine(fact.appliance),
        fleet_groups={n: reborn(g) for n, g in turn.node.fleet_groups.items()} if fact.appliance else {},
    )
    members, rings = rings_of(chips.values()), {}
    for ring_id in sorted({*members, *(r.id for r in node.rings.values() if _outlives(r, turn.at, node.policy))}):
        stored = _shifted_back(node.rings.get(ring_id, Ring(ring_id, ())), turn.at)
        rings[ring_id] = replace(reborn(stored), chips=members.get(ring_id, ()))
    slots, new = chips_of_slots(node), chips.keys() - before.keys()
    meant = {k: replace(c.kept, chips=chips_meant(c, chips, slots, new)) for k, c in node.containers.items()}
    containers = {k: reborn(replace(c, kept=_not_ahead_of(meant[k], turn.at))) for k, c in node.containers.items()}
    holds = refitted(node.holds, containers, renumbered=moved)
    turn.node = after_restart(replace(node, rings=rings, containers=containers, holds=holds), turn.at)
    look_who_came(turn, chips.keys() - before.keys())
    relevel(turn)
    for name in turn.node.runtimes:
        turn.ask_list(name, "cmgr was started", not_older=turn.at)
    for ring in rings.values():
        _ring_restarted(turn, ring)


def _as_known(chip: Chip, before: Chip | None) -> Chip:
    """Return the chip with what only the last life knew of it: what tells it apart, if it does not say that now.

    And with its shares: which of them there are, the first read-out tells.
    """
    if before is None:
        return chip
    chip = replace(chip, serial=chip.serial or before.serial, board=chip.board or before.board)
    found = {share.id for share in chip.shares}
    known = [share for share in before.shares if share.there and share.id not in found]
    return with_shares(replace(chip, shares=before.shares), (*chip.shares, *known))


def _outlives(ring: Ring, at: datetime, policy: Policy) -> bool:
    """Return whether the ring is remembered although the driver may list none of its chips: they may come back."""
    return ring.in_episode or bool(resets_within(ring, at, policy.reset.window))


def _ring_restarted(turn: Turn, ring: Ring) -> None:
    if ring.in_episode:
        turn.note(NoteKind.WARNING, say("ring.restarted", phase=str(ring.phase), reason=ring.reason), ring)
    if ring.preparing:
        ring = refused(turn, ring, say("ring.ended-before-driver"))
    if AFTER_RESTART[ring.phase] is not ring.phase:
        verify(turn, ring, say("ring.died-in-reset"))
        return
    if ring.phase is Phase.VERIFYING:
        # It looks again, and the time in which nobody looked does not count.
        ring = turn.put_ring(replace(ring, deadline=turn.at + turn.node.policy.reset.boot))
    turn.ask_read(ring, "cmgr was started", not_older=turn.at)


def _not_ahead(known: ChipFaults, at: datetime) -> ChipFaults:
    return {k: _fault_not_ahead(f, at) for k, f in known.items()}


def _fault_not_ahead(fault: Fault, at: datetime) -> Fault:
    # A report is good for a while after it was made: as that moment goes back, so does its end.
    until = fault.until - max(fault.changed - at, timedelta()) if fault.until is not None else None
    return replace(fault, risen=min(fault.risen, at), changed=min(fault.changed, at), until=until)


def _not_ahead_of(kept: Kept, at: datetime) -> Kept:
    return replace(
        kept,
        since=min(kept.since or at, at),
        paused=kept.paused and min(kept.paused, at),
        unsteady=kept.unsteady and min(kept.unsteady, at),
        halted=tuple(min(each, at) for each in kept.halted),
        steady={chip: since and min(since, at) for chip, since in kept.steady.items()},
    )


def _isolation_not_ahead(isolation: Isolation, at: datetime) -> Isolation:
    clean = isolation.clean_since
    return replace(isolation, clean_since=min(clean, at) if clean else None)


def _outage_not_ahead(outage: Outage, at: datetime) -> Outage:
    return replace(outage, since=min(outage.since, at), up=None if outage.up is None else min(outage.up, at))


def _shifted_back(ring: Ring, at: datetime) -> Ring:
    """Return the ring as if it had entered its phase now, when the clock was set back between two lives.

    Otherwise deadlines that were seconds away would be as far away as the clock went back.
    """
    ring = replace(ring, vetoed=min(ring.vetoed, at) if ring.vetoed is not None else None)
    if ring.since is None or ring.since <= at:
        return ring
    shift = ring.since - at

    def back(time: datetime | None) -> datetime | None:
        return time - shift if time is not None else None

    return replace(
        ring,
        since=at,
        deadline=back(ring.deadline),
        began=back(ring.began),
        not_before=back(ring.not_before),
        blocked=back(ring.blocked),
        resets=tuple(min(t, at) for t in ring.resets),
        lulls=tuple(min(t, at) for t in ring.lulls),
    )


def _resync(turn: Turn) -> None:
    forget_old(turn)
    forget_groups(turn)
    look_at_agreements(turn)
    turn.look_at_files()
    for name in sorted(turn.node.runtimes):
        turn.ask_list(name, "resync", not_older=turn.at)
    for ring in list(turn.node.rings.values()):
        turn.ask_read(ring, "resync", not_older=turn.at)


def next_deadline(node: Node, after: datetime) -> datetime | None:
    """Return when a `Tick` can next change anything, or None when only other events can."""
    times: list[datetime | None] = []
    for ring in node.rings.values():
        times += [ring.deadline, ring.ask_at, ring.refused_until, ring.make_at, veto_ends(node, ring)]
        if ring.in_episode:
            times += [mercy_at(node, ring), ring.spared.until if ring.spared else None, *_stop_times(node, ring)]
    times += [h.attempt.retry_at for h in node.holds.values() if h.attempt.command is None]
    times += [*order_times(node), *along_times(node)]
    times += [steady_at(node, container) for container in unsteady(node)]
    times += [h.due for h in node.healings.values() if h.key not in node.holds]
    times += [s.ask_at for s in node.runtimes.values() if s.asked is None]
    times += [release_at(node, i) for i in node.isolations.values()]
    times += [t.due for t in node.tallies.values()]
    times += lapses(node)
    times += machine_lapses(node)
    times += [o.lapses for o in node.reset_orders.values() if not o.done]
    times += [node.cdi.retry_at, *reboot_times(node)]
    times += [g.retry_at for g in node.fleet_groups.values() if g.asked is None]
    times += [*(kept.until for kept in node.reservations.values()), *node.left.values()]
    times.append(node.maintenance.until if node.maintenance is not None else None)
    # A deadline that is past and still there waits for something other than time.
    return min((t for t in times if t is not None and t > after), default=None)


def _stop_times(node: Node, ring: Ring) -> list[datetime | None]:
    return [f.risen + node.policy.levels[f.level].stop_after for f in handled_faults(node, ring)]
