"""The counts for the metrics, made as the deciding thread goes on: a pure function from each step to the next totals.

Rules:
1. It is called after a step's commands were sent. It looks at what went into the step and what came of it, and nothing
   else: no clock, no lock.
2. A span begins with the event that was decided on, as the inbox stamped it, and ends with the event that ends it.
"""

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import field
from datetime import datetime, timedelta
from typing import TypeVar

from cmgr.frozen import dataclass, replace
from cmgr.model.values.holds import Cause, Hold, HoldState
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.commands import CommandId, NoteKind, StartContainer, StopContainer
from cmgr.model.values.rings import REBOOTING, Ring
from cmgr.model.values.services.outages import Downtime, added
from cmgr.service.part import Step

Key = TypeVar("Key")

DRIVER = "driver"
"""The source of what the chips' driver tells. Events of a runtime have the runtime's name."""

OURS, OTHERS = "cmgr", "others"
"""By whom outages are ended."""

BOUNDS = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)
"""The upper ends, in seconds, of the classes that spans are counted in; one more has no end."""


@dataclass(frozen=True, slots=True)
class Spread:
    """How many spans fell into each class, and how many seconds they were in all."""

    counts: tuple[int, ...] = (0,) * (len(BOUNDS) + 1)
    seconds: float = 0.0

    def with_one(self, span: timedelta) -> "Spread":
        # A clock that was set back between two lives may make one negative.
        seconds = max(0.0, span.total_seconds())
        place = bisect_left(BOUNDS, seconds)
        counts = (*self.counts[:place], self.counts[place] + 1, *self.counts[place + 1 :])
        return Spread(counts, self.seconds + seconds)


Counts = Mapping[str, int]
Ended = tuple[str, str]
Spreads = Mapping[str, Spread]


@dataclass(frozen=True, slots=True)
class Totals:
    """The counts so far.

    By source: `events`, and `heard`, when the last came. By runtime: `stops` and `starts` that worked, and how many did
    not. By result: `resets` (`cured`, `failed`, `refused`) and `heals` (`restarted`, `recovered`, `given_up`). By
    outcome: `episodes` in all lives, `recoveries` and the `rounds` of groups in this one. By cause and by who has ended
    them: `outages` of services, and for how many seconds these were `down`. `sent`: the stops and starts under way, and
    when they were decided on.
    """

    events: Counts = field(default_factory=dict)
    heard: Mapping[str, datetime] = field(default_factory=dict)
    stops: Spreads = field(default_factory=dict)
    starts: Spreads = field(default_factory=dict)
    stops_failed: Counts = field(default_factory=dict)
    starts_failed: Counts = field(default_factory=dict)
    resets: Spreads = field(default_factory=dict)
    heals: Counts = field(default_factory=dict)
    down: Mapping[Ended, float] = field(default_factory=dict)
    outages: Mapping[Ended, int] = field(default_factory=dict)
    episodes: Counts = field(default_factory=dict)
    recoveries: Spreads = field(default_factory=dict)
    rounds: Spreads = field(default_factory=dict)
    sent: Mapping[CommandId, datetime] = field(default_factory=dict)


def counted(totals: Totals, step: Step) -> Totals:
    """Return the totals after the step."""
    for event in step.events:
        totals = _heard(totals, event)
        if isinstance(event.fact, facts.ContainerStopped | facts.ContainerStarted):
            totals = _answered(totals, event.at, event.fact)
    orders = [a.id for a in step.actions if isinstance(a, StopContainer | StartContainer)]
    if orders:
        totals = replace(totals, sent={**totals.sent, **dict.fromkeys(orders, step.events[-1].at)})
    for span, result in _resets(step):
        totals = replace(totals, resets=_timed(totals.resets, result, span))
    for result in _heals(step):
        totals = replace(totals, heals=_one_more(totals.heals, result))
    for day in added(step.before.downtime, step.after.downtime):
        totals = _with_downtime(totals, day)
    for span, outcome in _rounds(step):
        totals = replace(totals, rounds=_timed(totals.rounds, outcome, span))
    for span, outcome in _closed(step):
        episodes, recoveries = _one_more(totals.episodes, outcome), _timed(totals.recoveries, outcome, span)
        totals = replace(totals, episodes=episodes, recoveries=recoveries)
    return totals


def _with_downtime(totals: Totals, day: Downtime) -> Totals:
    parts = ((OURS, day.recovered, day.recoveries), (OTHERS, day.down - day.recovered, day.outages - day.recoveries))
    down, outages = dict(totals.down), dict(totals.outages)
    for by, length, number in parts:
        key = str(day.cause), by
        down[key] = down.get(key, 0.0) + length.total_seconds()
        outages[key] = outages.get(key, 0) + number
    return replace(totals, down=down, outages=outages)


