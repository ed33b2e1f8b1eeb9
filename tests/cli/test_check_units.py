"""`cmgr check` on units, with a real systemd."""

from collections.abc import Iterator

import pytest

from cmgr.cli.check.finding import ERROR, OK, WARNING
from cmgr.cli.check.units import units
from cmgr.config.settings import Systemd as Settings
from cmgr.config.settings import Unit
from cmgr.runtimes.systemd.unit import key
from tests.runtimes.systemd.world import SystemdWorld
from tests.support.systemd import Systemd


@pytest.fixture
def world(systemd: Systemd) -> Iterator[SystemdWorld]:
    world = SystemdWorld(systemd)
    yield world
    world.close()


def test_each_unit_is_there_or_it_is_told(systemd: Systemd, world: SystemdWorld) -> None:
    world.define("llm.service")
    world.define("idle.service")
    world.start(key("llm.service"))
    named = (Unit("llm.service", (0,)), Unit("idle.service", (1,)), Unit("lmm.service", (0,)))
    found = list(units(Settings(systemd.socket, (*named,))))
    assert [(finding.state, finding.text) for finding in found] == [
        (OK, "llm.service runs"),
        (OK, "idle.service is down"),
        (WARNING, "lmm.service is not there: systemd knows no such unit"),
    ]


def test_a_unit_without_chips_is_told(systemd: Systemd, world: SystemdWorld) -> None:
    world.define("llm.service")
    (finding,) = units(Settings(systemd.socket, (Unit("llm.service"),)))
    assert (finding.state, finding.text) == (WARNING, "llm.service has no chips: no fault concerns it")


def test_a_systemd_that_does_not_answer_is_told_once() -> None:
    (finding,) = units(Settings("/nonexistent/bus", (Unit("llm.service", (0,)), Unit("embed.service", (1,)))))
    assert (finding.what, finding.state) == ("runtime systemd", ERROR)


def test_without_units_nobody_asks_systemd() -> None:
    assert list(units(Settings("/nonexistent/bus"))) == []
