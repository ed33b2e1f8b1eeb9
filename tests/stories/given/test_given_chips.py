"""A chip whose service is down for a moment, or for longer, is not free: it is given.

Tried in 2026 on cmgr as it was: a container that waited for a spare moved at once to the chip of a service that was
down for the two seconds of `systemctl restart docker`, or of `docker rm -f` and `docker run`; `cmgr chips --available`
and `cmgr slot create` handed out the chip of a service that cmgr itself told as down. Two ran on one chip, and all was
well.
"""

from collections.abc import Mapping

import pytest

from cmgr.service.door.client import order
from tests.support.service import Service, Setting
from tests.support.waiting import eventually
from tests.system.conftest import Install, tasks
from tests.system.containers import Containers, Spec
from tests.system.tasks import Tasks

pytestmark = [pytest.mark.docker, pytest.mark.containerd]

__all__ = ["tasks"]

DD = Spec("dd", "1", policy="always")


@pytest.fixture
def service(install: Install, tasks: Tasks, containers: Containers) -> Service:
    """Return a service on which `chat` waits on chip 0, which is isolated, for chip 1, on which `dd` of Docker runs."""
    sockets: Mapping[str, Setting] = {
        "runtimes": ["containerd", "docker"],
        "containerd.address": tasks.containerd.socket,
        "docker.socket": containers.dockerd.socket,
    }
    more: Mapping[str, Setting] = {
        "strategy": "singleRecover",
        "isolation.on_isolate": "stop",
        "sim.chips": 2,
        "sim.ring": 1,
    }
    made = install({**sockets, **more})
    tasks.run(Spec("chat", "0", labels={"cmgr.spare": "auto"}))
    containers.run(DD)
    made.start()
    eventually(lambda: made.runs("chat") and made.runs("dd"), why="cmgr knows both")
    order(made.socket, "isolate", chip=0, reason="its fan is loud")
    eventually(lambda: waits(made), why="chat waits for a spare")
    return made


def waits(service: Service) -> bool:
    row = service.container("chat")
    return row is not None and row["status"] == "paused" and "no spare of its kind is free" in row["reason"]


def never_moved(service: Service) -> bool:
    """Return whether it waits still, once cmgr has looked at everything anew."""
    return waits(service) and "chat moves" not in service.said()


def test_nothing_moves_to_the_chip_of_a_service_that_is_down_while_docker_is_restarted(
    service: Service, containers: Containers
) -> None:
    containers.dockerd.stop()
    service.until_said("cannot reach docker")
    assert never_moved(service)
    containers.dockerd.start()
    eventually(lambda: containers.is_running("dd") and service.runs("dd"), why="its policy has brought it back")
    assert never_moved(service)


def test_nothing_moves_to_the_chip_of_a_service_that_is_redeployed(service: Service, containers: Containers) -> None:
    for _ in range(3):
        containers.remove("dd")
        eventually(lambda: service.container("dd") is None, why="cmgr knows that it is gone")
        assert never_moved(service)
        containers.run(DD)
        eventually(lambda: service.runs("dd"), why="cmgr knows the new one")
    assert never_moved(service)


def test_nothing_moves_to_the_chip_of_a_service_that_a_person_restarts(
    service: Service, containers: Containers
) -> None:
    containers.stop("dd")
    eventually(lambda: service.container("dd") is None, why="cmgr knows that a person has stopped it")
    assert never_moved(service)
    containers.start("dd")
    eventually(lambda: service.runs("dd"), why="cmgr knows that it runs")
    assert never_moved(service)


def test_the_chip_of_a_service_that_is_told_as_down_is_handed_out_to_nobody(
    install: Install, containers: Containers
) -> None:
    service = install({"runtimes": ["docker"], "docker.socket": containers.dockerd.socket, "sim.chips": 2})
    containers.run(Spec("dd", "1"))
    service.start()
    containers.crash("dd")
    eventually(lambda: "cmgr forget dd" in " ".join(service.cmgr("status").out.split()), why="it is told as down")
    assert service.cmgr("chips", "--available").out.strip() == "0"
    for more in ((), ("--reserve", "5m")):
        assert service.cmgr("chips", "--available", "--count", "2", *more).code != 0
    refused = service.cmgr("slot", "create", "new", "--chips", "1")
    assert refused.code != 0
    assert "dd is down, and is to run again on chip 1" in refused.err
    assert [chip["available"] for chip in service.status()["chips"]] == [True, False]
    assert service.cmgr("forget", "dd").code == 0
    assert service.cmgr("slot", "create", "new", "--chips", "1").code == 0


def test_whoever_is_started_on_the_chip_that_cmgr_has_moved_one_to_is_told_with_it(
    service: Service, containers: Containers
) -> None:
    containers.arm("dd", "no")
    containers.crash("dd")
    eventually(lambda: not service.runs("dd"), why="cmgr knows that it is down")
    assert service.cmgr("forget", "dd").code == 0
    eventually(lambda: service.runs("chat"), why="it has moved to what nobody wants any more")
    containers.run(Spec("late", "1"))
    eventually(lambda: service.runs("late"), why="cmgr knows it")
    told = service.cmgr("status", "--check")
    assert told.code == 4
    assert "chip 1 is used by chat and late: cmgr has moved chat there" in " ".join(told.out.split())
    containers.remove("late")
    eventually(lambda: "chip 1 is used by" not in " ".join(service.cmgr("status").out.split()), why="it is over")
