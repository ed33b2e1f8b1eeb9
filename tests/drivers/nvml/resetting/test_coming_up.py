"""GPUs after a reset: what is believed to be a boot, and for how long."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from cmgr.drivers.nvml.driver import NvmlDriver
from cmgr.drivers.nvml.library import abi
from cmgr.model.values.chips import ChipId, ChipReport
from cmgr.model.values.messages.facts import Remarked
from tests.drivers.contract import Told
from tests.fakes.nvml import hosts
from tests.fakes.nvml.fixtures import Make
from tests.fakes.nvml.standin import FakeGpu, Purpose, Standin

Open = Callable[..., NvmlDriver]

NO_CODES: frozenset[str] = frozenset()
FIRST = ChipId(0)
OVER = timedelta(0)
"""A time for boots that is over at once."""


@pytest.fixture
def machine(nvidia: Make) -> Standin:
    return nvidia(hosts.host_h100(2))


def after_reset(driver: NvmlDriver) -> ChipReport:
    driver.reset([FIRST], [FIRST], NO_CODES)
    (report,) = driver.read([FIRST])
    return report


def codes(report: ChipReport) -> list[str]:
    assert report.is_up
    return [fault.code for fault in report.faults]


@pytest.mark.parametrize(
    "answer", [abi.GPU_IS_LOST, abi.RESET_REQUIRED, abi.NOT_READY, abi.NOT_FOUND, abi.GPU_NOT_FOUND]
)
def test_a_gpu_that_cannot_be_asked_after_its_reset_boots(machine: Standin, opened: Open, answer: int) -> None:
    driver = opened(machine)
    machine.emerge(0, answer)
    report = after_reset(driver)
    assert (report.booted, report.error, report.unwell) == (False, "", "")


@pytest.mark.parametrize(("answer", "code"), [(abi.GPU_IS_LOST, "E0020001"), (abi.RESET_REQUIRED, "E0020002")])
def test_when_it_has_had_its_time_for_that_it_is_what_it_says(
    machine: Standin, opened: Open, answer: int, code: str
) -> None:
    driver = opened(machine, boot=OVER)
    machine.emerge(0, answer)
    assert codes(after_reset(driver)) == [code]


def test_one_that_is_not_ready_then_is_silent(machine: Standin, opened: Open) -> None:
    driver = opened(machine, boot=OVER)
    machine.emerge(0, abi.NOT_READY)
    assert "NVML says 27" in after_reset(driver).error


def test_one_that_still_wants_a_reset_then_is_reset_again(machine: Standin, opened: Open) -> None:
    driver = opened(machine, boot=OVER)
    machine.emerge(0, abi.RESET_REQUIRED)
    assert codes(after_reset(driver)) == ["E0020002"]
    machine.emerge(0, 0)
    driver.reset([FIRST], [FIRST], frozenset({"E0020002"}))
    assert [reset.answer for reset in machine.resets] == [abi.OK, abi.OK]
    assert codes(driver.read([FIRST])[0]) == []


def test_the_time_for_a_boot_is_that_of_the_last_reset(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    assert codes(after_reset(driver)) == []
    machine.answer(0, Purpose.FIELD, abi.GPU_IS_LOST)
    assert codes(driver.read([FIRST])[0]) == ["E0020001"]
    assert not after_reset(driver).booted


@pytest.mark.parametrize("managed", [True, False])
@pytest.mark.parametrize("host", [hosts.host_h100, hosts.host_a100, hosts.host_l40])
def test_that_no_fabric_manager_runs_is_told_before_the_reset_of_a_gpu_at_switches(
    nvidia: Make, opened: Open, host: Callable[..., tuple[FakeGpu, ...]], managed: bool
) -> None:
    machine = nvidia(host(1))
    driver, told = opened(machine, managed=managed), Told()
    driver.watch(told)
    driver.reset([FIRST], [FIRST], NO_CODES)
    said = [fact.text for fact in told.facts if isinstance(fact, Remarked) and fact.loud]
    lacks = "no Fabric Manager runs on this machine: unless it runs elsewhere, the NVLinks of chip 0 do not come up"
    assert said == ([] if managed or host is hosts.host_l40 else [f"{lacks} after the reset"])


def test_one_that_does_not_join_its_fabric_says_for_whom_it_waits_and_then_that_it_has_not(
    nvidia: Make, opened: Open
) -> None:
    for boot, told in ((timedelta(hours=1), None), (OVER, ["E0040001"])):
        machine = nvidia(hosts.host_h100(1))
        machine.set("fabric_state", abi.FABRIC_COMPLETED)
        machine.set("unmanaged", 1)
        report = after_reset(opened(machine, boot=boot))
        assert report.unwell == ("" if told else "it waits for the Fabric Manager")
        assert (codes(report) if report.is_up else None) == told
