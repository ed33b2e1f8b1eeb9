"""Disks asked by smartctl: a stand-in, and the program itself where it is installed."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from cmgr.drivers.machine.smart import Smart
from cmgr.drivers.machine.source import Off
from cmgr.errors import DriverError
from tests.fakes.machine.tree import Program, Tree

WELL: dict[str, Any] = {"smartctl": {"exit_status": 0}, "model_name": "M1", "smart_status": {"passed": True}}
CLOSED = {
    "smartctl": {
        "exit_status": 2,
        "messages": [{"string": "Smartctl open device: /dev/sda failed: Permission denied", "severity": "error"}],
    }
}


@pytest.fixture
def program(tree: Tree) -> Program:
    made = tree.program("smartctl")
    told(made, WELL, WELL)
    return made


def told(program: Program, nvme: object, sda: object) -> None:
    program.answers("nvme0", json.dumps(nvme))
    program.answers("sda", json.dumps(sda))


def source(tree: Tree, program: Program) -> Smart:
    return Smart(tree.root, str(program.path), 20)


def nvme(warning: int = 0, used: int = 1, *, passed: bool = True) -> dict[str, Any]:
    log = {"critical_warning": warning, "percentage_used": used}
    return {**WELL, "smart_status": {"passed": passed}, "nvme_smart_health_information_log": log}


@pytest.mark.parametrize(
    ("disk", "found"),
    [
        (nvme(), []),
        (nvme(0b1, passed=False), ["disk-failing: too little spare space is left"]),
        (nvme(0b1100), ["disk-failing: it is no longer reliable; it can only be read any more"]),
        (nvme(0b10, passed=False), []),
        (nvme(used=100), ["disk-worn: 100 % of the use that it is made for"]),
        ({**WELL, "smart_status": {"passed": False}}, ["disk-failing: its own test says so"]),
        ({**WELL, "smart_status": 7, "nvme_smart_health_information_log": [1]}, []),
    ],
)
def test_a_disk_says(tree: Tree, program: Program, disk: object, found: list[str]) -> None:
    told(program, disk, WELL)
    symptoms = source(tree, program).look()
    assert [f"{s.code}: {s.text}" for s in symptoms] == found
    assert {s.part for s in symptoms} <= {"nvme0 M1"}


def test_a_disk_that_cannot_be_asked_hides_no_other(tree: Tree, program: Program) -> None:
    told(program, nvme(0b100), CLOSED)
    assert [s.code for s in source(tree, program).look()] == ["disk-failing"]


def test_where_none_can_be_asked_it_is_off_and_says_what_would_help(tree: Tree, program: Program) -> None:
    told(program, CLOSED, CLOSED)
    with pytest.raises(Off, match=r"Permission denied; /usr/lib/cmgr/machine\.conf gives"):
        source(tree, program).look()


def test_without_the_program_or_a_disk_it_is_off(tree: Tree, tmp_path: Path) -> None:
    with pytest.raises(Off, match="smartctl is not there"):
        Smart(tree.root, str(tmp_path / "smartctl"), 1).look()
    with pytest.raises(Off, match="no disk"):
        Smart(tmp_path, str(tmp_path / "smartctl"), 1).look()


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"smartctl": 1}', "\xff" * 9000, "[" * 100_000])
def test_nonsense_is_no_answer(tree: Tree, program: Program, text: str) -> None:
    program.answers("nvme0", text)
    with pytest.raises(DriverError, match="has not answered in JSON"):
        source(tree, program).look()


def test_one_that_hangs_is_killed_with_its_children(tree: Tree, program: Program) -> None:
    program.hangs()
    with pytest.raises(DriverError, match=r"smartctl /dev/nvme0 has not ended within 0.2 s"):
        Smart(tree.root, str(program.path), 0.2).look()


def test_one_that_others_could_have_written_or_put_something_beside_is_not_run(tree: Tree, program: Program) -> None:
    program.path.chmod(0o777)
    with pytest.raises(DriverError, match="cannot run"):
        source(tree, program).look()
    program.path.chmod(0o755)
    program.path.parent.chmod(0o1777)
    with pytest.raises(DriverError, match="others can write the directory"):
        source(tree, program).look()


@pytest.mark.skipif(shutil.which("smartctl", path="/usr/sbin:/usr/bin") is None, reason="there is no smartctl")
def test_smartctl_itself_answers_in_the_form_that_is_read(tree: Tree) -> None:
    # There is no such disk, whatever machine this is.
    tree.put("sys/class/nvme/nvme77/state", "live")
    tree.take("sys/class/nvme/nvme0")
    tree.take("sys/block/sda")
    with pytest.raises(Off, match=r"no disk can be asked: .*nvme77"):
        Smart(tree.root, "/usr/sbin/smartctl", 20).look()
