from collections.abc import Iterator

import pytest

from cmgr.drivers.sim import SimDriver
from tests.drivers.contract import Told
from tests.drivers.sim import Clock, settings


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def driver(clock: Clock) -> Iterator[SimDriver]:
    driver = SimDriver(settings(), now=clock)
    yield driver
    driver.close()


@pytest.fixture
def told(driver: SimDriver) -> Told:
    told = Told()
    driver.watch(told)
    return told
