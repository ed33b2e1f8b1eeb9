"""A group over three appliances that agree by a real etcd of three nodes, all on this machine; the cost of `[fleet]`.

The chips are simulated. The members of the group are simulated, and timed where cmgr gives the runtime its orders.
"""

import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from typing import Any

from bench.cases.idle import CHIPS as IDLE_CHIPS
from bench.cases.idle import CONTAINERS, SECONDS
from bench.records import Call, Records, of
from bench.report.figures import Figure, quantile
from bench.service import GROUP, Plan, Seat, Service
from bench.site import Site
from bench.weather import REAL
from cmgr.service.door.client import get, order
from tests.support.daemons.daemon import CannotRun
from tests.support.daemons.etcd import Cluster

NAMES = ("a", "b", "c")
MEMBERS = 2
"""So many containers on each appliance, each on a ring of its own."""

ALL = MEMBERS * len(NAMES)
NODES = 3
ROUNDS, KILLS, PAIRS = 40, 5, 3
PART = f"Fleet: a group of {ALL} simulated containers on {len(NAMES)} appliances, etcd of {NODES} nodes"
PART_COST = f"[fleet], idle: {IDLE_CHIPS} chips, {CONTAINERS} containers"


@dataclass(frozen=True, slots=True)
class Round:
    """One round of the group, in seconds. `heard`: from the fault to the first stop on each of the other appliances.

    `spread`: from the first start on any of them to the last; `whole`: from the fault until all run.
    """

    heard: tuple[float, ...]
    spread: float
    whole: float


class Appliances:
    """The services of the fleet by their names, and the record that all of them fill."""

    def __init__(self, services: Mapping[str, Service], records: Records) -> None:
        self._services = services
        self._records = records
        self._rounds = 0

    def settle(self) -> None:
        """Wait until each knows that the group runs everywhere, after the last round."""
        for service in self._services.values():
            service.until(lambda service=service: self._agrees(service), "know that all members run")  # type: ignore[misc]

    def _agrees(self, service: Service) -> bool:
        told: Any = get(service.socket, f"groups/{GROUP}")["groups"]
        fleet = told[0]["fleet"] if told else None
        if fleet is None or (fleet["phase"], fleet["known"]) != ("running", ALL):
            return False
        return bool(fleet["round"] >= self._rounds) and service.all_well()

    def round(self, number: int, cluster: Cluster | None = None) -> Round:
        """Let a chip of one of them fault, and return what the round took when it is over.

        `cluster`: its leader is killed when the first of the others has stopped, and is started again after the round.
        """
        name, chip = NAMES[number % len(NAMES)], number % MEMBERS
        leader = None if cluster is None else cluster.leader()
        mark = self._records.mark()
        order(self._services[name].socket, "inject", chip=chip, code=REAL, assertion="occurred")
        if cluster is not None and leader is not None:
            self._records.wait(mark, lambda calls: _elsewhere(calls, name) != [], "the others have heard of it")
            leader.kill()
        self._records.wait(mark, lambda calls: len(of(calls, "start")) >= ALL, f"a chip of {name} faulted, all started")
        if cluster is not None:
            cluster.start()
        self._rounds += 1
        self.settle()
        return measured(self._records.since(mark), name)


def measured(calls: Sequence[Call], name: str) -> Round:
    """Return what these calls say of the one round that a fault on `name` began."""
    (fault,), starts = of(calls, "fault"), of(calls, "start")
    assert len(of(calls, "stop")) == len(starts) == ALL, f"each member is stopped and started once: {calls}"
    first = {_where(call): call.begin - fault.begin for call in reversed(_elsewhere(calls, name))}
    return Round(tuple(first.values()), starts[-1].begin - starts[0].begin, max(c.end for c in starts) - fault.begin)


def _elsewhere(calls: Sequence[Call], name: str) -> list[Call]:
    """Return the stops on the other appliances, in the order in which they began."""
    return [call for call in of(calls, "stop") if _where(call) != name]


def _where(call: Call) -> str:
    return call.who.partition("-")[0]


def run(site: Site) -> list[Figure]:
    """Return nothing where there is no etcd."""
    try:
        cluster = Cluster(NODES, place=site.folder)
    except CannotRun:
        return []
    with closing(cluster):
        cluster.start()
        with ExitStack() as stack:
            appliances = _started(site, cluster, stack)
            rounds = [appliances.round(number) for number in range(ROUNDS)]
            harder = [appliances.round(number, cluster) for number in range(KILLS)]
        return [*_figures(rounds, harder), *_cost(site, cluster)]


def _started(site: Site, cluster: Cluster, stack: ExitStack) -> Appliances:
    records, services = Records(), dict[str, Service]()
    for name in NAMES:
        plan = Plan(MEMBERS, 1, "singleRecover", MEMBERS, seat=Seat(name, cluster.endpoints, ALL))
        services[name] = stack.enter_context(Service(site.new_folder(), plan, records))
    appliances = Appliances(services, records)
    appliances.settle()
    return appliances


def _figures(rounds: Sequence[Round], harder: Sequence[Round]) -> list[Figure]:
    heard = [seconds * 1000 for each in rounds for seconds in each.heard]
    spread, whole = [each.spread * 1000 for each in rounds], [each.whole * 1000 for each in rounds]
    usual = quantile(whole, 0.5)
    longer = max(each.whole * 1000 - usual for each in harder)
    return [
        Figure(PART, "fault on one to the first stop on another: p50", quantile(heard, 0.5), "ms", 30, len(heard)),
        Figure(PART, "fault on one to the first stop on another: p99", quantile(heard, 0.99), "ms", 150, len(heard)),
        Figure(PART, "first start to the last, p50", quantile(spread, 0.5), "ms", 100, len(spread)),
        Figure(PART, "first start to the last, p99", quantile(spread, 0.99), "ms", None, len(spread)),
        Figure(PART, "fault to all running again, median", usual, "ms", None, len(whole)),
        Figure(PART, "etcd's leader killed in the round: longer by, max", longer, "ms", 3000, len(harder)),
    ]


def _cost(site: Site, cluster: Cluster) -> list[Figure]:
    """Compare a service that is in a fleet with one that is not, side by side."""
    plan = site.plan(IDLE_CHIPS, 8, "ringRecover", CONTAINERS)
    seated = replace(plan, seat=Seat("idle", cluster.endpoints))
    more = []
    for _ in range(PAIRS):
        with site.service(plan) as alone, site.service(seated) as member:
            alone.settle()
            member.settle()
            more.append(member.memory() - alone.memory())
    with site.service(plan) as alone, site.service(seated) as member:
        alone.settle()
        member.settle()
        before, used = alone.cpu_seconds(), member.cpu_seconds()
        threading.Event().wait(SECONDS)
        share = (member.cpu_seconds() - used - (alone.cpu_seconds() - before)) / SECONDS * 100
    return [
        Figure(PART_COST, "processor: more than without by", share, "% of a core", 0.1),
        Figure(PART_COST, "memory (RSS): more than without by, median", quantile(more, 0.5), "MB", 1, len(more)),
    ]
