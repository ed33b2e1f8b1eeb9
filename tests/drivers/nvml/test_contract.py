"""The contract, on machines whose GPUs are reset together."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from cmgr.drivers.nvml.driver import NvmlDriver
from cmgr.drivers.nvml.library import abi
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion
from cmgr.ports import Ailing, ChipDriver, Describing, Gauge
from tests.drivers.contract import HOUR, ChipDriverContract
from tests.drivers.nvml.driver import open_nvml
from tests.fakes.nvml import hosts
from tests.fakes.nvml.fixtures import Make
from tests.fakes.nvml.standin import FakeGpu, Standin

HOSTS: dict[str, tuple[Callable[[], tuple[FakeGpu, ...]], int]] = {
    "V100, wired to each other": (hosts.host_v100, 570),
    "A100, without a Fabric Manager": (hosts.host_a100, 580),
    "A100, the newest driver": (hosts.host_a100, 615),
}

FIELDS = {
    "E0010001": (abi.ACTION_FIELD, abi.RECOVERY_ACTION),
    "E0030001": (abi.REMAP_PENDING_FIELD, abi.DRAM_RETIRED),
}
"""Conditions: the field that tells of each, and the event that it changed."""


class TestNvml(ChipDriverContract):
    code = "E0010001"
    other = "E0030001"
    moment = "Xid 13"

    @pytest.fixture(autouse=True, params=HOSTS)
    def _machine(self, request: pytest.FixtureRequest, nvidia: Make) -> None:
        host, release = HOSTS[request.param]
        self.machine: Standin = nvidia(host(), release)
        self.machine.set("boot_by_hand", 1)

    def open(self, sweep: timedelta = HOUR) -> ChipDriver:
        return open_nvml(self.machine, sweep=sweep)

    def lose(self, driver: ChipDriver) -> None:
        self.machine.set("lose", 1000)

    def let_sweep(self, driver: ChipDriver) -> None:
        """Its time passes by itself."""

    def occur(self, driver: ChipDriver, chip: ChipId, code: str, assertion: Assertion) -> None:
        if assertion is Assertion.ONCE:
            self.machine.xid(chip, int(code.removeprefix("Xid ")))
            return
        field, event = FIELDS[code]
        self.machine.field(chip, field, int(assertion is Assertion.OCCURRED))
        self.machine.event(chip, event)

    def hold(self, driver: ChipDriver, chip: ChipId, pid: int) -> None:
        self.machine.process(chip, pid)

    def silence(self, driver: ChipDriver, chip: ChipId) -> None:
        self.machine.silence(chip)

    def finish_boot(self, driver: ChipDriver) -> None:
        self.machine.finish_boots()

    def test_it_can_say_more(self, driver: ChipDriver) -> None:
        assert isinstance(driver, NvmlDriver)
        assert isinstance(driver, Ailing)
        assert isinstance(driver, Describing)
        assert isinstance(driver, Gauge)
        assert driver.describe().startswith(f"{self.machine.library}, driver ")
