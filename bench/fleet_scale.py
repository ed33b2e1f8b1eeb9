"""`python -m bench.fleet_scale`: a large fleet on three real nodes of etcd, and its figures written into docs/fleet.md.

All appliances are threads of one process, beside the nodes. So events and bytes are counted with all of them, and the
rate of writes is measured with few, who leave the machine to etcd.
"""

import os
import re
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta
from pathlib import Path

from cmgr.errors import FleetError
from cmgr.fleet.appliance_text import Keys
from cmgr.fleet.etcd import EtcdFleet
from cmgr.fleet.etcd_wire import watch_asked
from cmgr.fleet.gateway import Access, Gateway, Stream
from cmgr.fleet.registration import Identity
from cmgr.model.values.messages.documents import Document, Entry, EntryState, Outcome
from cmgr.model.values.messages.fleet_facts import GroupSeen
from cmgr.model.values.services.groups import GroupPhase
from cmgr.ports import FleetFact
from tests.running import reaper
from tests.support.daemons.etcd import Cluster
from tests.support.waiting import eventually

APPLIANCES, GROUPS, WIDTH, CONTAINERS = 64, 1000, 4, 2
PAGE = Path(__file__).parents[1] / "docs" / "fleet.md"
PREFIX = "/scale"


class One:
    """An appliance of the fleet, and how much it was told."""

    def __init__(self, name: str, cluster: Cluster) -> None:
        who = Identity(name, Keys(PREFIX), lambda: name.encode().hex().ljust(32, "0"), timedelta(seconds=15))
        self.name = name
        self.fleet = EtcdFleet(who, Gateway(Access(cluster.endpoints)))
        self.groups: set[str] = set()
        self.told = 0

    def hear(self, fact: FleetFact) -> None:
        if isinstance(fact, GroupSeen):
            self.groups.add(fact.group)
            self.told += 1


class Observer:
    """A watch beside the appliances', of which the bytes are counted."""

    def __init__(self, cluster: Cluster) -> None:
        self.bytes = 0
        self.events = 0
        self._gateway = Gateway(Access(cluster.endpoints))
        self._stream: Stream = self._gateway.follow("/v3/watch", watch_asked(f"{PREFIX}/groups/", 0), 30.0)
        threading.Thread(target=self._count, daemon=True).start()

    def _count(self) -> None:
        with suppress(FleetError):  # It ends when it is closed.
            for line in self._stream.lines():
                self.bytes += len(line)
                self.events += line.count(b'"mod_revision"')

    def close(self) -> None:
        self._stream.cut()
        self._gateway.close()


def members(number: int) -> list[str]:
    """Return the appliances of a group."""
    return [f"appliance-{(number * WIDTH + part) % APPLIANCES:02}" for part in range(WIDTH)]


def document(number: int, round_: int, phase: GroupPhase, done: int, state: EntryState) -> Document:
    """Return a document in which so many entries have come to `state` in this round."""
    names = members(number)
    entries = {
        name: Entry(
            round_ if at < done else round_ - 1,
            state if at < done else EntryState.HALTING,
            "" if at < done else "ring 0 is resetting",
            tuple(f"rank{at * CONTAINERS + one}" for one in range(CONTAINERS)),
        )
        for at, name in enumerate(names)
    }
    cause = f"80E24E00 (RestartNPU) on chip 3 of {names[0]}"
    return Document(WIDTH * CONTAINERS, round_, phase, names[0], cause, "2026-01-01T00:00:00Z", members=entries)


def whole_round(fleet: dict[str, One], number: int) -> int:
    """Write all that one round of a group brings. Return how many writes that were."""
    name, names = f"group-{number:04}", members(number)
    steps = [(names[0], document(number, 2, GroupPhase.HALTING, 0, EntryState.READY))]
    for phase, state in ((GroupPhase.HALTING, EntryState.READY), (GroupPhase.STARTING, EntryState.RUNNING)):
        steps += [(who, document(number, 2, phase, at, state)) for at, who in enumerate(names, 1)]
    revision = fleet[names[0]].fleet.read(name).revision
    for who, wanted in steps:
        written = fleet[who].fleet.write(name, wanted, revision)
        assert written.outcome is Outcome.DONE, written
        revision = written.revision
    return len(steps)


