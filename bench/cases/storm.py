"""The service in the storm of `bench.weather`."""

from contextlib import ExitStack
from pathlib import Path

from bench import weather
from bench.records import Records, of
from bench.report.figures import Figure
from bench.service import Service
from bench.site import Site
from cmgr.store.reader import open_reader

CHIPS = 8
PART = "Storm: 20,000 events in 10 s on one chip"


def run(site: Site) -> list[Figure]:
    with ExitStack() as stack:
        service, records = site.timed(site.plan(CHIPS, 1, "singleRecover", CHIPS), stack)
        stack.enter_context(service)
        service.settle()
        rss, cpu, stored = service.memory(), service.cpu_seconds(), service.stored_bytes()
        service.forget_peak()
        service.order("storm")
        _ride_out(service, records)
        used, peak, grown = service.cpu_seconds() - cpu, service.memory("VmHWM"), service.stored_bytes() - stored
        own = used - _of_the_stand_in(service, records)
        found = _stored(service.folder / "state" / "cmgr.db")
        return [
            Figure(PART, "distinct faults lost", len(weather.sent() - found), "", 0, len(weather.sent())),
            *(_served(records, chip, after) for chip, after in weather.REAL_FAULTS.items()),
            Figure(PART, "memory, peak over before", peak - rss, "MB", 20, reference="2.1 MB over idle"),
            Figure(PART, "processor time, the simulated chips' apart", own, "s", 2.5, 1, "2.5 s (in 95 s)"),
            Figure(PART, "processor time of the simulated chips", used - own, "s"),
            Figure(PART, "growth of the database", grown / 1e6, "MB"),
        ]


def _ride_out(service: Service, records: Records) -> None:
    last, within = max(weather.REAL_FAULTS), max(weather.REAL_FAULTS.values()) + 60
    records.wait(
        0, lambda calls: str(last) in {c.who for c in of(calls, "fault")}, "the last fault came", within=within
    )
    hit = {f"bench-{chip}" for chip in weather.REAL_FAULTS}
    records.wait(0, lambda calls: hit <= {c.who for c in of(calls, "start")}, "the containers came back")
    service.until(service.all_well, "end all episodes")


def _of_the_stand_in(service: Service, records: Records) -> float:
    """Return the processor time, in seconds, that the simulated chips took in the service's process."""
    mark = records.mark()
    service.order("spent")
    records.wait(mark, lambda calls: bool(of(calls, "stand-in")), "the child told what the storm cost")
    return of(records.since(mark), "stand-in")[0].end


def _served(records: Records, chip: int, after: float) -> Figure:
    calls = records.since(0)
    at = next(c.begin for c in of(calls, "fault") if c.who == str(chip))
    stopped = next(c.begin for c in of(calls, "stop") if c.who == f"bench-{chip}")
    reference = {1: "116 ms", 2: "lost", 3: "lost", 4: "184 ms"}
    what = f"a fault on another chip at {after:g} s: to its first stop"
    return Figure(PART, what, (stopped - at) * 1000, "ms", 100, 1, reference[chip])


def _stored(path: Path) -> frozenset[str]:
    with open_reader(path) as database:
        return frozenset(f.code for f in database.faults(since=None, active_only=False) if f.chip == 0)
