import pytest

from cmgr.config.settings import Config
from cmgr.config.sim import Sim
from cmgr.drivers import open_driver
from cmgr.errors import DriverMissing
from cmgr.ports import Injector


def test_simulated_chips_must_be_asked_for() -> None:
    driver = open_driver(Config(driver="sim", sim=Sim(chips=3)))
    assert driver.name == "sim"
    assert len(driver.chips()) == 3
    assert isinstance(driver, Injector)
    driver.close()


@pytest.mark.parametrize("name", ["dcmi", "nvml"])
def test_a_driver_that_is_not_here_is_missing_with_a_hint(name: str) -> None:
    with pytest.raises(DriverMissing, match=f"cannot use driver {name}: not in this version") as caught:
        open_driver(Config(driver=name))
    assert 'driver = "sim"' in caught.value.hint


def test_auto_says_why_it_took_none() -> None:
    with pytest.raises(DriverMissing, match="dcmi: not in this version; nvml: not in this version") as caught:
        open_driver(Config())
    assert 'driver = "sim"' in caught.value.hint
