from datetime import timedelta

import pytest

from cmgr.config.settings import Config, Dcmi
from cmgr.config.sim import Sim
from cmgr.drivers import open_driver
from cmgr.errors import DriverMissing
from cmgr.ports import Injector
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.fixtures import Make
from tests.fakes.dcmi.standin import Purpose

NOWHERE = Dcmi(library="/nowhere/libdcmi.so")


def test_simulated_chips_must_be_asked_for() -> None:
    driver = open_driver(Config(driver="sim", sim=Sim(chips=3)))
    assert driver.name == "sim"
    assert len(driver.chips()) == 3
    assert isinstance(driver, Injector)
    driver.close()


def test_a_driver_that_is_not_here_is_missing_with_a_hint() -> None:
    with pytest.raises(DriverMissing, match="cannot use driver nvml: not in this version") as caught:
        open_driver(Config(driver="nvml"))
    assert 'driver = "sim"' in caught.value.hint


def test_a_library_that_is_not_there_is_missing_with_a_hint() -> None:
    with pytest.raises(DriverMissing, match=r"/nowhere/libdcmi\.so \(dcmi\.library\): there is no such file") as caught:
        open_driver(Config(driver="dcmi", dcmi=NOWHERE))
    assert caught.value.hint == "correct dcmi.library"


def test_auto_says_why_it_took_none() -> None:
    with pytest.raises(DriverMissing, match=r"dcmi: .*no such file.*; nvml: .*not in this version") as caught:
        open_driver(Config(dcmi=NOWHERE))
    assert 'driver = "sim"' in caught.value.hint


@pytest.mark.parametrize("name", ["dcmi", "auto"])
def test_ascend_chips_are_found(ascend: Make, name: str) -> None:
    machine = ascend(hosts.host_910b())
    driver = open_driver(Config(driver=name, dcmi=Dcmi(library=str(machine.library)), resync=timedelta(hours=1)))
    assert (driver.name, len(driver.chips())) == ("dcmi", 8)
    # A fault on a real chip is nothing to pretend.
    assert not isinstance(driver, Injector)
    driver.close()


def test_a_driver_that_lists_nothing_is_open_and_says_so(ascend: Make) -> None:
    machine = ascend(hosts.host_910b())
    for chip in range(8):
        machine.list(chip, listed=False)
    driver = open_driver(Config(driver="dcmi", dcmi=Dcmi(library=str(machine.library))))
    assert driver.chips() == ()
    driver.close()


def test_a_library_whose_list_hangs_is_refused(ascend: Make) -> None:
    machine = ascend(hosts.host_910b())
    machine.hang(0, Purpose.LIST)
    with pytest.raises(DriverMissing, match=r"not answered for 0\.1 s"):
        open_driver(Config(dcmi=Dcmi(library=str(machine.library), call_timeout=timedelta(milliseconds=100))))
    machine.hang(0, Purpose.LIST, hangs=False)
