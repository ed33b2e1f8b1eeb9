"""Containers that others keep running, or remove: a systemd unit, docker compose, docker run --rm."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from typing import Any

import pytest
from docker.errors import NotFound

from tests.support.daemons.dockerd import IMAGE, OBEYS, Dockerd
from tests.support.service import LATER
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker


class Unit:
    """As a unit with Restart=always: whenever the container has ended it is started again, a tenth of a second later.

    `ExecStart` is what `start` does. `stop` is `systemctl stop`.
    """

    def __init__(self, dockerd: Dockerd, name: str, start: Callable[[Any], object]) -> None:
        self._dockerd, self._name, self._start = dockerd, name, start
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        with closing(self._dockerd.client()) as client:
            while True:
                with suppress(NotFound):
                    client.wait(self._name, timeout=600)
                if self._stopped.wait(0.1):
                    return
                self._start(client)

    def stop(self) -> None:
        self._stopped.set()
        with closing(self._dockerd.client()) as client:
            client.stop(self._name, timeout=5)
        self._thread.join(60)


@pytest.fixture
def unit(containers: Containers) -> Iterator[Callable[[str, Callable[[Any], object]], Unit]]:
    with ExitStack() as stack:

        def made(name: str, start: Callable[[Any], object]) -> Unit:
            unit = Unit(containers.dockerd, name, start)
            stack.callback(unit._stopped.set)
            return unit

        yield made


MakeUnit = Callable[[str, Callable[[Any], object]], Unit]


def made_anew(client: Any) -> None:
    """Do what `docker rm -f served; docker run --name served …` does."""
    client.remove_container("served", force=True)
    config = client.create_host_config(network_mode="none")
    environment = ["ASCEND_VISIBLE_DEVICES=0"]
    client.create_container(IMAGE, list(OBEYS), name="served", host_config=config, environment=environment)
    client.start("served")


@pytest.mark.parametrize("start", [lambda client: client.start("served"), made_anew], ids=["start", "run"])
def test_what_a_unit_starts_again_is_stopped_three_times_and_then_the_ring_waits_for_a_person(
    on_docker: Install, containers: Containers, unit: MakeUnit, start: Callable[[Any], object]
) -> None:
    service = on_docker({"levels.RestartRequest.reset_after": "1h", "retry.backoff": "100ms"})
    containers.run(Spec("served", "0"), Spec("mate", "1"))
    service.start()
    served = unit("served", start)
    service.inject(0, LATER)
    eventually(lambda: "something starts it again" in reason(service, "served"), why="cmgr has given in")
    assert containers.count("served", "kill") >= 4
    assert not containers.is_running("mate")
    assert "stop what starts it" in service.container("served")["hint"]  # type: ignore[index]  # it is there
    served.stop()
    service.inject(0, LATER, assertion="cleared")
    service.until_over()
    assert containers.is_running("mate")
    assert not containers.is_running("served"), "a person has stopped it, with its unit"


def reason(service: Any, name: str) -> str:
    row = service.container(name)
    return str(row["reason"]) if row is not None else ""


def test_one_that_was_started_with_rm_is_not_stopped_and_the_reset_waits_for_it(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker({})
    with closing(containers.dockerd.client()) as client:
        config = client.create_host_config(network_mode="none", auto_remove=True)
        environment = ["ASCEND_VISIBLE_DEVICES=0"]
        made = client.create_container(IMAGE, list(OBEYS), name="once", host_config=config, environment=environment)
        client.start(made["Id"])
    containers.run(Spec("mate", "1"))
    service.start()
    eventually(lambda: "was started with --rm" in reason(service, "once"), why="it is told beforehand")
    service.inject(0)
    service.until_reason("waits for once (started with --rm: a stop would remove it)")
    assert containers.is_running("once")
    containers.stop("once")
    service.until_said("is over: recovered")
    service.until_over()
    assert containers.is_running("mate")


def test_one_that_can_reach_every_chip_is_named_and_in_nobodys_way_where_the_driver_lists_no_process_of_it(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker({})
    containers.run(Spec("watch", "", binds=("/dev:/dev",)))
    service.start()
    eventually(lambda: "nobody knows which chips it uses" in reason(service, "watch"), why="it is told beforehand")
    for command in ("status", "check"):
        told = " ".join(service.cmgr(command).out.split())
        assert "watch" in told, command
        assert '[containers] ignore = ["watch"], then cmgr reload' in told, command
    service.inject(0)
    service.until_said("is over: recovered")
    service.until_over()
    assert containers.count("watch", "kill") == 0
    service.configure({"containers.ignore": ["watch"]})
    assert service.cmgr("reload").code == 0
    eventually(lambda: "nobody knows which chips it uses" not in " ".join(service.cmgr("check").out.split()))
