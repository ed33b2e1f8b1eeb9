"""The service's first part: what it does until its chips are known."""

import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from cmgr.config.settings import Config
from cmgr.drivers.sim.driver import SimDriver
from cmgr.errors import DriverError
from cmgr.service.listening import listen
from tests.support.waiting import PATIENCE


class Elsewhere(SimDriver):
    """Chips that are known once all the rest of the service is loaded."""

    def __init__(self, config: Config) -> None:
        super().__init__(config.sim, config.sweep)
        self.loaded = threading.Event()

    def begins(self, seconds: float) -> bool:
        return self.loaded.wait(min(seconds, PATIENCE))

    def refusal(self) -> DriverError | None:
        return None


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return Config(state_dir=str(tmp_path / "state"), socket=str(tmp_path / "c.sock"))


def test_the_rest_is_loaded_while_another_process_begins_with_the_chips(config: Config) -> None:
    driver = Elsewhere(config)
    with ExitStack() as stack:
        assert listen(config, stack, lambda _: driver, driver.loaded.set).watched


def test_nothing_is_loaded_before_chips_of_this_very_process_are_heard(config: Config) -> None:
    loaded = threading.Event()
    with ExitStack() as stack:
        heard = listen(config, stack, lambda known: SimDriver(known.sim, known.sweep), loaded.set)
        assert heard.watched
        assert not loaded.is_set()
