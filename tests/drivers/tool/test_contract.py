"""The contract, kept by a program that speaks for chips."""

from datetime import timedelta

import pytest

from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion
from cmgr.ports import Ailing, ChipDriver, Describing, Gauge
from tests.drivers.contract import HOUR, ChipDriverContract
from tests.drivers.tool.driver import open_tool
from tests.fakes.tool.standin import ISOLATES, RESETS, Speaker


class TestTool(ChipDriverContract):
    code = RESETS
    other = ISOLATES
    moment = RESETS

    @pytest.fixture(autouse=True)
    def _speaker(self) -> None:
        self.speaker = Speaker(boots_by_hand=True)
        self.told = True

    def open(self, sweep: timedelta = HOUR) -> ChipDriver:
        return open_tool(self.speaker, sweep=sweep)

    def lose(self, driver: ChipDriver) -> None:
        self.told = False

    def let_sweep(self, driver: ChipDriver) -> None:
        """Its time passes by itself."""

    def occur(self, driver: ChipDriver, chip: ChipId, code: str, assertion: Assertion) -> None:
        if assertion is Assertion.ONCE:
            self.speaker.tell(fault=code, chip=chip, state="once")
        elif assertion is Assertion.OCCURRED:
            self.speaker.occur(chip, code, told=self.told)
        else:
            self.speaker.clear(chip, code, told=self.told)

    def hold(self, driver: ChipDriver, chip: ChipId, pid: int) -> None:
        self.speaker.set(processes={str(chip): [pid]})

    def silence(self, driver: ChipDriver, chip: ChipId) -> None:
        self.speaker.set(silent=[chip])

    def finish_boot(self, driver: ChipDriver) -> None:
        self.speaker.finish_boots()

    def test_it_can_say_more(self, driver: ChipDriver) -> None:
        assert isinstance(driver, Ailing)
        assert isinstance(driver, Describing)
        assert isinstance(driver, Gauge)
        assert driver.describe() == f"{self.speaker.program}, standin"
        assert driver.doubts() == ()
        assert driver.trouble() == ()
        chip = driver.chips()[0].id
        assert driver.measure([chip]) == {chip: {"temperature_celsius": 40, "type": "Standin 1"}}
