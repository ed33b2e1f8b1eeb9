from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from cmgr.cli.check.checks import findings
from cmgr.config.settings import Config, Drivers
from cmgr.config.sim import Sim
from cmgr.drivers import open_begun
from cmgr.drivers.dcmi.settings import Dcmi
from cmgr.drivers.nvml.settings import Nvml
from cmgr.errors import DriverError, DriverMissing
from cmgr.ports import ChipDriver, Injector
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.fixtures import Make
from tests.fakes.dcmi.standin import Purpose
from tests.fakes.nvml.fixtures import Make as MakeGpus
from tests.fakes.nvml.hosts import host_h100
from tests.support.waiting import PATIENCE

NOWHERE = Dcmi(library="/nowhere/libdcmi.so")


def opened(config: Config) -> ChipDriver:
    return open_begun(config, PATIENCE)


def test_simulated_chips_must_be_asked_for() -> None:
    driver = opened(Config(driver="sim", sim=Sim(chips=3)))
    assert driver.name == "sim"
    assert len(driver.chips()) == 3
    assert isinstance(driver, Injector)
    driver.close()


def test_a_library_that_is_not_there_is_missing_with_a_hint() -> None:
    with pytest.raises(DriverMissing, match=r"/nowhere/libdcmi\.so \(dcmi\.library\): there is no such file") as caught:
        opened(Config(driver="dcmi", drivers=Drivers(dcmi=NOWHERE)))
    assert caught.value.hint == "correct dcmi.library"


def test_auto_says_why_it_took_none() -> None:
    with pytest.raises(DriverMissing, match=r"dcmi: .*no such file") as caught:
        opened(Config(drivers=Drivers(dcmi=NOWHERE)))
    assert 'driver = "sim"' in caught.value.hint


@pytest.mark.parametrize("name", ["nvml", "auto"])
def test_nvidia_gpus_are_found(nvidia: MakeGpus, name: str) -> None:
    machine = nvidia(host_h100(2))
    library = Nvml(library=str(machine.library), kernel_log="")
    driver = opened(Config(driver=name, drivers=Drivers(dcmi=NOWHERE, nvml=library)))
    assert (driver.name, len(driver.chips())) == ("nvml", 2)
    assert not isinstance(driver, Injector)
    driver.close()


@pytest.mark.parametrize(("name", "taken"), [("auto", "dcmi"), ("nvml", "nvml")])
def test_a_machine_with_both_makes_is_served_for_the_one_that_is_named(
    ascend: Make, nvidia: MakeGpus, name: str, taken: str
) -> None:
    npus, gpus = ascend(hosts.host_910b()), nvidia(host_h100(2))
    libraries = Drivers(dcmi=Dcmi(library=str(npus.library)), nvml=Nvml(library=str(gpus.library), kernel_log=""))
    driver = opened(Config(driver=name, drivers=libraries))
    assert driver.name == taken
    driver.close()


def test_check_says_that_the_other_make_is_not_served(ascend: Make, nvidia: MakeGpus, tmp_path: Path) -> None:
    npus, gpus = ascend(hosts.host_910b()), nvidia(host_h100(2))
    libraries = Drivers(dcmi=Dcmi(library=str(npus.library)), nvml=Nvml(library=str(gpus.library), kernel_log=""))
    config = Config(drivers=libraries, socket=str(tmp_path / "cmgr.sock"), state_dir=str(tmp_path))
    said = "libnvidia-ml is here, too: one service serves one make of chips, and driver = auto takes dcmi"
    (other,) = [found for found in findings(config) if found.text == said]
    assert (other.state, other.hint) == ("warning", 'set driver = "dcmi", or "nvml" to serve these')
    assert said not in [found.text for found in findings(replace(config, driver="dcmi"))]


@pytest.mark.parametrize("name", ["dcmi", "auto"])
def test_ascend_chips_are_found(ascend: Make, name: str) -> None:
    machine = ascend(hosts.host_910b())
    driver = opened(
        Config(driver=name, drivers=Drivers(dcmi=Dcmi(library=str(machine.library))), resync=timedelta(hours=1))
    )
    assert (driver.name, len(driver.chips())) == ("dcmi", 8)
    # A fault on a real chip is nothing to pretend.
    assert not isinstance(driver, Injector)
    driver.close()


def test_a_driver_that_lists_nothing_is_open_and_says_so(ascend: Make) -> None:
    machine = ascend(hosts.host_910b())
    for chip in range(8):
        machine.list(chip, listed=False)
    driver = opened(Config(driver="dcmi", drivers=Drivers(dcmi=Dcmi(library=str(machine.library)))))
    assert driver.chips() == ()
    driver.close()


def test_a_library_whose_list_hangs_is_refused(ascend: Make) -> None:
    machine = ascend(hosts.host_910b())
    machine.hang(0, Purpose.LIST)
    with pytest.raises(DriverMissing, match=r"not answered for 0\.1 s"):
        opened(
            Config(drivers=Drivers(dcmi=Dcmi(library=str(machine.library), call_timeout=timedelta(milliseconds=100))))
        )
    machine.hang(0, Purpose.LIST, hangs=False)


def test_whoever_waits_no_longer_than_a_while_hears_that_the_library_has_not_begun(ascend: Make) -> None:
    machine = ascend(hosts.host_910b())
    machine.hang(0, Purpose.INIT)
    config = Config(driver="dcmi", drivers=Drivers(dcmi=Dcmi(library=str(machine.library))))
    with pytest.raises(DriverError, match="the library of the chips has not begun for") as caught:
        open_begun(config, 0.1)
    assert "ten minutes" in caught.value.hint
    machine.hang(0, Purpose.INIT, hangs=False)
