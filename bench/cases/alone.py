"""The two things that the deciding thread does for each event, each alone: decide, and write down."""

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bench.report.figures import Figure, quantile
from bench.weather import REAL, code
from cmgr.config.settings import Config
from cmgr.config.tables.catalog import load_catalog
from cmgr.model.containers.outages import count_outages
from cmgr.model.faults.occurrences import MOST_REMEMBERED
from cmgr.model.reduce import reduce
from cmgr.model.turn import Turn
from cmgr.model.values.chips import Chip, ChipId, ChipReport, RingId
from cmgr.model.values.faults import Assertion, Severity
from cmgr.model.values.handling.policy import Policy, Strategy
from cmgr.model.values.messages.commands import Action, ListContainers, Note, ReadRing
from cmgr.model.values.messages.facts import ContainersListed, Event, Fact, FaultReported, Restarted, RingRead, Tick
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import Container, ContainerKey, Kept
from cmgr.store import open_store

CHIPS = 8
COUNT = 500
PART = "Alone: 8 chips, 8 containers"
BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def run(folder: Path) -> list[Figure]:
    node = _machine()
    grave = FaultReported(ChipId(0), REAL, Assertion.OCCURRED, "1.0", int(Severity.major))
    minor = _minor(0, Assertion.OCCURRED)
    one_more = _minor(MOST_REMEMBERED + 1, Assertion.ONCE)
    stormy = node
    for number in range(MOST_REMEMBERED + 1):
        stormy = _reduced(stormy, _minor(number, Assertion.ONCE))[0]
    return [
        *_figures("reduce: a fault that stops 8 containers", lambda _: _reduced(node, grave)),
        *_figures("reduce: a fault that is only noted", lambda _: _reduced(node, minor)),
        *_figures("reduce: one more, on a chip that remembers 512", lambda _: _reduced(stormy, one_more)),
        *_figures("reduce: a tick", lambda _: _reduced(node, Tick())),
        *_counts(node),
        *_saves(folder, node, grave),
    ]


def _minor(number: int, assertion: Assertion) -> FaultReported:
    return FaultReported(ChipId(0), code(number), assertion, "1.0", int(Severity.minor))


def _machine() -> Node:
    """Return eight chips of one ring with a container each, all known and well."""
    policy = replace(Policy(), strategy=Strategy.RING)
    node = Node(policy=policy, catalog=load_catalog(Config()))
    chips = tuple(Chip(ChipId(n), RingId(0), n) for n in range(CHIPS))
    node, commands = reduce(node, Event(BEGAN, Restarted(chips, ("docker",))))
    for command in commands:
        if isinstance(command, ListContainers):
            containers = tuple(_container(n) for n in range(CHIPS))
            node = _reduced(node, ContainersListed(command.id, "docker", containers))[0]
        if isinstance(command, ReadRing):
            reports = tuple(ChipReport(c.id) for c in chips)
            node = _reduced(node, RingRead(command.id, command.ring, reports))[0]
    return node


def _container(number: int) -> Container:
    key = ContainerKey("docker", "", f"{number:064x}")
    return Container(key, f"bench-{number}", frozenset({str(number)}), running=True, run="1", kept=Kept(since=BEGAN))


def _reduced(node: Node, fact: Fact) -> tuple[Node, list[Action], list[Note]]:
    node, commands = reduce(node, Event(BEGAN + timedelta(seconds=1), fact))
    notes = [c for c in commands if isinstance(c, Note)]
    return node, [c for c in commands if not isinstance(c, Note)], notes


def _counts(node: Node) -> list[Figure]:
    """Time what is done for the downtime in each decision."""
    down = replace(node, containers={key: replace(known, running=False) for key, known in node.containers.items()})
    return [
        *_figures("outages: 8 containers are down", lambda _: count_outages(Turn(down, BEGAN), node)),
        *_figures("outages: nobody has changed", lambda _: count_outages(Turn(node, BEGAN), node)),
    ]


def _saves(folder: Path, node: Node, grave: Fact) -> list[Figure]:
    """Time the save that comes before the stops, and the one when nothing has changed."""
    after, actions, notes = _reduced(node, grave)
    with closing(open_store(folder / "alone" / "cmgr.db")) as store:
        store.save(node, (), ())

        def back() -> None:
            store.save(node, (), ())

        writing = _figures("save: a fault that stops 8 containers", lambda _: store.save(after, actions, notes), back)
        store.save(node, (), ())
        return [*writing, *_figures("save: nothing new", lambda _: store.save(node, (), ()))]


def _figures(what: str, work: Callable[[int], object], after: Callable[[], object] = lambda: None) -> list[Figure]:
    values = []
    for n in range(COUNT):
        began = time.perf_counter()
        work(n)
        values.append((time.perf_counter() - began) * 1e6)
        after()
    return [
        Figure(PART, f"{what}: p50", quantile(values, 0.5), "µs", None, COUNT),
        Figure(PART, f"{what}: p99", quantile(values, 0.99), "µs", None, COUNT),
    ]
