"""The same on the driver of Ascend chips, over the stand-in for its library: recoveries, and its storm."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing

from bench import steady, weather
from bench.cases import idle
from bench.cases.cycles import CHIPS, COUNT, Cycle, measured
from bench.records import Records, of
from bench.report.figures import Figure, quantile
from bench.service import BOOT_SECONDS, RESET_SECONDS, Service
from bench.site import Site
from cmgr.store.reader import open_reader
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.build import CannotBuild, Workshop
from tests.fakes.dcmi.standin import FakeChip, Standin

DISTINCT = 400
BESIDE = 20
UNTOLD = 5
HEARD = 500
BETWEEN = 0.05
NEVER_MS = 3_600_000
PART = 'driver = "dcmi"'


def run(site: Site) -> list[Figure]:
    """Return nothing where there is no compiler."""
    try:
        workshop = Workshop()
    except CannotBuild:
        return []
    with closing(workshop):
        heard = _heard(site, _machine(workshop, hosts.host_910b_infer(CHIPS)))
        single = _cycles(site, _machine(workshop, hosts.host_910b_infer(CHIPS)), "singleRecover", 1)
        ring = _cycles(site, _machine(workshop, hosts.host_910b(CHIPS)), "ringRecover", CHIPS)
        return [
            *heard,
            *_figures("1 container", single),
            *_figures("8 containers", ring),
            *_beside_one_that_never_boots(site, _machine(workshop, hosts.host_single("310P3", CHIPS))),
            *_untold(site, _machine(workshop, hosts.host_910b_infer(CHIPS))),
            *_storm(site, _machine(workshop, hosts.host_910b_infer(CHIPS))),
            *idle.on_library(site, _machine(workshop, hosts.host_910b(idle.CHIPS)).library, PART, "chips", 0.5),
            *_subscribed(site, _machine(workshop, hosts.host_910b(CHIPS))),
        ]


def _machine(workshop: Workshop, chips: tuple[FakeChip, ...]) -> Standin:
    machine = Standin(workshop.place("one")).create(chips)
    machine.set("reset_ms", int(RESET_SECONDS * 1000))
    machine.set("boot_ms", int(BOOT_SECONDS * 1000))
    return machine


def _heard(site: Site, machine: Standin) -> list[Figure]:
    """Faults that nothing follows from, one by one, so that there are enough of them for the hundredth part."""
    with ExitStack() as stack:
        _, records = site.settled(machine.library, CHIPS, "singleRecover", stack)
        chip = 0

        def between() -> None:
            nonlocal chip
            machine.clear(chip, weather.NOTED)
            time.sleep(BETWEEN)
            chip = (chip + 1) % CHIPS

        def one() -> float:
            mark = records.mark()
            machine.fault(chip, weather.NOTED)
            records.wait(mark, lambda calls: bool(of(calls, "note")), f"chip {chip} told of a fault")
            (note,) = of(records.since(mark), "note")
            return (note.begin - machine.told_at) * 1000

        found = steady.measured(between, one, HEARD)
        what, took = "the library's callback to the service's queue", found.counted
        return [
            Figure(PART, f"{what}, p50", quantile(took, 0.5), "ms", None, len(took), "", took),
            Figure(PART, f"{what}, p99", quantile(took, 0.99), "ms", 1, len(took)),
            Figure(PART, f"{what}: moments at which the machine was not itself", found.disturbed, ""),
        ]


def _subscribed(site: Site, machine: Standin) -> list[Figure]:
    """Of the command as the packages have it, with the process that drives the chips: the library says when."""
    service, found = site.service(site.plan(CHIPS, CHIPS, "ringRecover", CHIPS, library=str(machine.library))), []

    def came(before: int) -> float:
        while machine.get("subscriptions") == before:
            time.sleep(0.0005)
        return time.monotonic()

    with ThreadPoolExecutor(1) as pool:
        for _ in range(idle.STARTS):
            moment = pool.submit(came, machine.get("subscriptions"))
            with service:
                found.append((moment.result() - service.began) * 1000)
    what = "start to subscribed to the driver's faults"
    return [Figure(PART, f"{what}, p50", quantile(found, 0.5), "ms", 150, len(found), "30 ms (8 containers)")]


def _cycles(site: Site, machine: Standin, strategy: str, stopped: int) -> list[Cycle]:
    with ExitStack() as stack:
        service, records = site.settled(machine.library, CHIPS, strategy, stack)
        return [_one(service, records, machine, n % CHIPS, stopped) for n in range(COUNT)]


def _one(service: Service, records: Records, machine: Standin, chip: int, stopped: int) -> Cycle:
    mark = records.mark()
    machine.fault(chip, weather.REAL)
    records.wait(mark, lambda calls: len(of(calls, "start")) >= stopped, f"chip {chip} faulted, containers started")
    service.until(service.all_well, "end the episode")
    return measured(records.since(mark))


def _figures(case: str, cycles: Sequence[Cycle]) -> list[Figure]:
    first = [c.first_stop * 1000 for c in cycles]
    spread = [(c.last_stop - c.first_stop) * 1000 for c in cycles]
    overhead = [c.overhead * 1000 for c in cycles]
    n = len(cycles)
    return [
        Figure(PART, f"{case}: callback to the first stop, p50", quantile(first, 0.5), "ms", 5, n),
        Figure(PART, f"{case}: callback to the first stop, p99", quantile(first, 0.99), "ms", 25, n),
        Figure(PART, f"{case}: first stop to the last, p50", quantile(spread, 0.5), "ms", 30, n),
        Figure(PART, f"{case}: cmgr's own share of the recovery, median", quantile(overhead, 0.5), "ms", 150, n),
    ]


def _beside_one_that_never_boots(site: Site, machine: Standin) -> list[Figure]:
    with ExitStack() as stack:
        service, records = site.settled(machine.library, CHIPS, "singleRecover", stack)
        machine.set("boot_ms", NEVER_MS)
        machine.fault(0, weather.REAL)
        records.wait(0, lambda calls: bool(of(calls, "reset")), "chip 0 was reset")
        machine.set("boot_ms", int(BOOT_SECONDS * 1000))
        running = []
        for number in range(BESIDE):
            chip, mark = 1 + number % (CHIPS - 1), records.mark()
            machine.fault(chip, weather.REAL)
            records.wait(mark, lambda calls: bool(of(calls, "start")), f"chip {chip} faulted, its container started")
            service.until(lambda: service.phases() == {"verifying": 1, "healthy": CHIPS - 1}, "end this episode")
            running.append(measured(records.since(mark)).running * 1000)
        what = "another ring while one never boots: fault to running again"
        n, reference = len(running), "131 s"
        return [
            Figure(PART, f"{what}, p50", quantile(running, 0.5), "ms", 1000, n, reference),
            Figure(PART, f"{what}, max", max(running), "ms", None, n),
        ]


def _untold(site: Site, machine: Standin) -> list[Figure]:
    with ExitStack() as stack:
        service, records = site.settled(machine.library, CHIPS, "singleRecover", stack)
        waited = []
        for chip in range(UNTOLD):
            mark, began = records.mark(), time.monotonic()
            machine.set("lose", 1)
            machine.fault(chip, weather.REAL)
            records.wait(mark, lambda calls: bool(of(calls, "start")), f"chip {chip} faulted, its container started")
            service.until(service.all_well, "end the episode")
            waited.append((of(records.since(mark), "stop")[0].begin - began) * 1000)
        what = "a fault of which the driver does not tell: to the first stop, max"
        return [Figure(PART, what, max(waited), "ms", 5000, len(waited), "never")]


def _storm(site: Site, machine: Standin) -> list[Figure]:
    with ExitStack() as stack:
        service, records = site.settled(machine.library, CHIPS, "singleRecover", stack)
        rss = service.memory()
        service.forget_peak()
        began = time.monotonic()
        machine.storm(0, weather.EVENTS, int(weather.EVENTS / weather.SECONDS), DISTINCT)
        for chip, after in weather.REAL_FAULTS.items():
            time.sleep(max(0.0, began + after - time.monotonic()))
            machine.fault(chip, weather.REAL)
        hit = {f"bench-{chip}" for chip in weather.REAL_FAULTS}
        records.wait(0, lambda calls: hit <= {c.who for c in of(calls, "start")}, "the containers came back")
        service.until(lambda: machine.get("storm_left") == 0, "hear the storm's end")
        service.until(service.all_well, "end all episodes")
        peak = service.memory("VmHWM")
        with open_reader(service.folder / "state" / "cmgr.db") as database:
            found = {f.code for f in database.faults(since=None, active_only=False) if f.chip == 0}
        return [
            Figure(PART, "storm: distinct faults lost", DISTINCT - len(found), "", 0, DISTINCT),
            *(_served(records, chip) for chip in weather.REAL_FAULTS),
            Figure(PART, "storm: memory, peak over before", peak - rss, "MB", 20),
        ]


def _served(records: Records, chip: int) -> Figure:
    calls = records.since(0)
    at = next(c.begin for c in of(calls, "fault") if c.who == str(chip))
    stopped = next(c.begin for c in of(calls, "stop") if c.who == f"bench-{chip}")
    return Figure(PART, f"storm: a fault on chip {chip} to its first stop", (stopped - at) * 1000, "ms", 100)
