"""Whole recoveries, one after the other: how soon the stops are out, and what cmgr adds to what others need."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from bench.records import Call, Records, covered, of
from bench.report.figures import Figure, quantile
from bench.service import BOOT_SECONDS, Service
from bench.site import Site
from bench.weather import REAL
from cmgr.service.door.client import order

CHIPS = 8
COUNT = 40


@dataclass(frozen=True, slots=True)
class Cycle:
    """One recovery, in seconds from the driver's callback; `overhead` is what neither runtime nor driver needed.

    `to_reset`: from the last answered stop to the driver's reset call. `stopping`, `starting`: how long at least one
    stop, one start was under way.
    """

    first_stop: float
    last_stop: float
    to_reset: float
    running: float
    overhead: float
    stopping: float
    starting: float


def run(site: Site) -> list[Figure]:
    single = _cycles(site, "singleRecover", ring=1, stopped=1)
    ring = _cycles(site, "ringRecover", ring=CHIPS, stopped=CHIPS)
    return [
        *_first_stop("singleRecover, 1 container", single, "343 ms, max 498"),
        *_first_stop("ringRecover, 8 containers", ring, "453 ms, max 541"),
        *_all_out(ring),
        *_to_reset(ring),
        *_overhead("1 container", single, "3,516 ms"),
        *_overhead("8 containers", ring, "6,709 ms"),
    ]


def _cycles(site: Site, strategy: str, ring: int, stopped: int) -> list[Cycle]:
    with ExitStack() as stack:
        service, records = site.timed(site.plan(CHIPS, ring, strategy, CHIPS), stack)
        stack.enter_context(service).settle()
        return [recovery(service, records, n % CHIPS, stopped) for n in range(COUNT)]


def recovery(service: Service, records: Records, chip: int, stopped: int) -> Cycle:
    """Let a simulated chip fault, and return what the recovery took when it is over."""
    mark = records.mark()
    order(service.socket, "inject", chip=chip, code=REAL, assertion="occurred")
    records.wait(mark, lambda calls: len(of(calls, "start")) >= stopped, f"chip {chip} faulted, containers started")
    service.until(service.all_well, "end the episode")
    return measured(records.since(mark))


def measured(calls: Sequence[Call]) -> Cycle:
    """Return what these calls say of the one recovery that they are of."""
    (fault,), stops, starts = of(calls, "fault"), of(calls, "stop"), of(calls, "start")
    assert len(stops) == len(starts), f"each container is stopped and started once: {calls}"
    assert all(call.status in (0, 204) for call in (*stops, *starts)), f"the runtime did it all: {calls}"
    (reset,) = of(calls, "reset")
    running = max(call.end for call in starts) - fault.begin
    stopping, starting = covered(stops), covered(starts)
    own = running - (stopping + starting + (reset.end - reset.begin) + BOOT_SECONDS)
    first, last = stops[0].begin - fault.begin, stops[-1].begin - fault.begin
    to_reset = reset.begin - max(call.end for call in stops)
    return Cycle(first, last, to_reset, running, own, stopping, starting)


def _first_stop(case: str, cycles: Sequence[Cycle], reference: str) -> list[Figure]:
    values = [c.first_stop * 1000 for c in cycles]
    part = "Fault callback to the first stop request at the runtime"
    return [
        Figure(part, f"{case}: p50", quantile(values, 0.5), "ms", 5, len(values), reference, tuple(values)),
        Figure(part, f"{case}: p99", quantile(values, 0.99), "ms", 25, len(values)),
    ]


def _all_out(cycles: Sequence[Cycle]) -> list[Figure]:
    values = [(c.last_stop - c.first_stop) * 1000 for c in cycles]
    part = "From the first stop request of 8 to the last"
    return [
        Figure(part, "p50", quantile(values, 0.5), "ms", 30, len(values), "about 618 ms"),
        Figure(part, "p99", quantile(values, 0.99), "ms", 30, len(values)),
    ]


def _to_reset(cycles: Sequence[Cycle]) -> list[Figure]:
    values, part = [c.to_reset * 1000 for c in cycles], "From the last of 8 answered stops to the driver's reset call"
    return [
        Figure(part, "p50", quantile(values, 0.5), "ms", 80, len(values)),
        Figure(part, "p99", quantile(values, 0.99), "ms", None, len(values)),
    ]


def _overhead(case: str, cycles: Sequence[Cycle], reference: str) -> list[Figure]:
    n, part = len(cycles), "Fault to containers running again"
    overhead, whole = [c.overhead * 1000 for c in cycles], [c.running * 1000 for c in cycles]
    return [
        Figure(part, f"{case}: cmgr's own share, median", quantile(overhead, 0.5), "ms", 150, n),
        Figure(part, f"{case}: cmgr's own share, p90", quantile(overhead, 0.9), "ms", None, n),
        *(
            Figure(part, f"{case}: {name}, median", quantile([s * 1000 for s in seconds], 0.5), "ms", None, n)
            for name, seconds in (("stops", [c.stopping for c in cycles]), ("starts", [c.starting for c in cycles]))
        ),
        Figure(part, f"{case}: in all, median", quantile(whole, 0.5), "ms", None, n, reference),
    ]