@contextmanager
def running(count: int) -> Iterator[tuple[Cluster, dict[str, One]]]:
    with ExitStack() as stack:
        cluster = Cluster(3)
        stack.callback(cluster.close)
        cluster.start()
        fleet = {name: One(name, cluster) for name in (f"appliance-{at:02}" for at in range(count))}
        for one in fleet.values():
            stack.callback(one.fleet.close)
            one.fleet.watch(one.hear)
        eventually(lambda: all(one.fleet.appliances() for one in fleet.values()), "all are registered", 3)
        yield cluster, fleet


def cpu(cluster: Cluster) -> float:
    """Return the seconds of a processor that the nodes have used."""
    ticks = os.sysconf("SC_CLK_TCK")
    stats = [Path(f"/proc/{node.pid}/stat").read_text().rpartition(")")[2].split() for node in cluster.nodes]
    return sum(int(fields[11]) + int(fields[12]) for fields in stats) / ticks


def prepared(one: One, numbers: Iterable[int]) -> None:
    """Write a document for each of these groups, all members running."""
    for number in numbers:
        whole = document(number, 1, GroupPhase.RUNNING, WIDTH, EntryState.RUNNING)
        assert one.fleet.write(f"group-{number:04}", whole, 0).outcome is Outcome.DONE


def of_all() -> Iterator[tuple[str, str]]:
    """Yield what one fault brings where all appliances listen."""
    with running(APPLIANCES) as (cluster, fleet), ExitStack() as stack:
        observer = Observer(cluster)
        stack.callback(observer.close)
        prepared(next(iter(fleet.values())), range(GROUPS))
        eventually(lambda: all(len(one.groups) == GROUPS for one in fleet.values()), "all know all groups", 5)
        begun, used = time.monotonic(), cpu(cluster)
        threading.Event().wait(20)
        share = (cpu(cluster) - used) / (time.monotonic() - begun) / len(cluster.nodes)
        yield "nothing happens: each node of etcd", f"{share:.1%} of a core"
        events, bytes_ = observer.events, observer.bytes
        writes = whole_round(fleet, 7)
        eventually(lambda: observer.events - events >= writes)
        size = (observer.bytes - bytes_) / 1024
        yield f"a fault in a group of {WIDTH} appliances: writes", str(writes)
        yield "the same: told to each appliance", f"{observer.events - events} events, {size:.1f} KiB"
        yield f"the same: sent by etcd to all {APPLIANCES}", f"{size * APPLIANCES:.0f} KiB"
        own = sum(fleet["appliance-00"].name in members(number) for number in range(GROUPS))
        yield (
            f"an appliance fails with its {own} groups: told to each",
            f"{own * writes} events, {size * own / 1024:.2f} MiB",
        )


def of_few() -> Iterator[tuple[str, str]]:
    """Yield how many writes the nodes take where few listen, so that this machine is theirs."""
    with running(WIDTH) as (_, fleet):
        # Of these groups all members are on these appliances.
        numbers = range(0, GROUPS, APPLIANCES // WIDTH)
        prepared(next(iter(fleet.values())), numbers)
        began = time.monotonic()
        with ThreadPoolExecutor(8) as pool:
            writes = sum(pool.map(lambda number: whole_round(fleet, number), numbers))
        rate = writes / (time.monotonic() - began)
        yield f"{len(numbers)} rounds side by side: writes", f"{writes}, {rate:.0f} a second"
        yield f"all {GROUPS} groups in a round at once, at that rate", f"{9 * GROUPS} writes, {9 * GROUPS / rate:.0f} s"


def cluster_version() -> str:
    """Return the version of the nodes."""
    cluster = Cluster()
    cluster.close()
    return ".".join(map(str, cluster.version))


def main() -> None:
    rows = [*of_all(), *of_few()]
    table = "\n".join(["| | |", "|---|---|", *(f"| {what} | {value} |" for what, value in rows)])
    model = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    told = f"{APPLIANCES} appliances and {GROUPS} groups, with three nodes of etcd {cluster_version()}"
    machine = f"{told}, all on one machine with {os.cpu_count()} cores"
    block = f"<!-- measured: scale -->\n{machine} ({model[1] if model else 'unknown'}):\n\n{table}\n<!-- end -->"
    PAGE.write_text(
        re.sub(r"<!-- measured: scale -->.*?<!-- end -->", lambda _: block, PAGE.read_text(), flags=re.DOTALL)
    )
    print(table)


if __name__ == "__main__":
    reaper.guarded()
    main()
