"""The contract of drivers, kept by a process that drives Ascend chips in the service's stead."""

from datetime import timedelta

import pytest

from cmgr.config.load import written
from cmgr.config.settings import Config, Drivers
from cmgr.drivers.dcmi.settings import Dcmi
from cmgr.drivers.program.driver import Pace, ProgramDriver
from cmgr.drivers.program.launch import child
from cmgr.ports import ChipDriver
from tests.drivers.contract import HOUR
from tests.drivers.dcmi import test_contract as dcmi
from tests.fakes.dcmi.fixtures import Make
from tests.fakes.dcmi.standin import Standin
from tests.support.waiting import PATIENCE

LEAST = timedelta(milliseconds=100)
"""The shortest time between two sweeps that a configuration may name."""


def settings(machine: Standin, sweep: timedelta = HOUR, **changes: object) -> Config:
    often = {"poll": timedelta(milliseconds=20)}
    values = {"library": str(machine.library), "call_timeout": timedelta(seconds=5), **often, **changes}
    return Config(driver="dcmi", sweep=sweep, resync=HOUR, drivers=Drivers(dcmi=Dcmi(**values)))  # type: ignore[arg-type]


class TestProgram(dcmi.TestDcmi):
    @pytest.fixture(autouse=True, params=["910B", "Duo"])
    def _machine(self, request: pytest.FixtureRequest, ascend: Make) -> None:
        host, family = dcmi.HOSTS[request.param]
        self.machine: Standin = ascend(host(), family)
        self.machine.set("boot_by_hand", 1)

    def open(self, sweep: timedelta = HOUR) -> ChipDriver:
        driver = ProgramDriver(child, written(settings(self.machine, max(sweep, LEAST))), Pace(beat=0.05))
        assert driver.begins(PATIENCE), driver.refusal()
        return driver

    def test_it_can_say_more(self, driver: ChipDriver) -> None:
        assert isinstance(driver, ProgramDriver)
        assert driver.trouble() == ()
        assert "libdcmi" in driver.describe()
        measured = driver.measure([chip.id for chip in driver.chips()])
        assert measured.keys() == {chip.id for chip in driver.chips()}
