"""`cmgr check` on units, with a real systemd."""

from collections.abc import Iterator

import pytest

from cmgr.cli.check.finding import ERROR, OK, WARNING
from cmgr.cli.check.units import units
from cmgr.config.settings import Config, Drivers, Systemd, Unit
from cmgr.drivers.nvml.settings import Nvml
from cmgr.runtimes.systemd.unit import key
from tests.runtimes.systemd.world import SystemdWorld
from tests.support import systemd as support


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
    found = list(units(Config(systemd=Systemd(systemd.socket, named))))
    assert [(finding.state, finding.text) for finding in found] == [
        (OK, "llm.service runs"),
        (OK, "idle.service is down"),
        (WARNING, "lmm.service is not there: systemd knows no such unit"),
    ]


def test_a_unit_without_chips_is_told(systemd: support.Systemd, world: SystemdWorld) -> None:
    world.define("llm.service")
    (finding,) = units(Config(systemd=Systemd(systemd.socket, (Unit("llm.service"),))))
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
    (finding,) = units(Config(systemd=Systemd("/nonexistent/bus", named)))
    assert (finding.what, finding.state) == ("runtime systemd", ERROR)


def test_without_units_nobody_asks_systemd() -> None:
    assert list(units(Config(systemd=Systemd("/nonexistent/bus")))) == []
