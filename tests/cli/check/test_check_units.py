"""`cmgr check` on units, with a real systemd."""

from collections.abc import Iterator
from typing import Any

import pytest

from cmgr.cli.check.finding import ERROR, OK, WARNING, Finding
from cmgr.cli.check.units import clients, units
from cmgr.config.settings import Config, Drivers, Systemd, Unit
from cmgr.drivers.nvml.settings import Nvml
from cmgr.runtimes.systemd.unit import key
from tests.runtimes.systemd.world import SystemdWorld
from tests.support.daemons import systemd as support


@pytest.fixture
def world(systemd: support.Systemd) -> Iterator[SystemdWorld]:
    world = SystemdWorld(systemd)
    yield world
    world.close()


def test_each_unit_is_there_or_it_is_told(systemd: support.Systemd, world: SystemdWorld) -> None:
    world.define("llm.service")
    world.define("idle.service")
    world.start(key("llm.service"))
    named = (Unit("llm.service", (0,)), Unit("idle.service", (1,)), Unit("lmm.service", (0,)))
    found = list(units(Config(systemd=Systemd(systemd.socket, units=named))))
    assert [(finding.state, finding.text) for finding in found] == [
        (OK, "llm.service runs"),
        (OK, "idle.service is down"),
        (WARNING, "lmm.service is not there: systemd knows no such unit"),
    ]


def test_a_unit_without_chips_is_told(systemd: support.Systemd, world: SystemdWorld) -> None:
    world.define("llm.service")
    (finding,) = units(Config(systemd=Systemd(systemd.socket, units=(Unit("llm.service"),))))
    assert (finding.state, finding.text) == (WARNING, "llm.service has no chips: no fault concerns it")


def test_units_that_are_stopped_for_resets_are_there_or_it_is_told(
    systemd: support.Systemd, world: SystemdWorld
) -> None:
    world.define("dcgm.service")
    world.start(key("dcgm.service"))
    stopped = Drivers(nvml=Nvml(stop_units=("dcgm.service", "dgcm.service")))
    found = units(Config(systemd=Systemd(systemd.socket), drivers=stopped))
    assert [(finding.state, finding.text) for finding in found] == [
        (OK, "dcgm.service runs, and is stopped for each reset while it runs"),
        (WARNING, "dgcm.service (nvml.stop_units) is not there: systemd knows no such unit"),
    ]


def test_a_systemd_that_does_not_answer_is_told_once() -> None:
    named = (Unit("llm.service", (0,)), Unit("embed.service", (1,)))
    (finding,) = units(Config(systemd=Systemd("/nonexistent/bus", units=named)))
    assert (finding.what, finding.state) == ("runtime systemd", ERROR)


def test_without_units_nobody_asks_systemd() -> None:
    assert list(units(Config(systemd=Systemd("/nonexistent/bus")))) == []


def shown(name: str, unit: str = "") -> Any:
    """Return what is read of a container's row."""
    return {"name": name, "id": f"id of {name}", "unit": unit}


RUNNING = {"llm.service": frozenset({"llm", "id of tokenizer"}), "web.service": frozenset({"nginx"})}


def test_a_unit_that_runs_a_container_of_cmgrs_is_told_with_what_to_do() -> None:
    rows = [shown("llm"), shown("tokenizer"), shown("embed", "embed.service"), shown("lone")]
    hint = "give the container the label cmgr.unit=llm.service; or set systemd.adopt = true"
    assert list(clients(Config(), rows, RUNNING)) == [
        Finding("unit", OK, "embed.service is stopped and started in the place of embed"),
        Finding("unit", WARNING, "llm.service runs llm and starts it again when cmgr stops it", hint),
        Finding("unit", WARNING, "llm.service runs tokenizer and starts it again when cmgr stops it", hint),
    ]


def test_without_a_service_the_units_that_run_containers_are_told_all_the_same() -> None:
    found = list(clients(Config(), None, RUNNING))
    assert [(f.state, f.text) for f in found] == [
        (OK, "llm.service runs id of tokenizer, llm"),
        (OK, "web.service runs nginx"),
    ]
    assert found[1].hint.startswith("if that uses chips: give the container the label cmgr.unit=web.service")
    assert [f.hint for f in clients(Config(systemd=Systemd(adopt=True)), None, RUNNING)] == ["", ""]
