"""Containers that units run: the real service, a real systemd, a real Docker daemon, simulated chips."""

import re
import shlex
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from cmgr.runtimes.systemd.unit import key
from tests.runtimes.systemd.conftest import world
from tests.runtimes.systemd.world import SystemdWorld
from tests.support.daemons.containerd import IMAGE as CONTAINERDS
from tests.support.daemons.containerd import Containerd
from tests.support.daemons.dockerd import IMAGE, OBEYS
from tests.support.daemons.podman import Podman
from tests.support.programs import program
from tests.support.service import LATER, Service, Setting
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, has_begun

__all__ = ["world"]

pytestmark = pytest.mark.docker

LLM = "llm@0.service"
WAITS = {"levels.RestartRequest.reset_after": "1h"}

Serve = Callable[..., Service]


@pytest.fixture
def serve(on_docker: Install, containers: Containers, world: SystemdWorld) -> Iterator[Serve]:
    """Install a service, and an instance of a template unit that runs a container on chip 0.

    `more`: options of `docker run` beside its name; `unit`: settings of the unit.
    """

    services: list[Service] = []

    def made(more: str = "--label cmgr.unit=%n", *, unit: dict[str, str] | None = None, **settings: Setting) -> Service:
        service = on_docker({"systemd.bus": world.systemd.socket, **settings})
        services.append(service)
        world.systemd.define("llm@.service", ExecStart=run(containers, more), **(unit or {}))
        world.start(key(LLM))
        eventually(lambda: alive(containers), why="its container runs")
        return service

    yield made
    # A unit that systemd starts again and again, or that cmgr does, would be found by the next test.
    for service in services:
        service.close()
    world.stop(key(LLM))


def run(containers: Containers, more: str) -> str:
    docker = f"{program('docker')} --host unix://{containers.dockerd.socket}"
    # Doubled, so that systemd does not take it for a variable of its own.
    command = shlex.quote(OBEYS[-1].replace("$", "$$"))
    words = f"run --rm --name llm --network none --env ASCEND_VISIBLE_DEVICES=0 {more} {IMAGE} /bin/sh -c {command}"
    return f"{docker} {words}"


def alive(containers: Containers) -> list[str]:
    """Return the id of the container that the unit runs, once that has begun its work."""
    with closing(containers.dockerd.client()) as client:
        found = client.containers(filters={"name": "^/llm$"})
        return [str(row["Id"]) for row in found if has_begun(client, row["Id"])]


def row(service: Service, name: str) -> dict[str, Any]:
    return service.container(name) or {}


def warned(service: Service) -> str:
    return " ".join(row(service, "llm").get("warnings", []))


def knows(service: Service) -> None:
    eventually(
        lambda: row(service, "llm").get("unit") == LLM and row(service, LLM).get("chips") == [0], why="it is covered"
    )


def test_the_unit_is_stopped_and_started_and_its_container_is_another_one_then(
    serve: Serve, containers: Containers, world: SystemdWorld
) -> None:
    service = serve(unit={"Restart": "always", "RestartSec": "0"})
    (before,) = alive(containers)
    service.start()
    knows(service)
    assert f"{LLM} is stopped and started in its place" in " ".join(service.cmgr("status").out.split())
    service.inject(0)
    service.until_said("is over: recovered")
    service.until_over()
    texts = [note.text for note in service.notes(1)]
    assert [t for t in texts if t.startswith(("stop ", "start "))] == [f"stop {LLM} (grace 90 s)", f"start {LLM}"]
    eventually(lambda: alive(containers) not in ([], [before]), why="the unit has made it anew")
    assert world.running(key(LLM))
    eventually(lambda: row(service, "llm").get("unit") == LLM, why="the new one is covered, too")
    assert "all is well" in service.cmgr("status").out


def test_the_hold_survives_that_the_container_is_gone_and_cmgr_is_killed(
    serve: Serve, containers: Containers, world: SystemdWorld
) -> None:
    service = serve(unit={"Restart": "always", "RestartSec": "0"}, **WAITS)
    service.start()
    knows(service)
    service.inject(0, LATER)
    eventually(lambda: not world.running(key(LLM)), why="the unit is down")
    service.until_reason("RestartRequest")
    assert alive(containers) == []
    service.kill9()
    service.start()
    eventually(lambda: row(service, LLM).get("status") == "paused", why="it is held")
    assert row(service, LLM)["chips"] == [0]
    service.inject(0, LATER, assertion="cleared")
    service.until_over()
    eventually(lambda: alive(containers), why="its container runs again")


