import shutil
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from cmgr.drivers.dcmi.driver import DcmiDriver
from tests.drivers.contract import HOUR, Told
from tests.drivers.dcmi.driver import open_dcmi
from tests.drivers.sim.driver import Clock, DriverByHand, settings
from tests.fakes.dcmi.fixtures import ascend, workshop
from tests.fakes.dcmi.standin import Standin
from tests.fakes.nvml.fixtures import gpu_workshop, nvidia
from tests.fakes.workshop import trusted_folder

__all__ = ["ascend", "gpu_workshop", "nvidia", "workshop"]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose programs are run."""
    made = trusted_folder()
    yield made
    shutil.rmtree(made)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def driver(clock: Clock) -> Iterator[DriverByHand]:
    driver = DriverByHand(settings(), now=clock)
    yield driver
    driver.close()


@pytest.fixture
def told(driver: DriverByHand) -> Told:
    told = Told()
    driver.watch(told)
    return told


@pytest.fixture
def opened() -> Iterator[Callable[..., DcmiDriver]]:
    """Open drivers on the stand-in that are closed in the end."""
    drivers: list[DcmiDriver] = []

    def make(machine: Standin, relist: timedelta = HOUR, *, sweep: timedelta = HOUR, **changes: object) -> DcmiDriver:
        drivers.append(open_dcmi(machine, relist, sweep=sweep, **changes))
        return drivers[-1]

    yield make
    for driver in drivers:
        driver.close()
