"""A service of swarm on a chip that faults: swarm makes another container in the place of each that is stopped.

Reported of every tool that restarts containers beside an orchestrator (moby issues 23704, 36397). Tried in 2026 on cmgr
as it was: cmgr stopped the task, swarm made another, cmgr stopped that, and after the reset cmgr started all the old
ones: three copies on one chip, and all was well.
"""

import fcntl
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from docker.types import ContainerSpec, RestartPolicy, ServiceMode, TaskTemplate

from tests.support.daemons.dockerd import IMAGE, OBEYS
from tests.support.daemons.etcd import free_ports
from tests.support.service import LATER, Service
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker

SECOND = 10**9

LABELS = {
    "kubelet": {
        "io.kubernetes.container.name": "llm",
        "io.kubernetes.docker.type": "container",
        "io.kubernetes.pod.name": "llm-0",
        "io.kubernetes.pod.namespace": "default",
        "io.kubernetes.pod.uid": "0c6ad6c0-0000-4000-8000-000000000001",
        "io.kubernetes.sandbox.id": "8f" * 32,
        "annotation.io.kubernetes.container.restartCount": "0",
    },
    "nomad": {"com.hashicorp.nomad.alloc_id": "b1f3a2d8-0000-4000-8000-000000000001"},
    "balena": {
        "io.balena.app-id": "1",
        "io.balena.service-id": "2",
        "io.balena.service-name": "llm",
        "io.balena.supervised": "true",
    },
    "gpustack": {"runtime.gpustack.ai/workload": "llm", "runtime.gpustack.ai/component": "run"},
}
"""The labels that each sets by itself: of Nomad's only this one stands always."""


class Swarm:
    """A swarm of one node on a private daemon, in which one replica of `llm` is to run on chip 0."""

    def __init__(self, client: Any, delay: int) -> None:
        self._client = client
        client.init_swarm(advertise_addr="127.0.0.1", listen_addr=f"127.0.0.1:{free_ports(1)[0]}")
        spec = ContainerSpec(IMAGE, command=list(OBEYS), env=["ASCEND_VISIBLE_DEVICES=0"])
        again = RestartPolicy(condition="any", delay=delay * SECOND)
        task = TaskTemplate(spec, restart_policy=again, networks=[{"Target": "host"}])  # type: ignore[list-item]  # as the API has it
        client.create_service(task, name="llm", mode=ServiceMode("replicated", 1))

    def made(self) -> int:
        """Return how many containers swarm has made."""
        return len(self._client.containers(all=True, filters={"label": "com.docker.swarm.service.name=llm"}))

    def running(self) -> int:
        return len(self._client.containers(filters={"label": "com.docker.swarm.service.name=llm"}))

    def says(self, availability: str) -> None:
        """Do what `docker node update --availability …` does."""
        (node,) = self._client.nodes()
        spec = {"Availability": availability, "Role": "manager"}
        self._client.update_node(node["ID"], node["Version"]["Index"], spec)


@pytest.fixture
def client(containers: Containers) -> Iterator[Any]:
    """Yield a client of a daemon that leaves its swarm with the test: two at once would be on the same ports."""
    with (Path(tempfile.gettempdir()) / "cmgr-swarm.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with closing(containers.dockerd.client()) as client:
            yield client
            client.leave_swarm(force=True)


def told(service: Service) -> str:
    return " ".join(service.cmgr("status").out.split())


def test_after_a_reset_one_replica_runs_and_cmgr_has_started_none(
    on_docker: Install, containers: Containers, client: Any
) -> None:
    swarm = Swarm(client, delay=5)
    containers.run(Spec("mate", "1"))
    eventually(lambda: swarm.running() == 1, why="the replica runs")
    service = on_docker({})
    service.start()
    assert "swarm starts its own containers" in told(service)
    assert "swarm starts its own containers" in " ".join(service.cmgr("check").out.split())
    does = service.cmgr("reset", "0", "--stop", "--dry-run").out
    assert "starts mate again" in does
    assert "again: that is for who made it" in does
    service.inject(0)
    service.until_said("is over: recovered")
    service.until_over()
    eventually(lambda: (swarm.made(), swarm.running()) == (2, 1), why="swarm has made another")
    assert containers.is_running("mate")
    assert "no longer held: swarm starts another in its place" in service.said()
    assert "start llm" not in service.said()
    eventually(lambda: service.cmgr("status", "--check").code == 0, why="all is well")


def test_from_the_second_successor_on_the_ring_waits_and_the_line_to_type_is_told(
    on_docker: Install, containers: Containers, client: Any
) -> None:
    swarm = Swarm(client, delay=1)
    eventually(lambda: swarm.running() == 1, why="the replica runs")
    service = on_docker({"levels.RestartRequest.reset_after": "1h"})
    service.start()
    service.inject(0, LATER)
    eventually(lambda: "swarm starts another in its place each time" in told(service), why="cmgr has given in")
    assert (swarm.made(), swarm.running()) == (3, 1)
    assert "docker node update --availability drain $(hostname)" in told(service)
    assert service.cmgr("status", "--check").code == 4
    assert service.resets() == ()
    swarm.says("drain")
    eventually(lambda: swarm.running() == 0, why="swarm has taken it away")
    assert service.cmgr("reset", "0").code == 0
    service.until_said("is over: recovered")
    swarm.says("active")
    eventually(lambda: swarm.running() == 1, why="swarm has made another")
    eventually(lambda: service.cmgr("status", "--check").code == 0, why="all is well")
    assert "start llm" not in service.said()


@pytest.mark.parametrize("owner", sorted(LABELS))
def test_what_another_orchestrator_has_made_is_stopped_and_left_to_it(
    on_docker: Install, containers: Containers, owner: str
) -> None:
    containers.run(Spec("theirs", "0", labels=LABELS[owner]), Spec("mate", "1"))
    service = on_docker({})
    service.start()
    service.inject(0)
    service.until_said("is over: recovered")
    service.until_over()
    assert (containers.is_running("theirs"), containers.is_running("mate")) == (False, True)
    assert f"theirs is no longer held: {owner} starts another in its place" in service.said()
    assert service.cmgr("status", "--check").code == 0
