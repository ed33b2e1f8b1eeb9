"""Resets by nvidia-smi: cmgr lets go first, says who does not, and takes back what it let go."""

import os
import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from cmgr.drivers.nvml.driver import NvmlDriver
from cmgr.drivers.nvml.library import abi
from cmgr.drivers.nvml.library.load import IN_CONTAINER
from cmgr.drivers.nvml.resetting.holders import holders_of, who_holds
from cmgr.drivers.nvml.resetting.tool import in_its_root
from cmgr.drivers.nvml.settings import Nvml
from cmgr.errors import DriverError, ResetRefused
from cmgr.model.values.chips import ChipId, Process, rings_of
from cmgr.model.values.faults import Assertion
from cmgr.model.values.messages.facts import ChipsListed
from tests.drivers.contract import Told
from tests.drivers.nvml.host import modeset, process
from tests.fakes.nvml import hosts
from tests.fakes.nvml.fixtures import Make
from tests.fakes.nvml.standin import SILENT, FakeReset, Purpose, Standin
from tests.support.waiting import eventually

Open = Callable[..., NvmlDriver]

NO_CODES: frozenset[str] = frozenset()
FIRST, SECOND = ChipId(0), ChipId(1)


@pytest.fixture
def machine(nvidia: Make) -> Standin:
    return nvidia(hosts.host_h100(2))


def codes(driver: NvmlDriver, chip: int) -> list[str]:
    (report,) = driver.read([ChipId(chip)])
    assert not report.error
    return [fault.code for fault in report.faults]


