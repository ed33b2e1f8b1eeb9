"""Real daemons that hang for longer than cmgr has patience, are cut off in mid-answer, or cannot start what they could.

Killed and restarted ones are in tests/system.
"""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest
from docker.types import Mount

from tests.sick.cutter import Cutter
from tests.sick.wellbeing import recovered, survived, until_told, well
from tests.support.daemons.containerd import Containerd
from tests.support.daemons.dockerd import IMAGE, OBEYS, Dockerd
from tests.support.figures import Figures
from tests.support.service import Service, Setting
from tests.support.waiting import eventually
from tests.system import checks
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec
from tests.system.tasks import Tasks

SECTION = "Sick daemons"

IMPATIENT: Mapping[str, Setting] = {"docker.timeout": "2s", "containerd.timeout": "2s", "resync": "1s"}
"""A start may take 3 s, an event stream of Docker's be silent for 4.3 s."""


class World(checks.Containers, Protocol):
    def run(self, *specs: Spec) -> None: ...

    def is_running(self, name: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class Site:
    """A daemon, its containers, and how services find it: at its socket, or at another."""

    daemon: Dockerd | Containerd
    world: World
    settings: Callable[[str], Mapping[str, Setting]]

    def at(self, socket: str = "") -> Mapping[str, Setting]:
        return {**self.settings(socket or self.daemon.socket), **IMPATIENT}


@pytest.fixture(
    params=[pytest.param("docker", marks=pytest.mark.docker), pytest.param("containerd", marks=pytest.mark.containerd)]
)
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    if request.param == "docker":
        containers = Containers(request.getfixturevalue("dockerd"))
        with closing(containers):
            yield Site(containers.dockerd, containers, lambda s: {"runtimes": ["docker"], "docker.socket": s})
        return
    with closing(Tasks(request.getfixturevalue("containerd"))) as tasks:
        yield Site(tasks.containerd, tasks, lambda s: {"runtimes": ["containerd"], "containerd.address": s})


@contextmanager
def frozen(daemon: Dockerd | Containerd) -> Iterator[None]:
    daemon.freeze()
    try:
        yield
    finally:
        daemon.thaw()


RING = ("one", "two")


def furnish(site: Site) -> None:
    site.world.run(Spec("one", "0"), Spec("two", "1"), Spec("beside", "4"))


def ended_well(service: Service, site: Site) -> None:
    recovered(service)
    assert [r.outcome for r in service.resets()] == ["taken"]
    checks.each_was_stopped_once(site.world, RING)
    checks.resets_were_safe(service, site.world, RING)


def test_a_daemon_that_hangs_at_a_fault_longer_than_every_limit_loses_nothing(
    install: Install, site: Site, figures: Figures
) -> None:
    service = install(site.at())
    furnish(site)
    service.start()
    eventually(lambda: service.container("beside"))
    with frozen(site.daemon):
        service.inject(0)
        until_told(service, "did not answer within")
        service.until_said("cannot list the containers")
        assert service.status()["service"]["state"] == "degraded"
        assert service.resets() == ()
        assert service.running()
    ended_well(service, site)
    survived(figures, SECTION)


def test_a_daemon_that_hangs_when_containers_are_to_be_started_loses_none(
    install: Install, site: Site, figures: Figures
) -> None:
    service = install({**site.at(), "sim.boot_time": "3s", "retry.starts": 1000})
    furnish(site)
    service.start()
    service.inject(0)
    service.until_phase("verifying")
    with frozen(site.daemon):
        # Whether a start is tried before it is known that the daemon is away depends on what is asked first.
        until_told(service, "resuming", "did not answer within")
        until_told(service, "cannot reach")
    ended_well(service, site)
    survived(figures, SECTION)


@pytest.mark.parametrize("after", [0, 100, 1000])
def test_a_daemon_that_is_cut_off_in_mid_answer_loses_nothing(
    install: Install, site: Site, folder: Path, after: int, figures: Figures
) -> None:
    with closing(Cutter(folder / "cut.sock", site.daemon.socket)) as cutter:
        service = install({**site.at(str(cutter.path)), "sim.boot_time": "3s", "retry.starts": 1000})
        furnish(site)
        service.start()
        eventually(lambda: service.container("beside"))
        cutter.after = after
        cutter.cut_all()
        service.inject(0)
        until_told(service, "degraded", "cannot")
        cutter.after = None
        service.until_phase("verifying")
        cutter.after = after
        cutter.cut_all()
        service.until_phase("resuming")
        until_told(service, "degraded", "cannot")
        assert not site.world.all_running()
        cuts = cutter.cuts
        cutter.after = None
        ended_well(service, site)
    assert cuts
    survived(figures, SECTION, faults=cuts)


def test_a_socket_that_is_not_there_at_the_start_may_appear_later(
    install: Install, site: Site, figures: Figures
) -> None:
    furnish(site)
    hidden = Path(f"{site.daemon.socket}.hidden")
    service = install(site.at())
    Path(site.daemon.socket).rename(hidden)
    try:
        service.start()
        until_told(service, "cannot reach", site.daemon.socket)
        service.inject(0)
        service.until_reason("cannot ask")
    finally:
        hidden.rename(site.daemon.socket)
    ended_well(service, site)
    survived(figures, SECTION)


@pytest.mark.docker
def test_a_container_for_whose_mount_docker_waits_is_started_when_that_is_there(
    on_docker: Install, containers: Containers, folder: Path, figures: Figures
) -> None:
    needed = folder / "needed"
    needed.mkdir()
    with closing(containers.dockerd.client()) as client:
        mounts = [Mount("/tmp/needed", str(needed), type="bind")]  # noqa: S108  # A path inside the container.
        config = client.create_host_config(network_mode="none", mounts=mounts)
        client.create_container(
            IMAGE, list(OBEYS), name="needy", host_config=config, environment=["ASCEND_VISIBLE_DEVICES=0"]
        )
    containers.start("needy")
    service = on_docker({})
    service.start()
    eventually(lambda: service.container("needy"))
    shutil.rmtree(needed)
    service.inject(0)
    until_told(service, "needy is down", "bind source path does not exist")
    service.until_said("and it is tried until the runtime is well")
    needed.mkdir()
    eventually(lambda: containers.is_running("needy"))
    service.until_over()
    well(service)
    survived(figures, SECTION)
