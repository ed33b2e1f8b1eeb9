"""A GPU's words about itself: conditions, Xids that still count, users, and how calls that fail are read."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from cmgr.drivers.nvml.driver import NvmlDriver
from cmgr.drivers.nvml.library import abi
from cmgr.model.values.chips import ChipId, ChipReport, Process
from cmgr.model.values.faults import Assertion
from tests.drivers.contract import Told
from tests.drivers.nvml.host import process
from tests.fakes.nvml import hosts
from tests.fakes.nvml.fixtures import Make
from tests.fakes.nvml.standin import Purpose, Standin
from tests.support.waiting import eventually

Open = Callable[..., NvmlDriver]


@pytest.fixture
def machine(nvidia: Make) -> Standin:
    return nvidia(hosts.host_h100(2), 615)


def read(driver: NvmlDriver, chip: int = 0) -> ChipReport:
    (report,) = driver.read([ChipId(chip)])
    return report


def codes(report: ChipReport) -> list[str]:
    assert not report.error
    return [fault.code for fault in report.faults]


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        *((abi.ACTION_FIELD, action, f"E001000{action}") for action in range(1, 8)),
        (abi.REMAP_PENDING_FIELD, 1, "E0030001"),
        (abi.REMAP_FAILED_FIELD, 1, "E0030002"),
        (abi.PAGES_PENDING_FIELD, 1, "E0030003"),
    ],
)
def test_a_field_tells_of_a_condition(machine: Standin, opened: Open, field: int, value: int, code: str) -> None:
    driver = opened(machine)
    machine.field(0, field, value)
    # A restart of the machine counts once the other GPUs could have asked for it, too.
    eventually(lambda: codes(read(driver)) == [code])
    assert codes(read(driver, 1)) == []


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("sram", 1, "E0030004"),
        ("unrepairable", 1, "E0030005"),
        ("repair", 1, "E0030006"),
        ("fabric_state", abi.FABRIC_IN_PROGRESS, "E0040001"),
    ],
)
def test_a_call_tells_of_a_condition(machine: Standin, opened: Open, name: str, value: int, code: str) -> None:
    driver = opened(machine)
    machine.set(name, value)
    assert codes(read(driver)) == [code]


@pytest.mark.parametrize(
    ("status", "summary", "ill"), [(0, 1, False), (0, 3, False), (0, 0, False), (7, 1, True), (0, 2, True)]
)
def test_a_gpu_is_in_its_fabric_when_that_is_complete_and_not_unhealthy(
    machine: Standin, opened: Open, status: int, summary: int, ill: bool
) -> None:
    driver = opened(machine)
    machine.set("fabric_state", abi.FABRIC_COMPLETED)
    machine.set("fabric_status", status)
    machine.set("fabric_summary", summary)
    assert codes(read(driver)) == (["E0040001"] if ill else [])


ANSWERS = {15: "E0020001", 16: "E0020002", 8: "E0050001", 11: "E0050002", 14: "E0050003"}


@pytest.mark.parametrize("asked", [Purpose.HANDLE, Purpose.FIELD, Purpose.HEALTH, Purpose.MIG, Purpose.PROCESS])
@pytest.mark.parametrize("answer", ANSWERS)
def test_the_answer_itself_can_be_the_condition_whatever_was_asked(
    machine: Standin, opened: Open, answer: int, asked: Purpose
) -> None:
    driver = opened(machine)
    machine.answer(0, asked, answer)
    if asked is Purpose.HANDLE:
        machine.end_opener(0)  # Whoever has it open does not open it again.
    assert codes(read(driver)) == [ANSWERS[answer]]
    assert codes(read(driver, 1)) == []


@pytest.mark.parametrize("asked", [Purpose.HEALTH, Purpose.MIG, Purpose.PROCESS])
def test_an_unknown_error_is_no_silence_where_something_is_wrong_already(
    machine: Standin, opened: Open, asked: Purpose
) -> None:
    driver = opened(machine)
    machine.answer(0, asked, 999)
    assert "NVML says 999" in read(driver).error
    machine.field(0, abi.ACTION_FIELD, 1)
    assert codes(read(driver)) == ["E0010001"]


def test_nor_is_it_where_an_xid_says_that_something_is(nvidia: Make, opened: Open) -> None:
    machine = nvidia(hosts.host_h100(1), 535)
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.xid(0, 119)
    told.has(ChipId(0), Assertion.OCCURRED, "Xid 119")
    machine.silence(0)
    assert codes(read(driver)) == ["Xid 119"]


def test_users_of_a_gpu_whose_own_processor_is_dead_are_told_by_the_list_that_the_cpu_keeps(
    machine: Standin, opened: Open
) -> None:
    driver = opened(machine)
    assert codes(read(driver)) == []
    machine.crash_gsp(0)
    machine.process(0, 40_001)
    assert codes(read(driver)) == ["E0010001", "E0020002"]
    assert [process.pid for process in read(driver).processes] == [40_001]


def test_users_of_a_gpu_that_does_not_say_who_uses_it_are_told_by_its_file(
    machine: Standin, opened: Open, tmp_path: Path
) -> None:
    process(tmp_path, 7, "python", f"0::/docker/{64 * 'a'}")
    process(tmp_path, 8, "nv-hostengine", "0::/system.slice/nvidia-dcgm.service")
    process(tmp_path, 9, "python", f"0::/docker/{64 * 'b'}", "/dev/nvidia1")
    driver = opened(machine, root=tmp_path)
    machine.answer(0, Purpose.PROCESS, abi.RESET_REQUIRED)
    assert read(driver).processes == (Process(7, "python", 0, 64 * "a"),)


def test_a_gpu_that_is_lost_is_a_fault_and_no_silence(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    machine.set("lost", 1, gpu=1)
    assert codes(read(driver, 1)) == ["E0020001"]
    assert codes(read(driver, 0)) == []


@pytest.mark.parametrize("release", [535, 570])
def test_what_an_older_driver_does_not_know_is_left_out(nvidia: Make, opened: Open, release: int) -> None:
    machine = nvidia(hosts.host_h100(1), release)
    for name in ("repair", "unrepairable"):
        machine.set(name, 1)
    machine.field(0, abi.ACTION_FIELD, 1)
    assert codes(read(opened(machine))) == (["E0010001"] if release >= 565 else [])


def test_a_gpu_whose_call_hangs_is_silent_and_the_others_are_not(machine: Standin, opened: Open) -> None:
    driver = opened(machine, call_timeout=timedelta(seconds=1))
    machine.hang(0, Purpose.FIELD)
    silent, well = driver.read([ChipId(0), ChipId(1)])
    assert "has not answered for 1 s" in silent.error
    assert not well.error
    machine.hang(0, Purpose.FIELD, hangs=False)


def test_users_are_read_of_every_kind(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    for pid, kind in ((40_001, 0), (40_002, 1), (40_003, 2)):
        machine.process(0, pid, kind=kind)
    assert [process.pid for process in read(driver).processes] == [40_001, 40_002, 40_003]
