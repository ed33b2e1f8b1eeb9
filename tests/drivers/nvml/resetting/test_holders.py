"""The processes that are in the way of a reset, and those that perhaps are."""

from pathlib import Path

import pytest

from cmgr.drivers.nvml.resetting.holders import holders_of, monitors, perhaps_holders, shows_a_console, who_holds
from cmgr.model.values.chips import Process
from tests.drivers.nvml.host import exports, modeset, module, process

RANK = f"0::/system.slice/docker-{'a' * 64}.scope"


@pytest.mark.parametrize(
    ("version", "in_the_way"), [("580.142", True), ("590.44.01", True), ("595.45.04", False), ("", True)]
)
def test_a_display_is_in_the_way_below_595_only(tmp_path: Path, version: str, in_the_way: bool) -> None:
    """From 595 on nvidia_drm has GPUs open "reset aware" (open modules 595.45.04, nv.c:5328), and is so by default."""
    modeset(tmp_path, "Y")
    if version:
        module(tmp_path, version)
    assert shows_a_console(tmp_path) is in_the_way
    assert (who_holds((0,), tmp_path)[0] == "the kernel's module nvidia_drm") is in_the_way


def test_files_of_all_gpus_and_exported_memory_are_perhaps_in_the_way(tmp_path: Path) -> None:
    """The driver counts what uses a GPU, not who has its file open (open modules 595.45.04, gpu_rmapi.c:101)."""
    process(tmp_path, 7, "rdma", "0::/", "/dmabuf:", "/dmabuf:", "/dev/infiniband/uverbs0")
    exports(tmp_path, 7, 3, "i915")
    exports(tmp_path, 7, 4, "nvidia")
    process(tmp_path, 8, "Xwayland", "0::/", "/dmabuf:", "/dev/dri/card0")
    exports(tmp_path, 8, 3, "amdgpu")
    process(tmp_path, 9, "python", RANK, "/dev/nvidia1", "/dev/nvidiactl", "/dev/nvidia-uvm")
    process(tmp_path, 10, "mps", "0::/", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/null")
    process(tmp_path, 11, "kwin", "0::/", "/dev/nvidia-modeset")
    process(tmp_path, 12, "old", "0::/", "anon_inode:dmabuf")
    exports(tmp_path, 12, 3, "nvidia_drm")
    process(tmp_path, 13, "cmgr", "0::/", "/dev/nvidiactl")
    (tmp_path / "proc/13/cmdline").write_bytes(b"/usr/bin/python3\0/usr/bin/cmgr\0chips\0--serve\0")
    assert [(each.pid, files) for each, files in perhaps_holders(tmp_path)] == [
        (10, "/dev/nvidia-uvm, /dev/nvidiactl"),
        (11, "/dev/nvidia-modeset"),
        (12, "memory of a GPU"),
        (7, "memory of a GPU"),
    ]
    assert holders_of((0,), tmp_path) == ()
    who, hint = who_holds((0,), tmp_path)
    assert who.startswith("perhaps process 10 (mps), which has /dev/nvidia-uvm, /dev/nvidiactl open, process 11")
    assert "fuser" in hint


def test_who_has_the_gpus_own_file_open_is_named_and_nobody_who_perhaps_is(tmp_path: Path) -> None:
    process(tmp_path, 8, "mps", "0::/", "/dev/nvidiactl")
    process(tmp_path, 9, "python", "0::/")
    assert who_holds((0,), tmp_path)[0] == "process 9 (python)"


@pytest.mark.parametrize("unit", ["nvidia-imex.service", "nvidia-fabricmanager.service"])
def test_nobody_is_told_to_stop_what_a_fabric_needs(tmp_path: Path, unit: str) -> None:
    process(tmp_path, 7, "daemon", f"0::/system.slice/{unit}")
    who, hint = who_holds((0,), tmp_path)
    assert who == f"process 7 (daemon) of {unit}"
    assert hint.startswith(f"leave {unit} running")
    assert list(monitors((0,), tmp_path)) == []
    process(tmp_path, 8, "nvsm", "0::/system.slice/nvsm.service")
    assert who_holds((0,), tmp_path)[1].startswith("systemctl stop nvsm.service; ")


def test_the_processes_that_drive_the_chips_are_no_monitors(tmp_path: Path) -> None:
    process(tmp_path, 7, "cmgr", r"0::/system.slice/system-cmgr\x2dchips.slice/cmgr-chips@9-0.service")
    (tmp_path / "proc/7/cmdline").write_bytes(b"/usr/bin/python3\0/usr/bin/cmgr\0chips\0--serve\0--connect\0/run\0")
    process(tmp_path, 8, "nvsm", "0::/system.slice/nvsm.service")
    assert list(monitors((0,), tmp_path)) == [(Process(8, "nvsm"), "nvsm.service")]
