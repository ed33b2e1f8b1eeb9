"""Slow worlds: what becomes of a recovery where the daemon, the disk, the driver or the processors are slow.

In each round a chip faults, and another one while the first waits for whatever is slow.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta

from bench.cases.cycles import CHIPS
from bench.records import PATIENCE, Call, Records, of
from bench.report.figures import Figure, quantile
from bench.service import BOOT_SECONDS, RESET_SECONDS, Service
from bench.site import Site
from bench.weather import REAL
from cmgr.service.door.client import order
from tests.fakes.dcmi import build, hosts
from tests.fakes.dcmi.standin import Standin
from tests.fakes.disk.slow_disk import SlowDisk
from tests.fakes.workshop import CannotBuild

CALL_SECONDS, SYNC_SECONDS, READ_SECONDS = 5.0, 0.5, 2.0
PART = "Slow worlds: 8 chips, 8 containers"


@dataclass(frozen=True, slots=True)
class World:
    """`rounds` of two faults each, the second `apart` seconds after the first: it waits for what is slow by then.

    `most`: the milliseconds within which another chip's first stop must be out.
    """

    name: str
    rounds: int
    apart: float
    most: float | None


@dataclass(frozen=True, slots=True)
class Recovery:
    """From a fault to the first stop, and to running again, in ms."""

    first_stop: float
    running: float


def run(site: Site) -> list[Figure]:
    return [*_slow_daemon(site), *_slow_disk(site), *_slow_driver(site), *_busy(site)]


def _slow_daemon(site: Site) -> list[Figure]:
    """Return nothing where there is no dockerd."""
    if site.docker is None:
        return []
    with ExitStack() as stack:
        # With the usual limits a look that takes 5 s counts as one that hangs.
        plan = replace(site.plan(CHIPS, 1, "singleRecover", CHIPS), more=('docker.timeout = "1m"',))
        service, records = site.timed(plan, stack)
        stack.enter_context(service)
        site.delay(CALL_SECONDS)
        world = World(f"dockerd takes {CALL_SECONDS:g} s for each call", 1, 1.0, 25)
        return _figures(world, service, records, lambda chip: _inject(service, chip))


def _slow_disk(site: Site) -> list[Figure]:
    """Return nothing where there is no compiler."""
    folder = site.new_folder()
    folder.mkdir()
    try:
        disk = SlowDisk(folder)
    except CannotBuild:
        return []
    with closing(disk), ExitStack() as stack:
        plan = replace(site.plan(CHIPS, 1, "singleRecover", CHIPS), environment=disk.environment)
        service, records = site.timed(plan, stack)
        stack.enter_context(service)
        disk.set(timedelta(seconds=SYNC_SECONDS))
        stack.callback(disk.set, timedelta())
        world = World(f"the disk takes {SYNC_SECONDS * 1000:g} ms to sync", 1, SYNC_SECONDS / 5, None)
        return _figures(world, service, records, lambda chip: _inject(service, chip))


def _slow_driver(site: Site) -> list[Figure]:
    """Return nothing where there is no compiler."""
    try:
        workshop = build.Workshop()
    except CannotBuild:
        return []
    with closing(workshop), ExitStack() as stack:
        machine = Standin(workshop.place("one")).create(hosts.host_910b_infer(CHIPS))
        machine.set("reset_ms", int(RESET_SECONDS * 1000))
        machine.set("boot_ms", int(BOOT_SECONDS * 1000))
        plan = site.plan(CHIPS, CHIPS, "singleRecover", CHIPS, library=str(machine.library))
        service, records = site.timed(replace(plan, more=('dcmi.call_timeout = "3s"',)), stack)
        stack.enter_context(service)
        machine.set("read_ms", int(READ_SECONDS * 1000))
        world = World(f"the driver takes {READ_SECONDS:g} s for each read", 1, READ_SECONDS / 2, 25)
        return _figures(world, service, records, lambda chip: machine.fault(chip, REAL))


def _busy(site: Site) -> list[Figure]:
    with ExitStack() as stack:
        service, records = site.timed(site.plan(CHIPS, 1, "singleRecover", CHIPS), stack)
        stack.enter_context(service)
        stack.enter_context(_loops(os.cpu_count() or 1))
        world = World("every processor is busy", 4, 0.1, None)
        return _figures(world, service, records, lambda chip: _inject(service, chip))


@contextmanager
def _loops(count: int) -> Iterator[None]:
    """Let so many processes take all the processor time that they get."""
    loops = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def _inject(service: Service, chip: int) -> None:
    order(service.socket, "inject", chip=chip, code=REAL, assertion="occurred")


def _figures(world: World, service: Service, records: Records, fault: Callable[[int], None]) -> list[Figure]:
    first, other = list[Recovery](), list[Recovery]()
    for number in range(world.rounds):
        mark, pair = records.mark(), (2 * number % CHIPS, (2 * number + 1) % CHIPS)
        fault(pair[0])
        threading.Event().wait(world.apart)
        fault(pair[1])
        why = f"chips {pair} faulted, both started"
        records.wait(mark, lambda calls: len(of(calls, "start")) >= 2, why, within=2 * PATIENCE)
        service.until(service.all_well, "end the episodes")
        calls = records.since(mark)
        first.append(_recovery(calls, pair[0]))
        other.append(_recovery(calls, pair[1]))
    return [*_times(world.name, first, None), *_times(f"{world.name}: another chip meanwhile", other, world.most)]


def _recovery(calls: Sequence[Call], chip: int) -> Recovery:
    """Return what these calls say of the one recovery of this chip in them."""
    (at,) = (call.begin for call in of(calls, "fault") if call.who == str(chip))
    (stop,), (start,) = ([c for c in of(calls, kind) if c.who == f"bench-{chip}"] for kind in ("stop", "start"))
    return Recovery((stop.begin - at) * 1000, (start.end - at) * 1000)


def _times(case: str, found: Sequence[Recovery], most: float | None) -> list[Figure]:
    n = len(found)
    return [
        Figure(
            PART, f"{case}: fault to the first stop, p50", quantile([r.first_stop for r in found], 0.5), "ms", most, n
        ),
        Figure(PART, f"{case}: fault to running again, p50", quantile([r.running for r in found], 0.5), "ms", None, n),
    ]
