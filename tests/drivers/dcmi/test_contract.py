"""The contract, on each family of the library and each way of being reset."""

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from cmgr.drivers.dcmi.driver import DcmiDriver
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion
from cmgr.ports import Ailing, ChipDriver, Gauge
from tests.drivers.contract import HOUR, ChipDriverContract
from tests.drivers.dcmi.driver import open_dcmi
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.fixtures import Make
from tests.fakes.dcmi.standin import FakeChip, Standin

HOSTS: dict[str, tuple[Callable[[], tuple[FakeChip, ...]], str]] = {
    "910B": (hosts.host_910b, "one"),
    "A3": (hosts.host_a3, "one"),
    "Duo": (hosts.host_duo, "both"),
    "910B by the second family": (hosts.host_910b, "two"),
}


class TestDcmi(ChipDriverContract):
    @pytest.fixture(autouse=True, params=HOSTS)
    def _machine(self, request: pytest.FixtureRequest, ascend: Make) -> Iterator[None]:
        host, family = HOSTS[request.param]
        self.machine: Standin = ascend(host(), family)
        self.machine.set("boot_by_hand", 1)
        self.machine.set("either_family", int(family == "two"))
        yield
        # One call at a time: nobody knows whether the real library stands more.
        assert self.machine.get("most_inside") <= 1

    def open(self, sweep: timedelta = HOUR) -> ChipDriver:
        return open_dcmi(self.machine, sweep=sweep)

    def lose(self, driver: ChipDriver) -> None:
        self.machine.set("lose", 1000)

    def let_sweep(self, driver: ChipDriver) -> None:
        """Its time passes by itself."""

    def occur(self, driver: ChipDriver, chip: ChipId, code: str, assertion: Assertion) -> None:
        self.machine.fault(self._logical(driver, chip), code, assertion)

    def hold(self, driver: ChipDriver, chip: ChipId, pid: int) -> None:
        self.machine.process(self._logical(driver, chip), pid)

    def silence(self, driver: ChipDriver, chip: ChipId) -> None:
        self.machine.silence(self._logical(driver, chip))

    def finish_boot(self, driver: ChipDriver) -> None:
        self.machine.finish_boots()

    @staticmethod
    def _logical(driver: ChipDriver, chip: ChipId) -> int:
        return next(c.logical for c in driver.chips() if c.id == chip)

    def test_it_can_say_more(self, driver: ChipDriver) -> None:
        assert isinstance(driver, DcmiDriver)
        assert isinstance(driver, Ailing)
        assert isinstance(driver, Gauge)
        assert driver.trouble() == ()
