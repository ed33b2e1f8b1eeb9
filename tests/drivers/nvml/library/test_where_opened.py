"""Where NVIDIA's library may be opened, and what to type when it says that the driver is not loaded."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cmgr.drivers.nvml.driver import NvmlDriver
from cmgr.drivers.nvml.library import abi
from cmgr.drivers.nvml.library.load import check_host, why_not_loaded
from cmgr.errors import DriverMissing
from tests.fakes.nvml import hosts
from tests.fakes.nvml.fixtures import Make
from tests.fakes.nvml.standin import Purpose

APART = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable]
"""Another pid namespace, with a /proc of its own: how a container runs."""

CAN = os.geteuid() == 0 and subprocess.run([*APART, "-c", ""], capture_output=True, check=False).returncode == 0


@pytest.fixture
def loaded(tmp_path: Path) -> Path:
    """A root where the driver is loaded, and whose /proc/self is that of the process that looks."""
    version = tmp_path / "proc/driver/nvidia/version"
    version.parent.mkdir(parents=True)
    version.touch()
    (tmp_path / "proc/self").symlink_to("/proc/self")
    return tmp_path


@pytest.mark.skipif(not CAN, reason="only root can make a pid namespace")
def test_in_a_pid_namespace_of_its_own_the_driver_opens_nothing(loaded: Path) -> None:
    """The driver leaves out whoever is outside (open modules 595.45.04, gpu_rmapi.c:811, os-interface.c:2773)."""
    script = (
        f"import pathlib, sys; from {check_host.__module__} import check_host; check_host(pathlib.Path(sys.argv[1]))"
    )
    ran = subprocess.run([*APART, "-c", script, str(loaded)], capture_output=True, text=True, check=False)
    assert "has a pid namespace of its own" in ran.stderr
    assert "GPUs in use would be reset" in ran.stderr


def test_in_the_host_and_where_nobody_can_say_it_is_opened(loaded: Path) -> None:
    (loaded / "proc/self").unlink()
    check_host(loaded)
    link = loaded / "proc/self/ns/pid"
    link.parent.mkdir(parents=True)
    link.symlink_to("pid:[4026531836]")
    check_host(loaded)
    link.unlink()
    link.symlink_to("pid:[4026532201]")
    with pytest.raises(DriverMissing) as refused:
        check_host(loaded)
    assert "--pid=host" in refused.value.hint
    (loaded / "proc/driver/nvidia/version").unlink()
    check_host(loaded)


def test_a_driver_that_is_loaded_is_not_to_be_loaded(tmp_path: Path) -> None:
    """NVML says 9 without /dev/nvidiactl, too (seen with libnvidia-ml 550 and without a GPU)."""
    assert why_not_loaded(tmp_path).startswith("load it (modprobe nvidia)")
    version = tmp_path / "proc/driver/nvidia/version"
    version.parent.mkdir(parents=True)
    version.touch()
    assert "its device files are missing: type, as root, nvidia-smi -L" in why_not_loaded(tmp_path)
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev/nvidiactl").touch()
    assert why_not_loaded(tmp_path) == "it is loaded: see what the kernel log says of NVRM"


def test_the_hint_comes_with_the_error(nvidia: Make, opened: Callable[..., NvmlDriver]) -> None:
    machine = nvidia(hosts.host_h100(1))
    machine.answer(0, Purpose.INIT, abi.DRIVER_NOT_LOADED)
    with pytest.raises(DriverMissing) as refused:
        opened(machine)
    assert refused.value.hint == why_not_loaded()
