"""The same on the driver of NVIDIA GPUs, over the stand-in for its library and nvidia-smi: first stops, storm, idle."""

import time
from collections.abc import Sequence
from contextlib import ExitStack, closing

from bench import weather
from bench.cases import idle
from bench.cases.cycles import CHIPS
from bench.records import of
from bench.report.figures import Figure, quantile
from bench.site import Site
from cmgr.store.reader import open_reader
from tests.fakes.dcmi.build import CannotBuild
from tests.fakes.nvml import hosts
from tests.fakes.nvml.build import Workshop
from tests.fakes.nvml.standin import FakeGpu, Standin

DISTINCT = 400
AT_ONCE = 200
PART = 'driver = "nvml"'

RESETS = (169, 140, 46, 166, 167)
"""Xids of level RestartNPU that no recovery action follows: each round has another, for the same soon after is one."""

OLD, NEW = 535, 580


def run(site: Site) -> list[Figure]:
    """Return nothing where there is no compiler."""
    try:
        workshop = Workshop()
    except CannotBuild:
        return []
    with closing(workshop):
        return [
            *_first_stops(site, _machine(workshop, hosts.host_h100(CHIPS), NEW), "1 container", "singleRecover", 1),
            *_first_stops(site, _machine(workshop, hosts.host_v100(CHIPS), OLD), "8 containers", "ringRecover", CHIPS),
            *_storm(site, _machine(workshop, hosts.host_h100(CHIPS), OLD)),
            *idle.on_library(site, _machine(workshop, hosts.host_h100(idle.CHIPS), NEW).library, PART, "GPUs", 0.1),
        ]


def _machine(workshop: Workshop, gpus: tuple[FakeGpu, ...], release: int) -> Standin:
    machine = Standin(workshop.place(str(release))).create(gpus)
    assert machine.kernel_log.exists()
    return machine


def _first_stops(site: Site, machine: Standin, case: str, strategy: str, stopped: int) -> list[Figure]:
    """From the moment before the library has the event: that its thread wakes is part of it."""
    with ExitStack() as stack:
        service, records = site.settled(machine.library, CHIPS, strategy, stack)
        waited = []
        for xid in RESETS:
            for gpu in range(CHIPS):
                mark, began = records.mark(), time.monotonic()
                machine.xid(gpu, xid)
                records.wait(mark, lambda calls: len(of(calls, "start")) >= stopped, f"GPU {gpu} recovered")
                service.until(service.all_well, "end the episode")
                waited.append((of(records.since(mark), "stop")[0].begin - began) * 1000)
        return _times(f"{case}: Xid to the first stop", waited)


def _times(what: str, values: Sequence[float]) -> list[Figure]:
    n = len(values)
    return [
        Figure(PART, f"{what}, p50", quantile(values, 0.5), "ms", 5, n),
        Figure(PART, f"{what}, p99", quantile(values, 0.99), "ms", 25, n),
    ]


def _storm(site: Site, machine: Standin) -> list[Figure]:
    with ExitStack() as stack:
        service, records = site.settled(machine.library, CHIPS, "singleRecover", stack)
        rss = service.memory()
        service.forget_peak()
        began = time.monotonic()
        for number in range(weather.EVENTS):
            # Unknown Xids, which last where the driver has no recovery action.
            machine.xid(0, 1000 + number % DISTINCT)
            if number % AT_ONCE == 0:
                time.sleep(max(0.0, began + number * weather.SECONDS / weather.EVENTS - time.monotonic()))
        machine.xid(1, RESETS[0])
        sent = time.monotonic()
        records.wait(0, lambda calls: bool(of(calls, "start")), "the container came back")
        service.until(service.all_well, "end all episodes")
        first = next(c.begin for c in of(records.since(0), "stop") if c.who == "bench-1")
        with open_reader(service.folder / "state" / "cmgr.db") as database:
            found = {f.code for f in database.faults(since=None, active_only=False) if f.chip == 0}
        return [
            Figure(PART, "storm: distinct Xids lost", DISTINCT - len(found), "", 0, DISTINCT),
            Figure(PART, "storm: an Xid of another GPU at its end to the first stop", (first - sent) * 1000, "ms", 100),
            Figure(PART, "storm: memory, peak over before", service.memory("VmHWM") - rss, "MB", 20),
        ]
