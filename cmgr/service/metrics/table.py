"""Every metric of cmgr: its type, name, text and labels, and where its values come from, each said once. Pure.

Names and units are Prometheus' own way: base units, `_total` for what only grows, Unix times and not ages. Chips and
rings are named by physical id. No label has a value that a container or a person chose, but for those in `usage`, and
a chip that reports ever new codes does not make ever new series.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial

from cmgr import __version__
from cmgr.model.recovery.vetoes import to_ask
from cmgr.model.scope import active_faults, pre_isolating
from cmgr.model.values.chips import ChipId
from cmgr.model.values.presence import Presence
from cmgr.model.values.rings import Phase, Ring, resets_within
from cmgr.model.values.services.containers import HEALTHY, STARTING, UNHEALTHY
from cmgr.model.values.services.groups import GroupPhase
from cmgr.model.values.services.outages import OutageCause
from cmgr.model.values.troubles import Trouble, TroubleKind
from cmgr.service.metrics.chips import MEASURED
from cmgr.service.metrics.look import Kind, Look, Samples, Table, one
from cmgr.service.metrics.totals import DRIVER, OTHERS, OURS, Counts, Ended, Spread, Spreads
from cmgr.service.metrics.usage import USERS
from cmgr.view import status as view
from cmgr.view.containers import down
from cmgr.view.groups import groups
from cmgr.view.machine import active
from cmgr.view.presence import STATES as FLEET_STATES
from cmgr.view.presence import everybody, state_word
from cmgr.view.troubles import of_service, once
from cmgr.view.troubles import troubles as all_troubles
from cmgr.words import one_line

STATES = ("starting", "ready", "degraded", "hangs", "stopping")
CAUSES = ("level", "escalation", "budget", "test", "boot", "operator")
CHIPS = ("healthy", "unhealthy", "unknown")
STATUSES = ("running", "pausing", "paused", "resuming", "settling", "failed", "down")
OUTCOMES = ("recovered", "cleared", "isolated", "failed", "observed")
RESULTS = ("cured", "failed", "refused")
ROUNDS = ("recovered", "resumed", "again", "given_back")
HEALS = ("restarted", "recovered", "given_up")

MOST_CODES = 32
"""So many faults of one chip are told apart, the gravest; the codes of the others are `OTHER`."""

OTHER = "other"

_MOST_LETTERS = 64

_table = Table()
gauge, counter, histogram = (partial(_table.declare, kind) for kind in (Kind.GAUGE, Kind.COUNTER, Kind.HISTOGRAM))


def _wrong(look: Look) -> list[Trouble]:
    return all_troubles(look.node, look.own.troubles)


def _unix(look: Look, at: datetime | None) -> float:
    return 0.0 if at is None else at.timestamp() + look.ahead


def _one_of(known: Iterable[str], present: str) -> Iterator[tuple[str, float]]:
    """Yield 1 for what is the case, and 0 for everything else that could be."""
    for word in dict.fromkeys((*known, present)):
        yield word, float(word == present)


def _sources(look: Look) -> Iterator[str]:
    yield DRIVER
    yield from sorted(look.node.runtimes)


def _rings(look: Look, of: Callable[[Ring], float]) -> Samples:
    return (((str(id_),), of(ring)) for id_, ring in sorted(look.node.rings.items()))


def _by_runtime(look: Look, found: list[str]) -> Samples:
    return (((runtime,), float(found.count(runtime))) for runtime in sorted({*look.node.runtimes, *found}))


def _counts(known: Iterable[str], counts: Counts) -> Samples:
    return (((word,), counts.get(word, 0)) for word in dict.fromkeys((*known, *sorted(counts))))


def _spreads(known: Iterable[str], spreads: Spreads) -> Samples:
    return (((word,), spreads.get(word, Spread())) for word in dict.fromkeys((*known, *sorted(spreads))))


gauge("cmgr_build_info", "Always 1. Which cmgr it is.", "version")(lambda _: [((__version__,), 1.0)])


gauge("cmgr_service_state", "1 for the state that the service is in, else 0.", "state")(
    lambda look: (((word,), value) for word, value in _one_of(STATES, look.own.state))
)
gauge("cmgr_service_troubles", "Troubles of the service, as cmgr status lists them.")(
    lambda look: one(len(of_service(_wrong(look))))
)


@gauge("cmgr_troubles", "All troubles by kind: 0 of each kind when all is well.", "kind")
def _troubles(look: Look) -> Samples:
    found = [trouble.kind for trouble in once(_wrong(look))]
    return (((str(kind),), float(found.count(kind))) for kind in TroubleKind)


gauge("cmgr_strategy_info", "Always 1. The strategy in force.", "strategy")(
    lambda look: [((str(look.node.policy.strategy),), 1.0)]
)
gauge("cmgr_observe", "Whether cmgr only observes: 1 or 0.")(lambda look: one(look.node.policy.observe))
gauge("cmgr_maintenance", "Whether maintenance is on.")(lambda look: one(look.node.maintenance is not None))
gauge("cmgr_rings_kept_back", "Rings that wait for a person because of limits.")(
    lambda look: one(len(look.node.restraint.kept))
)
gauge("cmgr_database_writable", "Whether the last save was written.")(lambda look: one(look.writable))
counter("cmgr_bugs_total", "Decisions that met a bug of cmgr.")(lambda look: one(look.bugs))


# Sources of events.


counter("cmgr_events_total", "Events that a source reported on its own.", "source")(
    lambda look: (((source,), look.totals.events.get(source, 0)) for source in _sources(look))
)
gauge("cmgr_last_event_timestamp_seconds", "When a source reported something last; 0: not yet.", "source")(
    lambda look: (((source,), _unix(look, look.totals.heard.get(source))) for source in _sources(look))
)


@gauge(
    "cmgr_last_read_timestamp_seconds",
    "When the last complete reading of a source was asked for; 0: none yet.",
    "source",
)
def _last_read(look: Look) -> Samples:
    reads = [ring.read for ring in look.node.rings.values()]
    # Of the driver's rings the one that was read longest ago: one chip that is well hides no other that is silent.
    oldest = min((read for read in reads if read), default=None) if all(reads) else None
    yield (DRIVER,), _unix(look, oldest)
    for name, state in sorted(look.node.runtimes.items()):
        yield (name,), _unix(look, state.listed)


gauge("cmgr_runtime_up", "Whether the runtime answers.", "runtime")(
    lambda look: (((name,), float(not state.why_down)) for name, state in sorted(look.node.runtimes.items()))
)
gauge("cmgr_driver_troubles", "Troubles of the driver as a whole.")(lambda look: one(look.driver_troubles))
gauge("cmgr_queued_events", "Events that wait to be decided on.")(lambda look: one(look.queued))
counter("cmgr_events_merged_total", "Fault events that repeated one that was queued.")(lambda look: one(look.merged))
counter("cmgr_events_dropped_total", "Fault events beyond what the queue takes of one chip; it is read instead.")(
    lambda look: one(look.dropped)
)


# Rings and containers.


@gauge("cmgr_ring_phase", "1 for the phase that the ring is in, else 0.", "ring", "phase")
def _phase(look: Look) -> Samples:
    for id_, ring in sorted(look.node.rings.items()):
        for phase in Phase:
            yield (str(id_), str(phase)), float(ring.phase is phase)


gauge("cmgr_ring_episode_start_timestamp_seconds", "When its episode began; 0: none.", "ring")(
    lambda look: _rings(look, lambda ring: _unix(look, ring.began if ring.in_episode else None))
)


@gauge("cmgr_ring_resets_left", "Resets that are left before chips are isolated instead.", "ring")
def _resets_left(look: Look) -> Samples:
    policy = look.node.policy.reset
    return _rings(look, lambda ring: max(0, policy.attempts - len(resets_within(ring, look.now, policy.window))))


gauge("cmgr_ring_resets_limit", "Resets that a ring may have in reset.window.", "ring")(
    lambda look: _rings(look, lambda _: look.node.policy.reset.attempts)
)


@gauge("cmgr_groups", "Groups of containers by phase; incomplete: some members run, and some do not.", "phase")
def _groups(look: Look) -> Samples:
    rows = groups(look.node)
    whole = [row["phase"] if row["phase"] != "running" or not row["reason"] else "incomplete" for row in rows]
    return (((phase,), float(whole.count(phase))) for phase in (*GroupPhase, "incomplete"))


@gauge("cmgr_containers", "Containers that run on chips, are held, or ought to run.", "runtime", "status")
def _containers(look: Look) -> Samples:
    shown = [(row["runtime"], str(row["status"])) for row in view.containers(look.node)]
    for runtime in sorted({*look.node.runtimes, *(r for r, _ in shown)}):
        for status in STATUSES:
            yield (runtime, status), float(shown.count((runtime, status)))


gauge("cmgr_wanted_down", "Containers that ought to run and do not.", "runtime")(
    lambda look: _by_runtime(look, [each.key.runtime for each in down(look.node)])
)


@gauge(
    "cmgr_containers_given_up",
    "Containers that run on, unhealthy, after too many restarts; one that is down is failed in cmgr_containers.",
    "runtime",
)
def _given_up(look: Look) -> Samples:
    healings = [(k, h) for k, h in look.node.healings.items() if h.ails and h.given_up is not None]
    return _by_runtime(look, [key.runtime for key, _ in healings if key not in look.node.holds])


@gauge(
    "cmgr_containers_asked", "Containers that are asked whether they serve, by how they answer.", "runtime", "answer"
)
def _asked(look: Look) -> Samples:
    asked = [(c.key.runtime, c.kept.answer) for c in look.node.containers.values() if c.ready is not None and c.running]
    for runtime in sorted({*look.node.runtimes, *(r for r, _ in asked)}):
        for answer in (STARTING, HEALTHY, UNHEALTHY):
            yield (runtime, answer), float(asked.count((runtime, answer)))


@gauge("cmgr_containers_busy", "Containers that say that they are busy, for which a reset waits now.", "runtime")
def _busy(look: Look) -> Samples:
    asked = [container for container, _ in to_ask(look.node, look.now).values()]
    return _by_runtime(look, [c.key.runtime for c in asked if c.kept.veto is not None and c.kept.veto.busy])


# Downtime.


def _by_cause(told: Mapping[Ended, float]) -> Samples:
    ends = [(str(cause), by) for cause in OutageCause for by in (OURS, OTHERS)]
    return (((cause, by), told.get((cause, by), 0)) for cause, by in ends)


@gauge("cmgr_services_down", "Services that ought to serve and do not, by cause.", "cause")
def _services_down(look: Look) -> Samples:
    found = [outage.cause for outage in look.node.outages.values() if outage.up is None]
    return (((str(cause),), float(found.count(cause))) for cause in OutageCause if cause is not OutageCause.UNSEEN)


counter(
    "cmgr_downtime_seconds_total",
    "How long services were down, each for itself, in outages that are over; unseen: nobody can say whether.",
    *("cause", "ended_by"),
)(lambda look: _by_cause(look.totals.down))
counter("cmgr_outages_total", "Outages of services that are over.", "cause", "ended_by")(
    lambda look: _by_cause(look.totals.outages)
)


# Groups and the fleet.


@histogram(
    "cmgr_group_round_duration_seconds",
    "From the beginning of a round to its end; again: the next one began; given_back: no member was held any more.",
    "outcome",
)
def _rounds(look: Look) -> Samples:
    return _spreads(ROUNDS, look.totals.rounds)


gauge("cmgr_fleet_engine_up", "Whether the fleet's engine answers and takes writes; without a fleet: no such series.")(
    lambda look: one(look.node.engine.up and not look.fleet.refusal) if look.node.engine.name else ()
)
gauge("cmgr_fleet_engine_heard_timestamp_seconds", "When the fleet's engine said anything last.")(
    lambda look: one(_unix(look, look.fleet.heard)) if look.node.engine.name else ()
)


@gauge("cmgr_fleet_appliances", "Appliances of the fleet; away: not seen; unknown: the engine is away.", "state")
def _appliances(look: Look) -> Samples:
    node = look.node
    if not node.engine.name:
        return ()
    here = Presence(look.own.state, look.now)
    found = [state_word(each, told=node.engine.up or each.here) for each in everybody(node, look.fleet, here)]
    return (((word,), float(found.count(word))) for word in FLEET_STATES)


# Recoveries.

counter("cmgr_episodes_total", "Episodes that are over, in all lives of the service.", "outcome")(
    lambda look: _counts(OUTCOMES, look.totals.episodes)
)
histogram("cmgr_episode_duration_seconds", "From the first handled fault until nothing was left to do.", "outcome")(
    lambda look: _spreads(OUTCOMES, look.totals.recoveries)
)
histogram(
    "cmgr_reset_duration_seconds",
    "From the order until it was known what the reset did: chips booted and well, or not.",
    "result",
)(lambda look: _spreads(RESULTS, look.totals.resets))
histogram(
    "cmgr_stop_duration_seconds",
    "From the event that a container was stopped for until its runtime said that it was down.",
    "runtime",
)(lambda look: _spreads(look.node.runtimes, look.totals.stops))
histogram(
    "cmgr_start_duration_seconds",
    "From the event that let a container be started until its runtime said that it ran.",
    "runtime",
)(lambda look: _spreads(look.node.runtimes, look.totals.starts))
counter("cmgr_stops_failed_total", "Stops that did not work.", "runtime")(
    lambda look: _counts(look.node.runtimes, look.totals.stops_failed)
)
counter("cmgr_starts_failed_total", "Starts that did not work.", "runtime")(
    lambda look: _counts(look.node.runtimes, look.totals.starts_failed)
)
counter(
    "cmgr_heals_total",
    "Failed and unhealthy containers that were restarted, that a chip's episode recovered, or that were given up.",
    "result",
)(lambda look: _counts(HEALS, look.totals.heals))


# Chips.


@gauge("cmgr_chip_info", "Always 1. A chip, its ring and its model.", "chip", "ring", "model")
def _chips(look: Look) -> Samples:
    for id_, chip in sorted(look.node.chips.items()):
        yield (str(id_), str(chip.ring), one_line(chip.model)[:_MOST_LETTERS]), 1.0


gauge("cmgr_chip_healthy", "Whether nothing known speaks against the chip.", "chip")(
    lambda look: (((str(chip),), float(view.healthy(look.node, chip))) for chip in sorted(look.node.chips))
)


@gauge("cmgr_chips", "Chips by what is known of them; unknown: not read yet in this life, or no answer.", "state")
def _counted(look: Look) -> Samples:
    found = [_state(look, chip) for chip in look.node.chips]
    return (((state,), float(found.count(state))) for state in CHIPS)


def _state(look: Look, chip: ChipId) -> str:
    report = look.node.reports.get(chip)
    answers = report is not None and not report.error
    if not answers and chip not in look.node.isolations:
        return "unknown"
    return "healthy" if view.healthy(look.node, chip) else "unhealthy"


@gauge("cmgr_chip_pre_isolated", "1 when nothing new is started on the chip, while what runs there goes on.", "chip")
def _pre_isolated(look: Look) -> Samples:
    return (((str(chip),), float(bool(pre_isolating(look.node, chip)))) for chip in sorted(look.node.chips))


@gauge("cmgr_chip_isolated", "1 for the cause that isolates the chip, else 0.", "chip", "cause")
def _isolated(look: Look) -> Samples:
    isolations = look.node.isolations
    causes = dict.fromkeys((*CAUSES, *sorted({i.by for i in isolations.values()})))
    for chip in sorted({*look.node.chips, *isolations}):
        by = isolations[chip].by if chip in isolations else ""
        for cause in causes:
            yield (str(chip), cause), float(cause == by)


@gauge(
    "cmgr_faults_active",
    f"Active faults. Beyond {MOST_CODES} of one chip the code is {OTHER}.",
    *("chip", "code", "level"),
)
def _faults(look: Look) -> Samples:
    for chip in sorted(look.node.faults):
        found: dict[tuple[str, ...], int] = {}
        for fault in active_faults(look.node, chip):
            labels: tuple[str, ...] = str(chip), one_line(fault.code)[:_MOST_LETTERS], fault.level.name
            if len(found) >= MOST_CODES and labels not in found:
                labels = (str(chip), OTHER, fault.level.name)
            found[labels] = found.get(labels, 0) + 1
        yield from found.items()


# The machine around them.


@gauge("cmgr_machine_faults", "Active faults of the machine itself.", "code", "level")
def _machine_faults(look: Look) -> Samples:
    found: dict[tuple[str, ...], int] = {}
    for fault in active(look.node):
        labels = one_line(fault.code)[:_MOST_LETTERS], fault.handling.name
        found[labels] = found.get(labels, 0) + 1
    return found.items()


gauge(
    "cmgr_machine_source_up", "Whether a source of machine faults that there is here tells anything: 1 or 0.", "source"
)(lambda look: (((s["name"],), float(not s["why"])) for s in look.own.sources if s["on"]))


METRICS = (*_table.metrics, *USERS, *MEASURED)