def test_a_container_whose_client_was_killed_is_stopped_before_the_reset(
    serve: Serve, containers: Containers, world: SystemdWorld
) -> None:
    service = serve(unit={"KillSignal": "SIGKILL", "ExecStartPre": "-" + remove(containers)})
    (before,) = alive(containers)
    service.start()
    knows(service)
    service.inject(0)
    service.until_said("runs on though its unit")
    service.until_said("is over: recovered")
    assert [r.outcome for r in service.resets()] == ["taken"]
    eventually(lambda: alive(containers) not in ([], [before]), why="the unit has made it anew")


def remove(containers: Containers) -> str:
    return f"{program('docker')} --host unix://{containers.dockerd.socket} rm --force llm"


def test_a_unit_that_a_person_stops_is_not_started(serve: Serve, containers: Containers, world: SystemdWorld) -> None:
    service = serve(**WAITS)
    service.start()
    knows(service)
    world.stop(key(LLM))
    eventually(lambda: not row(service, LLM), why="it is not cmgr's any more")
    service.inject(0, LATER)
    service.until_reason("RestartRequest")
    service.inject(0, LATER, assertion="cleared")
    service.until_over()
    assert not world.running(key(LLM))
    assert "all is well" in service.cmgr("status").out


def test_a_unit_whose_container_crashes_in_the_fault_is_started_again(
    serve: Serve, containers: Containers, world: SystemdWorld
) -> None:
    service = serve(**WAITS)
    service.start()
    knows(service)
    containers.crash("llm")
    eventually(lambda: not world.running(key(LLM)), why="the unit failed")
    # By its code alone, 137, nobody could tell whether a person had killed it.
    eventually(lambda: row(service, LLM).get("status") == "down", why="cmgr has heard of it")
    service.inject(0)
    service.until_said("is over: recovered")
    eventually(lambda: alive(containers), why="its container runs again")


def test_a_label_that_names_no_unit_or_anothers_is_told_and_the_container_is_stopped_itself(
    on_docker: Install, containers: Containers, world: SystemdWorld
) -> None:
    service = on_docker({"systemd.bus": world.systemd.socket})
    labelled(containers, "nowhere.service")
    others = world.define("others.service", chips=())
    world.start(others)
    life = world.systemd.property(others.id, "InvocationID")
    labelled(containers, others.id, "spy")
    service.start()
    eventually(
        lambda: "systemd knows no such unit" in " ".join(row(service, "llm").get("warnings", [])), why="it is told"
    )
    eventually(lambda: "is not obeyed: neither" in " ".join(row(service, "spy").get("warnings", [])), why="so is this")
    service.inject(0)
    service.until_said("is over: recovered")
    assert containers.count("llm", "start") == 1
    assert containers.count("spy", "start") == 1
    assert world.systemd.property(others.id, "InvocationID") == life


