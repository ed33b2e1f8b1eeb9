"""A systemd unit with Restart=always around docker run: it starts again what cmgr stops, and is told from a person."""

import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packages.conftest import Boot
from tests.packages.machines.machine import Machine
from tests.packages.machines.sim import episode, inject, recovered, simulate
from tests.support.daemons.dockerd import IMAGE, OBEYS, Dockerd
from tests.support.programs import program
from tests.support.service import LATER
from tests.support.waiting import eventually
from tests.system.containers import Containers

UNIT = """
[Unit]
StartLimitIntervalSec=0
[Service]
ExecStartPre=-docker rm --force served
ExecStart=docker run --name served {more}--network none --env ASCEND_VISIBLE_DEVICES=0 {image} /bin/sh -c {command}
Restart=always
RestartSec=100ms
"""


@pytest.fixture
def containers(dockerd: Dockerd) -> Iterator[Containers]:
    made = Containers(dockerd)
    yield made
    made.close()


def served(boot: Boot, installed: Path, containers: Containers, more: str) -> Machine:
    """Return a machine whose unit "served" runs, with a cmgr that knows its container."""
    binds = {"/run/docker.sock": containers.dockerd.socket, "/usr/bin/docker": program("docker")}
    machine = boot(installed, binds=binds)
    simulate(machine, runtime="docker")
    # Doubled, so that systemd does not take it for a variable of its own.
    command = shlex.quote(OBEYS[-1].replace("$", "$$"))
    machine.put("/etc/systemd/system/served.service", UNIT.format(more=more, image=IMAGE, command=command))
    machine.do("systemctl", "daemon-reload")
    machine.do("systemctl", "start", "served")
    eventually(lambda: row(machine).get("status") == "running", why="cmgr knows what the unit runs")
    containers.names = ["served"]
    containers.mark()
    return machine


def row(machine: Machine) -> dict[str, object]:
    rows: list[dict[str, object]] = machine.status()["containers"]
    return next((row for row in rows if row["name"] == "served"), {})


def test_a_unit_is_given_in_to_after_three_stops_and_the_ring_goes_on_when_it_is_stopped(
    boot: Boot, installed: Path, containers: Containers
) -> None:
    machine = served(boot, installed, containers, "")
    machine.do("cmgr", "inject", "0", LATER)
    eventually(lambda: "something starts it again" in str(row(machine).get("reason")), why="cmgr has given in")
    assert containers.count("served", "start") == 4
    assert "stop what starts it" in str(row(machine)["hint"])
    assert machine.show("ActiveState", "served") == "active"
    machine.do("systemctl", "stop", "served")
    machine.do("cmgr", "inject", "0", LATER, "--clear")
    eventually(lambda: (episode(machine, 1) or {}).get("outcome") == "cleared", why="the episode is over")
    assert not containers.is_running("served"), "a person has stopped it, with its unit"


def test_a_container_with_rm_is_left_to_its_unit_and_the_reset_waits(
    boot: Boot, installed: Path, containers: Containers
) -> None:
    machine = served(boot, installed, containers, "--rm ")
    before = containers.id("served")
    inject(machine)
    waits = "waits for served (started with --rm: a stop would remove it)"
    eventually(lambda: waits in machine.status()["rings"][0]["reason"], why="it is told why")
    assert containers.id("served") == before
    assert containers.is_running("served")
    machine.do("systemctl", "stop", "served")
    recovered(machine)
    machine.do("systemctl", "start", "served")
    eventually(lambda: row(machine).get("status") == "running", why="its unit has made it anew")
