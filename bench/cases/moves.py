"""Moves to spare chips, one after the other: what cmgr adds to the container's own stop and start."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial

from docker.types import DeviceRequest

from bench.cases.cycles import CHIPS, COUNT
from bench.records import Records, covered, of
from bench.report.figures import Figure, quantile
from bench.service import Plan, Service
from bench.site import COMMAND, Site
from cmgr.service.door.client import order
from tests.support.daemons.containerd import IMAGE, Containerd
from tests.support.daemons.daemon import CannotRun
from tests.support.daemons.dockerd import IMAGE as DOCKERS
from tests.support.daemons.dockerd import Dockerd

PART = "Move to a spare chip: first stop to running there"
SLOT = "chat"
PLAN = Plan(CHIPS, 1, "singleRecover", 0)


def run(site: Site) -> list[Figure]:
    """Return the figures of containerd, where that can run, and of Docker from 25 on."""
    return [*_on_containerd(site), *_on_docker(site)]


def _on_containerd(site: Site) -> list[Figure]:
    try:
        daemon = Containerd()
    except CannotRun:
        return []
    with ExitStack() as stack:
        stack.enter_context(closing(daemon))
        daemon.start()
        daemon.import_image()
        folder, records = site.new_folder(), Records()
        plan = replace(PLAN, containerd=daemon.socket, cdi=str(folder / "cdi"))
        service = stack.enter_context(Service(folder, plan, records))

        def make() -> None:
            # As nerdctl makes it of --device cmgr.io/slot=chat.
            given = [word for line in (f"CMGR_SLOT={SLOT}", "CMGR_CHIPS=0") for word in ("--env", line)]
            daemon.ctr("run", "--detach", "--null-io", *given, IMAGE, SLOT, *COMMAND)

        return _figures("containerd", list(_moves(service, records, make)))


def _on_docker(site: Site) -> list[Figure]:
    docker = site.docker
    if docker is None or not docker.knows_cdi:
        return []
    with ExitStack() as stack:
        plan = replace(PLAN, docker=docker.socket, cdi=str(docker.cdi))
        stack.callback(_remove, docker)
        service, records = site.timed(plan, stack)
        stack.enter_context(service)
        return _figures("Docker", list(_moves(service, records, lambda: _make(docker))))


def _make(docker: Dockerd) -> None:
    with closing(docker.client()) as client:
        asked = [DeviceRequest(driver="cdi", device_ids=[f"cmgr.io/slot={SLOT}"])]
        host = client.create_host_config(network_mode="none", device_requests=asked)
        client.start(client.create_container(DOCKERS, list(COMMAND), name=SLOT, host_config=host)["Id"])


def _remove(docker: Dockerd) -> None:
    with closing(docker.client()) as client:
        client.remove_container(SLOT, force=True)


def _moves(service: Service, records: Records, make: Callable[[], None]) -> Iterator[tuple[float, float]]:
    """Make a container on a slot, and yield of each of its moves what it took, and cmgr's own share, in seconds."""
    order(service.socket, "slot-create", slot=SLOT, chips="0")
    make()
    service.until(lambda: bool(_chips(service)), "know the container")
    for _ in range(COUNT):
        (chip,), mark = _chips(service), records.mark()
        order(service.socket, "isolate", chip=chip, reason="measured")
        records.wait(mark, lambda calls: bool(of(calls, "start")), "the container is started")
        service.until(partial(_is_moved, service, chip), "move it")
        calls = records.since(mark)
        stops, starts = of(calls, "stop"), of(calls, "start")
        whole = starts[-1].end - stops[0].begin
        yield whole, whole - covered(stops) - covered(starts)
        order(service.socket, "release", chip=chip)


def _is_moved(service: Service, chip: int) -> bool:
    return chip not in (_chips(service) or [chip]) and service.all_well()


def _chips(service: Service) -> list[int]:
    """Return the chips of the container while it runs."""
    return [chip for row in service.status()["containers"] if row["status"] == "running" for chip in row["chips"]]


def _figures(case: str, moves: Sequence[tuple[float, float]]) -> list[Figure]:
    whole, own = ([1000 * move[n] for move in moves] for n in (0, 1))
    return [
        Figure(
            PART, f"{case}: beyond the container's own stop and start, p50", quantile(own, 0.5), "ms", 150, len(own)
        ),
        Figure(
            PART, f"{case}: beyond the container's own stop and start, p99", quantile(own, 0.99), "ms", 150, len(own)
        ),
        Figure(PART, f"{case}: in all, median", quantile(whole, 0.5), "ms", None, len(whole)),
    ]
