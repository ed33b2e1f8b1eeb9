"""Things of a machine that keep GPUs from being reset, or from being seen as they are."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from cmgr.drivers.nvml.doubts import Seen, doubts
from cmgr.drivers.nvml.driver import NvmlDriver
from cmgr.drivers.nvml.resetting.tool import RESCAN
from cmgr.drivers.nvml.settings import Nvml
from tests.drivers.nvml.host import modeset, process
from tests.drivers.test_vendors import PACKAGE
from tests.fakes.nvml import hosts
from tests.fakes.nvml.fixtures import Make
from tests.fakes.nvml.standin import Standin

Open = Callable[..., NvmlDriver]

SHIPPED = PACKAGE.parent / "packaging"


@pytest.fixture
def opened(opened: Open, tmp_path: Path) -> Open:
    """Open drivers on a machine that has none of these files."""
    return partial(opened, root=tmp_path)


def persistent(machine: Standin) -> Standin:
    for number in range(len(machine.gpus)):
        machine.set("persistent", 1, gpu=number)
    return machine


def test_a_machine_on_which_all_works_raises_none(nvidia: Make, opened: Open) -> None:
    assert opened(persistent(nvidia(hosts.host_h100(2)))).doubts() == ()


def test_gpus_without_persistence_mode_are_told(nvidia: Make, opened: Open) -> None:
    machine = persistent(nvidia(hosts.host_h100(3)))
    for number in (0, 2):
        machine.set("persistent", 0, gpu=number)
    (doubt,) = opened(machine).doubts()
    assert doubt.text.startswith("without persistence mode, chips 0,2: ")
    assert "nvidia-persistenced" in doubt.hint


@pytest.mark.parametrize(
    ("mode", "text"), [(1, "passed through to this virtual machine"), (2, "cannot be reset from inside of it")]
)
def test_gpus_that_are_virtual_are_told(nvidia: Make, opened: Open, mode: int, text: str) -> None:
    machine = persistent(nvidia(hosts.host_h100(2)))
    machine.set("virtual", mode, gpu=1)
    (doubt,) = opened(machine).doubts()
    assert text in doubt.text
    assert doubt.hint


def test_divided_gpus_are_told_where_nothing_makes_their_parts_again(nvidia: Make, opened: Open) -> None:
    machine = persistent(nvidia(hosts.host_h100(1)))
    machine.set("mig", 1)
    machine.set("instances", 2)
    (doubt,) = opened(machine).doubts()
    assert "a ring that needs it waits for a person" in doubt.text
    assert opened(machine, mig_tool="/usr/bin/true").doubts() == ()


def test_a_place_in_which_nothing_can_be_written_to_pci_is_told(nvidia: Make, opened: Open, tmp_path: Path) -> None:
    machine = persistent(nvidia(hosts.host_h100(1)))
    file = tmp_path / RESCAN
    file.parent.mkdir(parents=True)
    file.write_text("nothing is written")
    assert opened(machine).doubts() == ()
    assert file.read_text() == "nothing is written"
    file.unlink()
    file.mkdir()
    (doubt,) = opened(machine).doubts()
    assert doubt.text.startswith(f"GPUs cannot be reset from here: /{RESCAN} cannot be written: ")


def test_a_program_that_cannot_be_run_is_told(nvidia: Make, opened: Open) -> None:
    (doubt,) = opened(persistent(nvidia(hosts.host_h100(1))), tool="/nowhere/nvidia-smi").doubts()
    assert doubt.text.startswith("GPUs cannot be reset: /nowhere/nvidia-smi: ")


def test_monitors_that_keep_gpus_open_are_told_with_the_setting(nvidia: Make, tmp_path: Path) -> None:
    settings = Nvml(tool=str(nvidia(hosts.host_h100(1)).tool), kernel_log="")
    process(tmp_path, 7, "nv-hostengine", "0::/system.slice/nvidia-dcgm.service")
    process(tmp_path, 8, "python", f"0::/system.slice/docker-{'a' * 64}.scope")
    process(tmp_path, 9, "nvidia-persiste", "0::/system.slice/nvidia-persistenced.service")
    process(tmp_path, 10, "python", "0::/user.slice/user-0.slice/user@0.service/app.slice/mine.service")
    (doubt,) = doubts(settings, Seen(minors=(0,)), tmp_path)
    assert doubt.text == (
        "process 7 (nv-hostengine) of nvidia-dcgm.service keeps GPUs open: while it does, no GPU of these is reset"
    )
    assert doubt.hint == 'have it stopped for resets: nvml.stop_units = ["nvidia-dcgm.service"]'
    named = replace(settings, stop_units=("nvidia-dcgm.service",))
    assert list(doubts(named, Seen(minors=(0,)), tmp_path)) == []
    assert list(doubts(settings, Seen(minors=(1,)), tmp_path)) == []


def test_a_console_on_a_gpu_is_told(nvidia: Make, tmp_path: Path) -> None:
    settings = Nvml(tool=str(nvidia(hosts.host_h100(1)).tool), kernel_log="")
    modeset(tmp_path, "N")
    assert list(doubts(settings, Seen(), tmp_path)) == []
    modeset(tmp_path, "Y")
    (doubt,) = doubts(settings, Seen(), tmp_path)
    assert "nvidia_drm shows a console" in doubt.text


@pytest.mark.parametrize(
    ("capability", "file"), [("DeviceFileMinor: 5\n", "nvidia-cap5"), ("Mode: 256\n", "nvidia-cap2")]
)
def test_the_file_that_lets_mig_be_monitored_is_missed_on_divided_gpus(
    nvidia: Make, tmp_path: Path, capability: str, file: str
) -> None:
    settings = Nvml(tool=str(nvidia(hosts.host_h100(1)).tool), kernel_log="", mig_tool="/usr/bin/true")
    seen = Seen(divided=True)
    assert list(doubts(settings, seen, tmp_path)) == [], "a kernel without capability files asks for root alone"
    monitor = tmp_path / "proc/driver/nvidia/capabilities/mig/monitor"
    monitor.parent.mkdir(parents=True)
    monitor.write_text(capability)
    (doubt,) = doubts(settings, seen, tmp_path)
    assert doubt.text.startswith(f"/dev/nvidia-caps/{file}, MIG's right to monitor, is missing")
    assert list(doubts(settings, Seen(), tmp_path)) == []
    (tmp_path / "dev/nvidia-caps").mkdir(parents=True)
    (tmp_path / "dev/nvidia-caps" / file).touch()
    assert list(doubts(settings, seen, tmp_path)) == []


def test_the_unit_that_drives_the_chips_hides_neither_the_kernels_log_nor_a_device() -> None:
    lines = (SHIPPED / "cmgr-chips@.service").read_text().splitlines()
    settings = {line.partition("=")[0] for line in lines}
    assert settings.isdisjoint({"ProtectKernelLogs", "CapabilityBoundingSet", "PrivateDevices", "DevicePolicy"})