def test_without_systemd_the_label_is_a_warning_and_no_ring_waits_for_it(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker({"systemd.bus": "/nonexistent/bus"})
    labelled(containers, "llm.service")
    service.start()
    eventually(lambda: "systemd does not answer" in warned(service), why="it is told")
    service.inject(0)
    service.until_said("is over: recovered")
    assert containers.count("llm", "start") == 1


def labelled(containers: Containers, unit: str, name: str = "llm") -> None:
    with closing(containers.dockerd.client()) as client:
        config = client.create_host_config(network_mode="none")
        environment = ["ASCEND_VISIBLE_DEVICES=0"]
        made = client.create_container(
            IMAGE, list(OBEYS), name=name, host_config=config, environment=environment, labels={"cmgr.unit": unit}
        )
        client.start(made["Id"])
    containers.names.append(name)
    containers.mark()


def test_a_unit_is_found_by_its_client_and_adopted_if_that_is_set(
    serve: Serve, containers: Containers, world: SystemdWorld
) -> None:
    service = serve("", unit={"Restart": "always", "RestartSec": "0"})
    service.start()
    eventually(lambda: row(service, "llm"), why="it is known")
    assert row(service, "llm")["unit"] == ""
    assert f"{LLM} runs llm and starts it again when cmgr stops it" in " ".join(service.cmgr("check").out.split())
    service.terminate()
    service.configure({"systemd.adopt": True})
    service.start()
    knows(service)
    assert f"{LLM} is stopped and started in the place of llm" in " ".join(service.cmgr("check").out.split())
    service.inject(0)
    service.until_said("is over: recovered")
    service.until_said(f"{LLM} is stopped")
    eventually(lambda: alive(containers), why="its container runs again")
    eventually(lambda: row(service, "llm").get("unit") == LLM, why="the new one is found, too")


def test_what_a_unit_runs_as_quadlet_does_is_found_by_podmans_monitor(
    install: Install, podman: Podman, world: SystemdWorld
) -> None:
    service = install({"runtimes": ["docker"], "docker.socket": podman.socket, "systemd.bus": world.systemd.socket})
    world.define("quadlet.service", chips=(), **quadlet(podman))
    world.start(key("quadlet.service"))
    (before,) = of_podman(podman)
    service.start()
    eventually(lambda: row(service, "llm"), why="it is known")
    assert "quadlet.service runs llm and starts it again" in " ".join(service.cmgr("check").out.split())
    service.terminate()
    service.configure({"systemd.adopt": True})
    service.start()
    eventually(lambda: row(service, "llm").get("unit") == "quadlet.service", why="its unit is found")
    service.inject(0)
    service.until_said("quadlet.service is stopped")
    service.until_said("is over: recovered")
    eventually(lambda: of_podman(podman) not in ([], [before]), why="the unit has made it anew")


def quadlet(podman: Podman) -> dict[str, str]:
    """Return what quadlet writes into a unit; the limit and the network are what this sandbox needs."""
    command = shlex.quote(OBEYS[-1].replace("$", "$$"))
    here = "--network=none --pids-limit=-1 --env ASCEND_VISIBLE_DEVICES=0"
    how = f"run --name=llm --replace --rm --cgroups=split --sdnotify=conmon -d {here} {IMAGE} /bin/sh -c {command}"
    return {
        "Type": "notify",
        "NotifyAccess": "all",
        "Delegate": "yes",
        "KillMode": "mixed",
        "ExecStart": f"/usr/bin/env {' '.join(podman.command())} {how}",
        "ExecStop": f"/usr/bin/env {' '.join(podman.command())} rm --force --ignore llm",
    }


def of_podman(podman: Podman) -> list[str]:
    with closing(podman.client()) as client:
        return [str(row["Id"]) for row in client.containers()]


def test_a_unit_around_containerds_own_client_is_stopped_in_its_containers_place(
    install: Install, containerd: Containerd, world: SystemdWorld
) -> None:
    service = install(
        {
            "runtimes": ["containerd"],
            "containerd.address": containerd.socket,
            "systemd.bus": world.systemd.socket,
        }
    )
    namespace = containerd.namespaces[0]
    command = shlex.quote(OBEYS[-1].replace("$", "$$"))
    words = "--rm --null-io --snapshotter native --env ASCEND_VISIBLE_DEVICES=0 --label cmgr.unit=%n"
    client = f"{program('ctr')} --address {containerd.socket} --namespace {namespace}"
    run = f"{client} run {words} {CONTAINERDS} llm /bin/sh -c {command}"
    world.define(LLM, chips=(), ExecStart=run, Restart="always", RestartSec="0")
    world.start(key(LLM))
    before = alive_in(containerd)
    service.start()
    knows(service)
    service.inject(0)
    service.until_said(f"{LLM} is stopped")
    service.until_said("is over: recovered")
    assert [r.outcome for r in service.resets()] == ["taken"]
    assert alive_in(containerd) != before


def alive_in(containerd: Containerd) -> str:
    """Return the process of the container that the unit runs, once there is one."""
    found = eventually(
        lambda: re.search(r"(?m)^llm +([0-9]+) +RUNNING", containerd.ctr("tasks", "ls")), why="its container runs"
    )
    assert found is not None
    return found[1]
