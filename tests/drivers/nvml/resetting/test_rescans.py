"""nvidia-smi removes a GPU from PCI and has the kernel look for it again: what it needs for that, and what is left."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from cmgr.drivers.nvml.driver import NvmlDriver
from cmgr.drivers.nvml.library import abi
from cmgr.drivers.nvml.resetting.promises import Promised, Promises
from cmgr.drivers.nvml.resetting.tool import RESCAN
from cmgr.errors import DriverError, ResetRefused
from cmgr.model.values.chips import ChipId
from tests.drivers.contract import Told
from tests.fakes.nvml import hosts
from tests.fakes.nvml.fixtures import Make
from tests.fakes.nvml.standin import FakeReset, Standin
from tests.support.waiting import eventually

Open = Callable[..., NvmlDriver]

NO_CODES: frozenset[str] = frozenset()
FIRST = ChipId(0)


@pytest.fixture
def machine(nvidia: Make) -> Standin:
    return nvidia(hosts.host_h100(2))


def listed(machine: Standin) -> list[int]:
    return [machine.get("listed", gpu) for gpu in (0, 1)]


def gone(driver: NvmlDriver) -> list[str]:
    return [text for text in driver.trouble() if "is gone since its reset" in text]


def remove(machine: Standin, gpu: int) -> None:
    """Do what a reset in the middle has done."""
    machine.set("listed", 0, gpu)
    machine.set("removed", 1, gpu)


def test_a_reset_writes_to_pci_and_makes_the_device_files_of_what_comes_back(machine: Standin, opened: Open) -> None:
    opened(machine).reset([FIRST], [FIRST], NO_CODES)
    assert machine.resets == (FakeReset(frozenset({0}), abi.OK),)
    assert listed(machine) == [1, 1]
    assert os.listdir(machine.library.parent / "dev") == ["nvidia0"]


def test_where_nothing_can_be_written_to_pci_no_gpu_is_reset(machine: Standin, opened: Open) -> None:
    rescan = machine.library.parent / RESCAN
    rescan.unlink()
    rescan.mkdir()
    with pytest.raises(DriverError, match="could not be reset") as caught:
        opened(machine).reset([FIRST], [FIRST], NO_CODES)
    assert not isinstance(caught.value, ResetRefused)
    assert (machine.resets, listed(machine)) == ((), [1, 1])


def test_a_gpu_whose_reset_is_killed_in_its_middle_is_found_again(machine: Standin, opened: Open) -> None:
    driver = opened(machine, root=machine.library.parent)
    machine.library.with_name("dies").touch()
    with pytest.raises(DriverError, match="nvidia-smi ended with -9"):
        driver.reset([FIRST], [FIRST], NO_CODES)
    assert listed(machine) == [1, 1]
    assert driver.read([FIRST])[0].booted
    assert driver.trouble() == ()


def test_one_that_cannot_be_found_again_is_a_trouble_with_what_to_type_until_it_is_there(
    machine: Standin, opened: Open, tmp_path: Path
) -> None:
    driver = opened(machine, root=tmp_path)
    machine.library.with_name("dies").touch()
    with pytest.raises(DriverError, match="nvidia-smi ended with -9"):
        driver.reset([FIRST], [FIRST], NO_CODES)
    (trouble,) = gone(driver)
    assert trouble.startswith(f"the GPU at {machine.gpus[0].address} is gone since its reset ended in the middle: ")
    assert trouble.endswith("(hint: type: echo 1 >/sys/bus/pci/rescan; if that does not help, reboot)")
    (machine.library.parent / RESCAN).write_text("1\n")
    driver.watch(Told())
    eventually(lambda: not driver.read([FIRST])[0].error)
    assert gone(driver) == []


def test_the_next_life_finds_what_a_reset_had_removed(machine: Standin, opened: Open) -> None:
    Promises(machine.library.parent).make(Promised(resetting=(machine.gpus[1].address,)))
    remove(machine, 1)
    driver = opened(machine, root=machine.library.parent)
    driver.watch(Told())
    eventually(lambda: listed(machine) == [1, 1])
    eventually(lambda: Promises(machine.library.parent).all == Promised())
    assert [chip.bus for chip in driver.chips()] == [gpu.address for gpu in machine.gpus]


def test_what_it_cannot_find_stays_promised_to_the_life_after_it(
    machine: Standin, opened: Open, tmp_path: Path
) -> None:
    Promises(machine.library.parent).make(Promised(resetting=tuple(gpu.address for gpu in machine.gpus)))
    remove(machine, 1)
    driver = opened(machine, root=tmp_path)
    driver.watch(Told())
    eventually(lambda: [machine.gpus[1].address in text for text in gone(driver)] == [True])
    left = Promised(resetting=(machine.gpus[1].address,))
    eventually(lambda: Promises(machine.library.parent).all == left)