def _heard(totals: Totals, event: facts.Event) -> Totals:
    source = _source(event.fact)
    if not source:
        return totals
    return replace(totals, events=_one_more(totals.events, source), heard={**totals.heard, source: event.at})


def _source(fact: facts.Fact) -> str:
    """Return who told it without being asked; nobody for answers, and for what cmgr tells itself."""
    match fact:
        case facts.FaultReported() | facts.ReadNeeded() | facts.ChipsListed():
            return DRIVER
        case facts.ContainerSeen():
            return fact.container.key.runtime
        case facts.ContainerRemoved():
            return fact.key.runtime
        case facts.RuntimeUp() | facts.RuntimeDown():
            return fact.runtime
        case _:
            return ""


def _answered(totals: Totals, at: datetime, fact: facts.ContainerStopped | facts.ContainerStarted) -> Totals:
    sent = totals.sent.get(fact.command)
    if sent is None:
        return totals
    totals = replace(totals, sent={id_: t for id_, t in totals.sent.items() if id_ != fact.command})
    runtime = fact.key.runtime
    if fact.gone:
        return totals  # There was nothing to stop or to start.
    if isinstance(fact, facts.ContainerStopped):
        if fact.error:
            return replace(totals, stops_failed=_one_more(totals.stops_failed, runtime))
        return replace(totals, stops=_timed(totals.stops, runtime, at - sent))
    if fact.error:
        return replace(totals, starts_failed=_one_more(totals.starts_failed, runtime))
    return replace(totals, starts=_timed(totals.starts, runtime, at - sent))


def _resets(step: Step) -> Iterator[tuple[timedelta, str]]:
    """Yield how long each reset took that is over now, from its order until it was known what it did."""
    if step.before.rings is step.after.rings:
        return
    for id_, before in step.before.rings.items():
        after = step.after.rings.get(id_)
        if before.phase not in REBOOTING or after is None or after.phase in REBOOTING:
            continue
        if before.resets and (before.began is None or before.resets[-1] >= before.began):  # Else it was only tested.
            yield step.events[-1].at - before.resets[-1], _result(before, after)


def _result(before: Ring, after: Ring) -> str:
    if len(after.resets) < len(before.resets):
        return "refused"  # It is not counted any more: nothing was reset.
    return "failed" if after.failures > before.failures else "cured"


def _heals(step: Step) -> Iterator[str]:
    """Yield what came of each container that was to be healed, as far as that is known now."""
    if step.before.holds is not step.after.holds:
        for key, before in step.before.holds.items():
            hold = step.after.holds.get(key)
            if before.cause is Cause.HEAL and (result := _healed(before, hold)):
                yield result
    if step.before.healings is not step.after.healings:
        for key, healing in step.after.healings.items():
            known = step.before.healings.get(key)
            if healing.given_up is not None and (known is None or known.given_up is None):
                yield "given_up"


def _healed(before: Hold, after: Hold | None) -> str:
    if after is not None and after.cause is Cause.EPISODE:
        return "recovered"
    over = after is None or after.is_theirs
    return "restarted" if before.state is HoldState.STARTING and over else ""


def _rounds(step: Step) -> Iterator[tuple[timedelta, str]]:
    """Yield how long each round of a group took that is over now."""
    if step.before.groups is step.after.groups:
        return
    for name, group in step.after.groups.items():
        known = step.before.groups.get(name)
        for each in group.history:
            if known is None or each not in known.history:
                yield each.ended - each.began, each.outcome.replace(" ", "_")


def _closed(step: Step) -> Iterator[tuple[timedelta, str]]:
    """Yield how long each episode took that is over now."""
    opened = {note.episode: note.at for note in step.notes if note.kind is NoteKind.OPENED}
    for note in step.notes:
        if note.kind is NoteKind.CLOSED and note.ring is not None:
            ring = step.before.rings.get(note.ring)
            began = opened.get(note.episode) or (ring.began if ring is not None else None)
            ended = note.ended or note.at
            yield ended - (began or ended), note.outcome


def _one_more(counts: Mapping[Key, int], key: Key) -> dict[Key, int]:
    return {**counts, key: counts.get(key, 0) + 1}


def _timed(spreads: Spreads, key: str, span: timedelta) -> dict[str, Spread]:
    return {**spreads, key: spreads.get(key, Spread()).with_one(span)}
