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
from cmgr.errors import DriverError, DriverMissing
from tests.drivers.nvml.driver import open_nvml
from tests.fakes.nvml import hosts
from tests.fakes.nvml.fixtures import Make
from tests.fakes.nvml.standin import Purpose, Standin

APART = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable]
"""Another pid namespace, with a /proc of its own: how a container runs."""

CAN = os.geteuid() == 0 and subprocess.run([*APART, "-c", ""], capture_output=True, check=False).returncode == 0


def say(library: str) -> str:
    """Open the driver, in the process that calls."""
    try:
        return f"sees {len(open_nvml(Standin(Path(library))).chips())}"
    except DriverError as error:
        return error.message


@pytest.mark.skipif(not CAN, reason="only root can make a pid namespace")
def test_in_a_pid_namespace_of_its_own_the_driver_opens_nothing(nvidia: Make) -> None:
    """The driver leaves out whoever is outside (open modules 595.45.04, gpu_rmapi.c:811, os-interface.c:2773)."""
    machine = nvidia(hosts.host_h100(2))
    script = f"import sys; from {__name__} import say; print(say(*sys.argv[1:]))"
    ran = subprocess.run([*APART, "-c", script, str(machine.library)], capture_output=True, text=True, check=True)
    assert "has a pid namespace of its own" in ran.stdout
    assert "GPUs in use would be reset" in ran.stdout


def test_in_the_host_and_where_nobody_can_say_it_is_opened(tmp_path: Path) -> None:
    check_host(tmp_path)
    link = tmp_path / "proc/self/ns/pid"
    link.parent.mkdir(parents=True)
    link.symlink_to("pid:[4026531836]")
    check_host(tmp_path)
    link.unlink()
    link.symlink_to("pid:[4026532201]")
    with pytest.raises(DriverMissing) as refused:
        check_host(tmp_path)
    assert "--pid=host" in refused.value.hint


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
