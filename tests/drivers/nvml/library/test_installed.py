"""A driver whose files are replaced while it runs, as by an update of its packages."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cmgr.drivers.nvml.driver import NvmlDriver
from cmgr.drivers.nvml.library.installed import installed
from cmgr.model.values.chips import ChipId
from cmgr.model.values.machine import MachineTold
from cmgr.model.values.messages.facts import FaultReported
from cmgr.ports import Renewable
from tests.drivers.contract import Told
from tests.drivers.nvml.host import module, update, versioned
from tests.fakes.nvml import hosts
from tests.fakes.nvml.fixtures import Make
from tests.fakes.nvml.standin import Standin
from tests.support.waiting import eventually

Open = Callable[..., NvmlDriver]

OLD, NEW = "580.65.06", "580.82.07"
MISMATCH = f"its module is {OLD}, and its library on disk {NEW}"


Watched = tuple[Standin, Path, NvmlDriver, Told]


@pytest.fixture
def watched(nvidia: Make, opened: Open, tmp_path: Path) -> Watched:
    """A machine whose driver can be updated, the library's link, and who watches it."""
    machine = nvidia(hosts.host_h100(2))
    link = versioned(machine, OLD)
    module(tmp_path, OLD)
    driver, told = opened(machine, root=tmp_path), Told()
    driver.watch(told)
    return machine, link, driver, told


def of_driver(told: Told) -> list[tuple[str, str]]:
    facts = [fact for fact in told.facts if isinstance(fact, MachineTold) and fact.source == "nvidia-driver"]
    return [(symptom.code, symptom.text) for symptom in facts[-1].found] if facts else []


@pytest.mark.parametrize(
    ("library", "loaded", "mismatch"),
    [
        (OLD, OLD, ""),
        (NEW, OLD, MISMATCH),
        ("none", OLD, f"its module is {OLD}, and its library on disk none"),
        (NEW, "", ""),
        ("", OLD, ""),
    ],
)
def test_a_mismatch_is_said_where_both_can_be_known(tmp_path: Path, library: str, loaded: str, mismatch: str) -> None:
    if loaded:
        module(tmp_path, loaded)
    if library != "none":
        file = tmp_path / (f"libnvidia-ml.so.{library}" if library else "libnvidia-ml.so.1")
        file.touch()
        if library:
            (tmp_path / "libnvidia-ml.so.1").symlink_to(file.name)
    assert installed(str(tmp_path / f"libnvidia-ml.so.{OLD}"), tmp_path).mismatch == mismatch


def test_a_library_with_a_name_of_its_own_says_nothing(tmp_path: Path) -> None:
    module(tmp_path, OLD)
    (tmp_path / "mine.so").touch()
    assert installed(str(tmp_path / "mine.so"), tmp_path).mismatch == ""


def test_a_driver_that_is_updated_is_the_machines_fault_until_the_module_is_loaded_anew(
    watched: Watched, tmp_path: Path
) -> None:
    _, link, driver, told = watched
    assert (driver.read([ChipId(0)])[0].error, of_driver(told)) == ("", [])
    update(link, NEW)
    assert driver.read([ChipId(0)])[0].error == "", "the library that is loaded serves on"
    assert of_driver(told) == [("driver-replaced", MISMATCH)]
    assert [doubt.hint for doubt in driver.doubts() if MISMATCH in doubt.text] != []
    assert driver.stale() == ""
    module(tmp_path, NEW)
    driver.read([ChipId(0)])
    assert of_driver(told) == []
    assert isinstance(driver, Renewable)
    assert driver.stale() == f"the driver is {NEW} now, and {link.with_name(f'libnvidia-ml.so.{OLD}')} is loaded"


def test_that_is_told_before_a_fault_that_comes_right_after_the_update(watched: Watched) -> None:
    machine, link, _, told = watched
    update(link, NEW)
    machine.xid(0, 13)
    eventually(lambda: any(isinstance(fact, FaultReported) for fact in told.facts))
    kinds = [type(fact) for fact in told.facts if isinstance(fact, FaultReported | MachineTold)]
    assert kinds[:2] == [MachineTold, FaultReported]


def test_a_driver_whose_files_are_its_own_stays(nvidia: Make, opened: Open, tmp_path: Path) -> None:
    machine = nvidia(hosts.host_h100(1))
    versioned(machine, OLD)
    module(tmp_path, OLD)
    driver = opened(machine, root=tmp_path)
    assert (driver.stale(), driver.trouble()) == ("", ())
    module(tmp_path, NEW)  # Loaded anew in a machine whose packages are those of before: no program can begin.
    assert driver.stale() == ""
