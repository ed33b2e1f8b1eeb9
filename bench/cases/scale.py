"""The same on small and large machines: what grows with chips and containers, and with the history.

Chips are simulated and containers pretended, for a daemon of the size would measure itself. Each is measured on an
empty history, and the middle one on a full one, too.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from bench.cases.cycles import recovery
from bench.cases.idle import processor, wall
from bench.records import Records
from bench.report.figures import Figure, quantile
from bench.service import Plan, Service, cmgr
from bench.site import Site

SIZES = ((1, 8), (8, 64), (64, 512))
"""Chips and containers."""

MIDDLE = SIZES[1]
NOTES = 10_000_000
"""So many lines of timelines are in a full one: as many as can be asked for."""

RESTS = 5.0
"""A service that uses less of a core, in %, has looked through its database, which it does once behind its start."""

EPISODES = 20
COMMANDS = 5
IDLE_SECONDS = 30.0
PART = "Scale"

LIMITS = {"first": 8.0, "idle": 0.5, "memory": 60.0}
"""Of the largest machine (design-2.md, section 4)."""


@dataclass(frozen=True, slots=True)
class Size:
    """The figures of one machine: times in ms, memory in MB, processor in % of a core."""

    first: float
    status: float
    ready: float
    idle: float
    memory: float


ROWS = (
    ("first", "fault to the first stop, p50", "ms"),
    ("status", "cmgr status, p50", "ms"),
    ("ready", "start to READY", "ms"),
    ("idle", "processor, idle", "% of a core"),
    ("memory", "memory (RSS)", "MB"),
)


def run(site: Site) -> list[Figure]:
    sizes = {size: _measured(site, *size) for size in SIZES}
    full = _measured(site, *MIDDLE, notes=NOTES)
    return [
        *_figures("1 chip, 8 containers", sizes[SIZES[0]]),
        *_figures("8 chips, 64 containers", sizes[MIDDLE]),
        *_figures("64 chips, 512 containers", sizes[SIZES[-1]], LIMITS),
        *_growth("8 times the chips and containers, 8 to 64 of them", sizes[MIDDLE], sizes[SIZES[-1]]),
        *_growth(f"{NOTES:,} lines of history, 8 chips, 64 containers", sizes[MIDDLE], full),
    ]


def _figures(case: str, size: Size, limits: Mapping[str, float] = MappingProxyType({})) -> Iterable[Figure]:
    return [Figure(PART, f"{case}: {what}", getattr(size, name), unit, limits.get(name)) for name, what, unit in ROWS]


def _growth(case: str, small: Size, large: Size) -> Iterable[Figure]:
    times = ((what, getattr(large, name) / getattr(small, name)) for name, what, _ in ROWS)
    return [Figure(PART, f"{case}: {what} grows", factor, "times") for what, factor in times]


def _measured(site: Site, chips: int, containers: int, notes: int = 0) -> Size:
    plan = Plan(chips, 1, "singleRecover", containers, max_notes=NOTES)
    records, folder = Records(), site.new_folder()
    with Service(folder, plan, records) as service:
        recovery(service, records, 0, containers // chips)
    if notes:
        _fill(folder / "state" / "cmgr.db", notes)
    with Service(folder, plan, records) as service:
        cycles = [recovery(service, records, n % chips, containers // chips) for n in range(EPISODES)]
    with Service(folder, plan) as service:
        status = quantile(_status(service), 0.5)
        service.settle()
        service.until(lambda: processor(service.cpu_seconds, 1.0) < RESTS, "come to rest")
        idle = processor(service.cpu_seconds, IDLE_SECONDS)
        first = quantile([cycle.first_stop * 1000 for cycle in cycles], 0.5)
        return Size(first, status, service.ready_after * 1000, idle, service.memory())


def _status(service: Service) -> Sequence[float]:
    return [wall([*cmgr(), "status", "--config", str(service.config)]) for _ in range(COMMANDS)]


def _fill(database: Path, notes: int) -> None:
    """Fill the history with what it has already, again and again."""
    with closing(sqlite3.connect(database)) as connection, connection:
        (have,) = connection.execute("SELECT count(*) FROM notes").fetchone()
        connection.execute("CREATE TEMP TABLE more AS SELECT * FROM notes")
        connection.execute("UPDATE more SET id = NULL")
        for _ in range(notes // have):
            connection.execute("INSERT INTO notes SELECT * FROM more")
