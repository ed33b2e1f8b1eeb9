"""Measures what the service needs when nothing happens, and meanwhile how long commands and starts take."""

import os
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from bench.records import of
from bench.report.figures import Figure, quantile
from bench.service import Plan, Service, cmgr, interpreter, memory
from bench.site import Site

CHIPS, CONTAINERS = 16, 64
SECONDS = 61.0
"""Longer than a resync's period, so that there is one in it wherever it falls."""

STARTS, COMMANDS = 10, 20
PART_IDLE = f"Idle: {CHIPS} chips, {CONTAINERS} containers"
PART_TIMES = "Times that people wait"


def run(site: Site) -> list[Figure]:
    plan = site.plan(CHIPS, 8, "ringRecover", CONTAINERS)
    service = site.service(plan)
    with service:
        service.settle()
        written = service.written_bytes()
        share = processor(service.cpu_seconds, SECONDS)
        idle = [
            Figure(PART_IDLE, "processor", share, "% of a core", 0.5, 1, "0.37 % (8 containers)"),
            Figure(PART_IDLE, "memory (RSS)", service.memory(), "MB", 36, 1, "26.3 MB (8 containers)"),
            Figure(PART_IDLE, "memory (PSS)", service.pss(), "MB"),
            Figure(PART_IDLE, "written to disk", service.written_bytes() - written, "bytes", 0, 1),
        ]
        return [*idle, *_commands(service), *_starts(site)]


def processor(used: Callable[[], float], seconds: float) -> float:
    """Return what share of a core, in %, is used for so many seconds. `used`: the processor time so far."""
    began, cpu = time.monotonic(), used()
    threading.Event().wait(seconds)
    return (used() - cpu) / (time.monotonic() - began) * 100


def on_library(site: Site, library: Path, part: str, chips: str, most: float) -> list[Figure]:
    """Measure a service on the chips of this library. `chips`: what they are called; `most`: % of a core."""
    plan = site.plan(CHIPS, CHIPS, "ringRecover", CONTAINERS, library=str(library))
    with site.service(plan) as service:
        service.settle()
        share = processor(service.cpu_seconds, SECONDS)
        return [
            Figure(part, "start to READY", service.ready_after * 1000, "ms", 1500),
            Figure(part, f"idle, {CHIPS} {chips}: processor", share, "% of a core", most),
            Figure(part, f"idle, {CHIPS} {chips}: memory of the service (RSS)", memory(service.process.pid), "MB", 36),
            Figure(
                part,
                f"idle, {CHIPS} {chips}: memory with the process that drives the chips (PSS)",
                service.pss(),
                "MB",
                44,
            ),
            Figure(part, f"idle, {CHIPS} {chips}: threads of both", service.threads(), "", 18),
        ]


def _starts(site: Site) -> list[Figure]:
    """Return how long the service takes to be ready, on a database that it knows."""
    plan = site.plan(CHIPS, 8, "ringRecover", CONTAINERS)
    service = site.service(plan)
    ready, known = [], []
    for _ in range(STARTS):
        with service:
            ready.append(service.ready_after * 1000)
            known.append(service.known_after * 1000)
    return [
        *_times("start to subscribed to the driver's faults", subscribed(site, plan), 120, "30 ms (8 containers)"),
        *_times("start to READY", ready, 250, ""),
        *_times("start to all containers known", known, None, "2,051 ms (8 containers)"),
    ]


def subscribed(site: Site, plan: Plan) -> list[float]:
    """Return how many milliseconds pass from exec until the driver's watch has been begun."""
    with ExitStack() as stack:
        service, records = site.timed(plan, stack)
        found = []
        for _ in range(STARTS):
            mark = records.mark()
            with service:
                records.wait(mark, lambda calls: bool(of(calls, "watch")), "the driver is watched")
                found.append((of(records.since(mark), "watch")[0].begin - service.began) * 1000)
        return found


def _commands(service: Service) -> list[Figure]:
    config = ["--config", str(service.config)]
    return [
        *_beside_python(["status", *config], 1.7),
        *_beside_python(["version"], 1.5),
        *_times("cmgr status", _walls(["status", *config]), 45, "22 ms"),
        *_times("cmgr version", _walls(["version"]), 18, ""),
        *_times("cmgr history", _walls(["history", *config]), None, ""),
    ]


def _beside_python(args: Sequence[str], most: float) -> list[Figure]:
    """Return what processor time a command takes, and how many times as much as an interpreter that does nothing."""
    # In turn: whatever else this machine does slows both.
    pairs = [(spent([*cmgr(), *args]), spent([*interpreter(), "-c", "pass"])) for _ in range(COMMANDS)]
    own, bare = (quantile(values, 0.5) for values in zip(*pairs, strict=True))
    what = f"cmgr {args[0]}: processor"
    return [
        Figure(PART_TIMES, f"{what}, p50", own, "ms", None, COMMANDS, floor=bare),
        Figure(PART_TIMES, f"{what}, of what a bare interpreter takes", own / bare, "times", most, COMMANDS),
    ]


def spent(command: Sequence[str]) -> float:
    """Return how many milliseconds of processor time the command takes. Raises `ChildProcessError` if it fails."""
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise ChildProcessError(f"{command[0]} ended with {child.returncode}")
    return (used.ru_utime + used.ru_stime) * 1000


def _walls(args: Sequence[str]) -> list[float]:
    return [wall([*cmgr(), *args]) for _ in range(COMMANDS)]


def wall(command: Sequence[str]) -> float:
    """Return how many milliseconds the command takes from outside."""
    began = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return (time.monotonic() - began) * 1000


def _times(what: str, values: Sequence[float], most: float | None, reference: str) -> list[Figure]:
    n = len(values)
    return [
        Figure(PART_TIMES, f"{what}: p50", quantile(values, 0.5), "ms", most, n, reference),
        Figure(PART_TIMES, f"{what}: max", max(values), "ms", None, n),
    ]
