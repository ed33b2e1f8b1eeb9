"""The process that drives the chips, begun before the service knows what it is to drive."""

import os
from collections.abc import Iterator

import pytest

from cmgr import again
from cmgr.config.load import written
from cmgr.config.settings import Config
from cmgr.drivers import open_driver
from cmgr.drivers.program.driver import Pace, ProgramDriver
from cmgr.drivers.program.launch import child, drivers_of
from tests.drivers.program.test_contract import settings
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.fixtures import Make
from tests.support.waiting import PATIENCE, eventually


@pytest.fixture
def begun() -> Iterator[int]:
    """The number of one that was begun ahead, and of which nothing is left."""
    again.begin_ahead()
    (pid,) = eventually(lambda: drivers_of(os.getpid()))  # For a moment after its start /proc has no words of it.
    yield pid
    eventually(lambda: drivers_of(os.getpid()) == [])


def test_it_is_the_one_that_drives_them(begun: int, ascend: Make) -> None:
    driver = ProgramDriver(child, written(settings(ascend(hosts.host_910b(8)))), Pace(beat=0.05))
    assert driver.begins(PATIENCE), driver.refusal()
    assert drivers_of(os.getpid()) == [begun]
    assert len(driver.chips()) == 8
    driver.close()


def test_it_ends_where_the_chips_are_simulated(begun: int) -> None:
    open_driver(Config(driver="sim")).close()
    assert not os.path.exists(f"/proc/{begun}")


def test_there_is_one_once() -> None:
    again.begin_ahead()
    first = again.ahead()
    assert first is not None
    assert again.ahead() is None
    first.let_go()
