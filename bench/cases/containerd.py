"""The same recoveries with containers of a private containerd, timed where cmgr gives the runtime its orders."""

from collections.abc import Sequence
from contextlib import ExitStack, closing

from bench.cases.cycles import CHIPS, COUNT, Cycle, recovery
from bench.records import Records
from bench.report.figures import Figure, quantile
from bench.service import Plan, Service
from bench.site import COMMAND, Site
from tests.support.daemons.containerd import IMAGE, Containerd
from tests.support.daemons.daemon import CannotRun

PART = "containerd"


def run(site: Site) -> list[Figure]:
    """Return nothing where no containerd can run."""
    try:
        daemon = Containerd()
    except CannotRun:
        return []
    with closing(daemon):
        daemon.start()
        daemon.import_image()
        for number in range(CHIPS):
            _container(daemon, number)
        single = _cycles(site, Plan(CHIPS, 1, "singleRecover", CHIPS, containerd=daemon.socket), 1)
        ring = _cycles(site, Plan(CHIPS, CHIPS, "ringRecover", CHIPS, containerd=daemon.socket), CHIPS)
        return [*_figures("1 container", single), *_figures("8 containers", ring), *_idle(site, daemon)]


def _container(daemon: Containerd, number: int) -> None:
    chips = f"ASCEND_VISIBLE_DEVICES={number}"
    daemon.ctr("run", "--detach", "--null-io", "--env", chips, IMAGE, f"bench-{number}", *COMMAND)


def _cycles(site: Site, plan: Plan, stopped: int) -> list[Cycle]:
    with ExitStack() as stack:
        records = Records()
        service = stack.enter_context(Service(site.new_folder(), plan, records))
        service.settle()
        return [recovery(service, records, n % CHIPS, stopped) for n in range(COUNT)]


def _figures(case: str, cycles: Sequence[Cycle]) -> list[Figure]:
    first = [c.first_stop * 1000 for c in cycles]
    spread = [(c.last_stop - c.first_stop) * 1000 for c in cycles]
    overhead, whole = [c.overhead * 1000 for c in cycles], [c.running * 1000 for c in cycles]
    n = len(cycles)
    return [
        Figure(PART, f"{case}: callback to the first stop order, p50", quantile(first, 0.5), "ms", 5, n),
        Figure(PART, f"{case}: callback to the first stop order, p99", quantile(first, 0.99), "ms", 25, n),
        Figure(PART, f"{case}: first stop order to the last, p50", quantile(spread, 0.5), "ms", 30, n),
        Figure(PART, f"{case}: first stop order to the last, p99", quantile(spread, 0.99), "ms", 30, n),
        Figure(PART, f"{case}: cmgr's own share, median", quantile(overhead, 0.5), "ms", 150, n),
        Figure(PART, f"{case}: in all, median", quantile(whole, 0.5), "ms", None, n, "2,793 ms (1 container)"),
    ]


def _idle(site: Site, daemon: Containerd) -> list[Figure]:
    plan = Plan(CHIPS, CHIPS, "ringRecover", CHIPS, containerd=daemon.socket)
    with Service(site.new_folder(), plan) as service:
        return [
            Figure(PART, "start to READY", service.ready_after * 1000, "ms", 1500),
            Figure(PART, "memory (RSS)", service.memory(), "MB", 80),
        ]
