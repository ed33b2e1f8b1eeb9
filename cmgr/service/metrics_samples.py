"""The values of the metrics, each made from one look at the service. Pure.

Chips and rings are named by physical id. No label has a value that a container or a person chose, and a chip that
reports ever new codes does not make ever new series.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from cmgr import __version__
from cmgr.model.scope import active_faults
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Fault
from cmgr.model.values.rings import Phase, Ring, resets_within
from cmgr.service.metrics.look import Look, Samples, one
from cmgr.service.metrics.tally import DRIVER, Counts, Spread, Spreads
from cmgr.view import status as view
from cmgr.words import one_line

STATES = ("starting", "ready", "degraded", "stopping")
CAUSES = ("level", "escalation", "budget", "operator")
STATUSES = ("running", "pausing", "paused", "resuming", "failed")
OUTCOMES = ("recovered", "cleared", "isolated", "failed", "observed")
RESULTS = ("cured", "failed", "refused")
HEALS = ("restarted", "recovered", "given_up")

MOST_CODES = 32
"""So many faults of one chip are told apart, the gravest; the codes of the others are `OTHER`."""

OTHER = "other"

_MOST_LETTERS = 64


def _one_of(known: Iterable[str], present: str) -> Iterator[tuple[str, float]]:
    """Yield 1 for what is the case, and 0 for everything else that could be."""
    for word in dict.fromkeys((*known, present)):
        yield word, float(word == present)


def build(_look: Look) -> Samples:
    return (((__version__,), 1.0),)


def state(look: Look) -> Samples:
    return (((word,), value) for word, value in _one_of(STATES, str(look.service["state"])))


def strategy(look: Look) -> Samples:
    return (((str(look.node.policy.strategy),), 1.0),)


def troubles(look: Look) -> Samples:
    known = look.service["troubles"]
    assert isinstance(known, list | tuple)
    return one(len(known))


def _unix(look: Look, at: datetime | None) -> float:
    return 0.0 if at is None else at.timestamp() + look.ahead


def _sources(look: Look) -> Iterator[str]:
    yield DRIVER
    yield from sorted(look.node.runtimes)


def events(look: Look) -> Samples:
    return (((source,), look.tally.events.get(source, 0)) for source in _sources(look))


def last_event(look: Look) -> Samples:
    return (((source,), _unix(look, look.tally.heard.get(source))) for source in _sources(look))


def last_read(look: Look) -> Samples:
    reads = [ring.read for ring in look.node.rings.values()]
    # Of the driver's rings the one that was read longest ago: one chip that is well hides no other that is silent.
    oldest = min((read for read in reads if read), default=None) if all(reads) else None
    yield (DRIVER,), _unix(look, oldest)
    for name, state in sorted(look.node.runtimes.items()):
        yield (name,), _unix(look, state.listed)


def runtimes_up(look: Look) -> Samples:
    return (((name,), float(not state.why_down)) for name, state in sorted(look.node.runtimes.items()))


def chips(look: Look) -> Samples:
    for id_, chip in sorted(look.node.chips.items()):
        yield (str(id_), str(chip.ring), one_line(chip.model)[:_MOST_LETTERS]), 1.0


def healthy(look: Look) -> Samples:
    return (((str(chip),), float(view.healthy(look.node, chip))) for chip in sorted(look.node.chips))


def isolated(look: Look) -> Samples:
    isolations = look.node.isolations
    causes = dict.fromkeys((*CAUSES, *sorted({i.by for i in isolations.values()})))
    for chip in sorted({*look.node.chips, *isolations}):
        by = isolations[chip].by if chip in isolations else ""
        for cause in causes:
            yield (str(chip), cause), float(cause == by)


def faults(look: Look) -> Samples:
    for chip in sorted(look.node.faults):
        found: dict[tuple[str, ...], int] = {}
        for fault in active_faults(look.node, chip):
            labels = _fault_labels(chip, fault)
            if len(found) >= MOST_CODES and labels not in found:
                labels = (str(chip), OTHER, fault.level.name)
            found[labels] = found.get(labels, 0) + 1
        yield from found.items()


def _fault_labels(chip: ChipId, fault: Fault) -> tuple[str, ...]:
    return str(chip), one_line(fault.code)[:_MOST_LETTERS], fault.level.name


def _rings(look: Look, of: Callable[[Ring], float]) -> Samples:
    return (((str(id_),), of(ring)) for id_, ring in sorted(look.node.rings.items()))


def phases(look: Look) -> Samples:
    for id_, ring in sorted(look.node.rings.items()):
        for phase in Phase:
            yield (str(id_), str(phase)), float(ring.phase is phase)


def began(look: Look) -> Samples:
    return _rings(look, lambda ring: _unix(look, ring.began if ring.in_episode else None))


def resets_left(look: Look) -> Samples:
    policy = look.node.policy.reset
    return _rings(look, lambda ring: max(0, policy.attempts - len(resets_within(ring, look.now, policy.window))))


def resets_limit(look: Look) -> Samples:
    return _rings(look, lambda _: look.node.policy.reset.attempts)


def containers(look: Look) -> Samples:
    shown = [(str(row["runtime"]), str(row["status"])) for row in view.containers(look.node)]
    for runtime in sorted({*look.node.runtimes, *(r for r, _ in shown)}):
        for status in STATUSES:
            yield (runtime, status), float(shown.count((runtime, status)))


def given_up(look: Look) -> Samples:
    found = [
        key.runtime
        for key, healing in look.node.healings.items()
        if healing.ails and healing.given_up is not None and key not in look.node.holds
    ]
    for runtime in sorted({*look.node.runtimes, *found}):
        yield (runtime,), float(found.count(runtime))


def heals(look: Look) -> Samples:
    return _counts(HEALS, look.tally.heals)


def episodes(look: Look) -> Samples:
    return _counts(OUTCOMES, look.tally.episodes)


def recoveries(look: Look) -> Samples:
    return _spreads(OUTCOMES, look.tally.recoveries)


def resets(look: Look) -> Samples:
    return _spreads(RESULTS, look.tally.resets)


def stops(look: Look) -> Samples:
    return _spreads(look.node.runtimes, look.tally.stops)


def starts(look: Look) -> Samples:
    return _spreads(look.node.runtimes, look.tally.starts)


def stops_failed(look: Look) -> Samples:
    return _counts(look.node.runtimes, look.tally.stops_failed)


def starts_failed(look: Look) -> Samples:
    return _counts(look.node.runtimes, look.tally.starts_failed)


def _counts(known: Iterable[str], counts: Counts) -> Samples:
    return (((word,), counts.get(word, 0)) for word in dict.fromkeys((*known, *sorted(counts))))


def _spreads(known: Iterable[str], spreads: Spreads) -> Samples:
    return (((word,), spreads.get(word, Spread())) for word in dict.fromkeys((*known, *sorted(spreads))))
