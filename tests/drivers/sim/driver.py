"""Simulated chips whose time a test moves by hand."""

from datetime import timedelta

from cmgr.config.sim import Sim
from cmgr.drivers.sim.driver import SimDriver


class Clock:
    """Time that stands still until a test moves it."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds

    def pass_by(self, driver: SimDriver, seconds: float) -> None:
        self.seconds += seconds
        driver.wake()


def settings(**changes: object) -> Sim:
    values = {"chips": 8, "ring": 4, "reset_time": timedelta(), "boot_time": timedelta(seconds=30), **changes}
    return Sim(**values)  # type: ignore[arg-type]