def test_cmgr_lets_go_of_the_gpu_alone_and_has_it_again_afterwards(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.xid(0, 140)
    told.has(FIRST, Assertion.OCCURRED, "Xid 140")
    assert machine.is_open(0)
    driver.reset([FIRST], [FIRST], frozenset({"Xid 140"}))
    assert machine.resets == (FakeReset(frozenset({0}), abi.OK),)
    # Reset, read, and heard again.
    assert codes(driver, 0) == []
    assert machine.is_open(0)
    # At once, while events are waited for on the set of the time of the reset.
    machine.xid(0, 43)
    told.has(FIRST, Assertion.ONCE, "Xid 43")


def test_the_next_life_knows_that_a_gpu_was_reset_and_what_is_still_to_be_done(nvidia: Make, opened: Open) -> None:
    machine = nvidia(hosts.host_h100(2), 535)  # No such driver says anything better.
    driver, told = opened(machine), Told()
    driver.watch(told)
    for gpu in (0, 1):
        machine.xid(gpu, 140)
        told.has(ChipId(gpu), Assertion.OCCURRED, "Xid 140")
    driver.reset([FIRST], [FIRST], NO_CODES)
    driver.close()
    again = opened(machine)
    again.watch(Told())
    assert (codes(again, 0), codes(again, 1)) == ([], ["Xid 140"])


@pytest.mark.parametrize("asked", [Purpose.HANDLE, Purpose.FIELD, Purpose.HEALTH, Purpose.MIG, Purpose.PROCESS])
@pytest.mark.parametrize("answer", [16, 14])
def test_what_is_wrong_with_a_gpu_is_the_reason_for_its_reset_and_no_objection(
    machine: Standin, opened: Open, asked: Purpose, answer: int
) -> None:
    driver = opened(machine)
    machine.answer(0, asked, answer)
    if asked is Purpose.HANDLE:
        machine.end_opener(0)  # Whoever has it open does not open it again.
    (code,) = codes(driver, 0)
    driver.reset([FIRST], [FIRST], frozenset({code}))
    assert machine.resets == (FakeReset(frozenset({0}), abi.OK),)


def test_so_is_an_unknown_error_after_an_xid_and_that_of_a_mate_which_is_well_is_not(
    nvidia: Make, opened: Open
) -> None:
    machine = nvidia(hosts.host_v100(2), 535)
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.xid(0, 119)
    told.has(FIRST, Assertion.OCCURRED, "Xid 119")
    machine.silence(1)
    with pytest.raises(ResetRefused, match="chip 1 does not answer the questions who uses it"):
        driver.reset([FIRST, SECOND], [FIRST], frozenset({"Xid 119"}))
    for purpose in SILENT:
        machine.answer(1, purpose, 0)
    machine.silence(0)
    driver.reset([FIRST, SECOND], [FIRST], frozenset({"Xid 119"}))
    assert machine.resets == (FakeReset(frozenset({0, 1}), abi.OK),)


def test_whoever_has_the_file_of_a_gpu_open_that_does_not_say_who_uses_it_keeps_it_from_a_reset(
    machine: Standin, opened: Open, tmp_path: Path
) -> None:
    process(tmp_path, 7, "python", f"0::/docker/{64 * 'a'}")
    driver = opened(machine, root=tmp_path)
    machine.answer(0, Purpose.PROCESS, abi.RESET_REQUIRED)
    with pytest.raises(ResetRefused, match=r"process 7 \(python, container aaaaaaaaaaaa\) is on chip 0"):
        driver.reset([FIRST], [FIRST], frozenset({"E0020002"}))
    assert machine.resets == ()


def test_a_process_that_does_not_exist_is_no_objection_and_who_has_its_file_open_is(
    machine: Standin, opened: Open, tmp_path: Path
) -> None:
    driver = opened(machine, root=tmp_path)
    machine.process(0, 4_190_001)
    machine.set("ghosts", 1)
    process(tmp_path, 7, "worker", "0::/")
    with pytest.raises(ResetRefused, match=r"process 7 \(worker\) is on chip 0"):
        driver.reset([FIRST], [FIRST], NO_CODES)
    (tmp_path / "proc/7/fd/3").unlink()
    machine.set("ghosts", 0)
    with pytest.raises(ResetRefused, match="held open by somebody whom cmgr cannot see"):
        driver.reset([FIRST], [FIRST], NO_CODES)  # The tool refuses where the driver knows better.
    machine.set("ghosts", 1)
    driver.reset([FIRST], [FIRST], NO_CODES)
    assert machine.resets[-1] == FakeReset(frozenset({0}), abi.OK)


def test_a_gpu_that_does_not_say_whether_it_is_divided_is_so_by_its_last_answer(machine: Standin, opened: Open) -> None:
    machine.divide(0, 2)
    driver = opened(machine)
    machine.answer(0, Purpose.MIG, abi.RESET_REQUIRED)
    with pytest.raises(DriverError, match="divided by MIG"):
        driver.reset([FIRST], [FIRST], frozenset({"E0020002"}))


def test_a_ring_is_reset_in_one_command(nvidia: Make, opened: Open) -> None:
    machine = nvidia(hosts.host_v100(3))
    driver = opened(machine)
    chips = [chip.id for chip in driver.chips()]
    driver.reset(chips, chips[:1], NO_CODES)
    assert machine.resets == (FakeReset(frozenset({0, 1, 2}), abi.OK),)


def test_who_holds_it_open_is_named(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    machine.set("reset_answer", 19)
    with pytest.raises(ResetRefused, match="it is held open by somebody whom cmgr cannot see") as caught:
        driver.reset([FIRST], [FIRST], NO_CODES)
    assert "GPU 0000:3b:00.0: In use by another client 1 device is currently" in caught.value.message
    assert not driver.read([FIRST])[0].error


def test_holders_are_found_by_the_file_that_they_have_open_and_their_units_named(tmp_path: Path) -> None:
    process(tmp_path, 7, "nv-hostengine", "0::/system.slice/nvidia-dcgm.service")
    process(tmp_path, 8, "other", "0::/system.slice/other.service", "/dev/nvidia1")
    process(tmp_path, 9, "Xorg", "0::/user.slice/user-0.slice/session-1.scope")
    assert holders_of((0,), tmp_path) == (Process(7, "nv-hostengine"), Process(9, "Xorg"))
    assert who_holds((0,), tmp_path) == (
        "process 7 (nv-hostengine) of nvidia-dcgm.service, process 9 (Xorg)",
        'systemctl stop nvidia-dcgm.service; or have cmgr do that: nvml.stop_units = ["nvidia-dcgm.service"]',
    )
    assert who_holds((2,), tmp_path)[0] == "somebody whom cmgr cannot see"
    modeset(tmp_path, "Y")
    assert who_holds((2,), tmp_path) == ("the kernel's module nvidia_drm", "modprobe -r nvidia_drm")


def test_the_persistence_mode_is_turned_off_if_need_be_and_on_again(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    machine.set("persistent", 1)
    machine.set("persistence_holds", 1)
    driver.reset([FIRST], [FIRST], NO_CODES)
    assert [reset.answer for reset in machine.resets] == [19, abi.OK]
    assert machine.get("persistent") == 1


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (15, "nvidia-smi ended with 15: Unable to determine the device handle for GPU0: 0000:3b:00.0: Unknown Error"),
        (
            2,
            "nvidia-smi ended with 255: The following GPUs could not be reset: GPU 0000:3b:00.0: its NVLink peers have "
            "to be reset with it:",
        ),
    ],
)
def test_a_reset_that_fails_says_what_the_tool_said(machine: Standin, opened: Open, answer: int, why: str) -> None:
    driver = opened(machine)
    machine.set("reset_answer", answer)
    with pytest.raises(DriverError) as caught:
        driver.reset([FIRST], [FIRST], NO_CODES)
    assert not isinstance(caught.value, ResetRefused)
    assert f"cannot reset chip 0: {why}" in caught.value.message
    assert not driver.read([FIRST])[0].error


def test_peers_that_the_tool_names_are_one_ring_from_then_on(nvidia: Make, opened: Open) -> None:
    machine = nvidia(hosts.host_bridged(3))
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.process(1, os.getpid())
    with pytest.raises(ResetRefused, match="nvidia-smi wants chips 1-2 reset with it"):
        driver.reset([FIRST], [FIRST], NO_CODES)
    assert rings_of(driver.chips()) == {0: (0, 1, 2)}
    assert [fact.chips for fact in told.facts if isinstance(fact, ChipsListed)] == [driver.chips()]
    # The service has perhaps not joined them yet: one of them had an episode of its own.
    with pytest.raises(ResetRefused, match="is on chip 1"):
        driver.reset([FIRST], [FIRST], NO_CODES)
    assert [fact.chips for fact in told.facts if isinstance(fact, ChipsListed)] == [driver.chips()] * 2
    machine.process(1, os.getpid(), 0)
    driver.reset([FIRST, SECOND, ChipId(2)], [FIRST], NO_CODES)
    assert machine.resets == (FakeReset(frozenset({0}), 2), FakeReset(frozenset({0, 1, 2}), abi.OK))
    assert len([fact for fact in told.facts if isinstance(fact, ChipsListed)]) == 2


def test_peers_are_remembered_until_the_machine_restarts(nvidia: Make, opened: Open) -> None:
    machine = nvidia(hosts.host_bridged(2))
    driver = opened(machine)
    with pytest.raises(ResetRefused, match="nvidia-smi wants chip 1 reset with it"):
        driver.reset([FIRST], [FIRST], NO_CODES)
    driver.close()
    driver = opened(machine)
    assert rings_of(driver.chips()) == {0: (0, 1)}
    driver.reset([FIRST, SECOND], [FIRST], NO_CODES)
    assert machine.resets[-1] == FakeReset(frozenset({0, 1}), abi.OK)
    assert [report.error for report in driver.read([FIRST, SECOND])] == ["", ""]


@pytest.mark.parametrize("status", [3, 4, 9, 12, 13, 18])
def test_a_tool_that_has_begun_nothing_has_refused(machine: Standin, opened: Open, status: int) -> None:
    tool = machine.library.with_name("smi")
    tool.write_text(f"#!/bin/sh\necho NVIDIA-SMI has failed\nexit {status}\n")
    tool.chmod(0o755)
    with pytest.raises(ResetRefused, match=f"nvidia-smi ended with {status}: NVIDIA-SMI has failed") as caught:
        opened(machine, tool=str(tool)).reset([FIRST], [FIRST], NO_CODES)
    assert caught.value.hint


def test_the_tool_of_a_driver_in_a_container_is_that_containers() -> None:
    there, tool = f"{IN_CONTAINER}/usr/lib64/libnvidia-ml.so.1", f"{IN_CONTAINER}/usr/bin/nvidia-smi"
    assert in_its_root(Nvml(), there).tool == tool
    assert in_its_root(Nvml(tool=tool), there).tool == tool
    assert in_its_root(Nvml(), "/usr/lib64/libnvidia-ml.so.1") == Nvml()


def test_a_reset_that_cures_nothing_leaves_the_fault(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    machine.set("cures_nothing", 1)
    machine.act(0, 1)
    driver.reset([FIRST], [FIRST], frozenset({"E0010001"}))
    assert codes(driver, 0) == ["E0010001"]


def test_a_gpu_that_is_divided_is_not_reset(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    machine.set("mig", 1)
    with pytest.raises(ResetRefused, match="divided by MIG, and a reset would destroy the parts"):
        driver.reset([FIRST], [FIRST], NO_CODES)
    assert machine.resets == ()


DIVIDES = """#!/bin/sh
echo "$@" > {folder}/made
exit {status}
"""


def divider(machine: Standin, status: int) -> Path:
    """Put a program beside the library that notes for which GPUs it was run."""
    path = machine.library.with_name("divide")
    path.write_text(DIVIDES.format(folder=machine.library.parent, status=status))
    path.chmod(0o755)
    return path


def test_parts_are_made_again_by_the_program_that_the_operator_names(machine: Standin, opened: Open) -> None:
    driver = opened(machine, mig_tool=str(divider(machine, 0)))
    machine.divide(0, 2, forgets=True)
    before = driver.read([FIRST])[0].shares
    driver.reset([FIRST], [FIRST], NO_CODES)
    assert machine.resets == (FakeReset(frozenset({0}), abi.OK),)
    assert driver.read([FIRST])[0].shares == ()
    assert before is not None
    driver.make_shares({FIRST: before})
    assert machine.library.with_name("made").read_text() == f"{machine.gpus[0].address}\n"


def test_parts_that_the_driver_itself_makes_again_are_there_after_a_reset(machine: Standin, opened: Open) -> None:
    driver = opened(machine, mig_tool=str(divider(machine, 0)))
    machine.divide(0, 2)
    before = driver.read([FIRST])[0].shares
    driver.reset([FIRST], [FIRST], NO_CODES)
    assert driver.read([FIRST])[0].shares == before
    assert before


def test_parts_that_cannot_be_made_again_are_told(machine: Standin, opened: Open) -> None:
    driver = opened(machine, mig_tool=str(divider(machine, 3)))
    with pytest.raises(DriverError, match=r"cannot make the parts of chip 0 again: nvml\.mig_tool ended with 3"):
        driver.make_shares({FIRST: ()})
    assert not driver.read([FIRST])[0].error


def test_without_a_program_parts_are_not_made(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    with pytest.raises(DriverError, match=r"nvml\.mig_tool names no program for that"):
        driver.make_shares({FIRST: ()})
    assert driver.share_obstacle() == "nvml.mig_tool names no program for that"


def test_a_tool_that_is_not_there_is_told_and_the_gpu_is_asked_again(machine: Standin, opened: Open) -> None:
    driver = opened(machine, tool="/nowhere/nvidia-smi")
    with pytest.raises(ResetRefused, match="cannot run /nowhere/nvidia-smi") as caught:
        driver.reset([FIRST], [FIRST], NO_CODES)
    assert caught.value.hint == "correct nvml.tool"
    assert not driver.read([FIRST])[0].error


def test_a_tool_that_others_can_write_is_not_run(machine: Standin, opened: Open) -> None:
    machine.tool.chmod(0o777)
    with pytest.raises(ResetRefused, match="others can write the file"):
        opened(machine).reset([FIRST], [FIRST], NO_CODES)
    assert machine.resets == ()


def test_a_reset_that_does_not_end_is_waited_for_while_the_others_are_asked(machine: Standin, opened: Open) -> None:
    driver = opened(machine, reset_timeout=timedelta(milliseconds=200))
    machine.set("reset_hangs", 1)
    with pytest.raises(DriverError, match=r"cannot tell how the reset of chip 0 went: it has lasted 0\.2 s"):
        driver.reset([FIRST], [FIRST], NO_CODES)
    first, second = driver.read([FIRST, SECOND])
    assert (first.booted, first.error) == (False, "")
    assert (second.booted, second.error) == (True, "")
    with pytest.raises(DriverError, match="an earlier reset is under way"):
        driver.reset([FIRST], [FIRST], NO_CODES)
    machine.set("reset_hangs", 0)
    eventually(lambda: driver.read([FIRST])[0].booted)
    assert codes(driver, 0) == []


def test_two_rings_that_want_a_reset_at_a_time_get_it_one_after_the_other(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    both = [threading.Thread(target=driver.reset, args=([c], [c], NO_CODES)) for c in (FIRST, SECOND)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert sorted(sorted(reset.gpus) for reset in machine.resets) == [[0], [1]]
    assert all(report.booted and not report.error for report in driver.read([FIRST, SECOND]))


def test_the_machines_own_processes_can_be_looked_at() -> None:
    assert isinstance(holders_of((os.getpid(),)), tuple)
