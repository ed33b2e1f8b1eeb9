"""Where the processes are that drive chips for a service, by what /proc says."""

from pathlib import Path

import pytest

from cmgr.drivers.program.launch import drivers_of
from cmgr.host.mounts import in_the_host

SERVED = "python\0-m\0cmgr\0chips\0--serve\0"


def process(proc: Path, pid: int, words: str, parent: int, cgroup: str = "0::/") -> None:
    (proc / str(pid)).mkdir()
    (proc / str(pid) / "cmdline").write_text(words)
    (proc / str(pid) / "stat").write_text(f"{pid} (odd) name) S {parent} 1 1 0")
    (proc / str(pid) / "cgroup").write_text(f"{cgroup}\n")


def test_they_are_its_children_and_those_in_units_of_its_number(tmp_path: Path) -> None:
    unit = "0::/system.slice/system-cmgr\\x2dchips.slice/cmgr-chips@{}-2.service"
    process(tmp_path, 11, SERVED, 7)
    process(tmp_path, 12, f"{SERVED}--connect\0/run/cmgr/chips.sock\0", 1, unit.format(7))
    process(tmp_path, 13, SERVED, 1, unit.format(77))  # Of another service.
    process(tmp_path, 14, SERVED, 8)
    process(tmp_path, 15, "cmgr\0chips\0", 7)
    process(tmp_path, 16, "vi\0chips", 7)
    (tmp_path / "17").mkdir()  # It has just ended.
    (tmp_path / "self").mkdir()
    assert drivers_of(7, tmp_path) == [11, 12]


@pytest.mark.parametrize(("its", "there"), [("21 1 8:1 / /\n30 21 0:5 / /proc\n", True), ("901 1 8:1 / /\n", False)])
def test_the_host_s_mounts_have_numbers_that_no_other_namespace_has(tmp_path: Path, its: str, there: bool) -> None:
    for pid, text in ((1, "21 1 8:1 / /\n22 21 0:4 / /sys\n"), (9, its)):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "mountinfo").write_text(text)
    assert in_the_host(9, tmp_path) is there


def test_what_nobody_may_look_at_counts_as_in_the_host(tmp_path: Path) -> None:
    assert in_the_host(9, tmp_path)
