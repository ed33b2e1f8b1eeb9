"""Opening a GPU for the first time takes longer than an answer: it is waited for, and nobody is silent meanwhile."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from cmgr.drivers.nvml.driver import NvmlDriver
from cmgr.model.values.chips import ChipId, ChipReport
from cmgr.model.values.faults import Assertion
from tests.drivers.contract import Told
from tests.fakes.nvml import hosts
from tests.fakes.nvml.fixtures import Make
from tests.fakes.nvml.standin import Standin
from tests.support.waiting import eventually

Open = Callable[..., NvmlDriver]

FIRST = ChipId(0)
SHORT = timedelta(milliseconds=300)


@pytest.fixture
def machine(nvidia: Make) -> Standin:
    """A machine whose GPUs take longer to be opened than an answer may take."""
    machine = nvidia(hosts.host_h100(2))
    machine.set("opens", 700)
    return machine


def test_no_gpu_is_left_out_because_it_is_only_just_opened(
    machine: Standin, opened: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cmgr.drivers.nvml.library.session.KILL", 0.1)
    driver = opened(machine, call_timeout=SHORT)
    assert [chip.id for chip in driver.chips()] == [0, 1]
    assert driver.trouble() == ()


def test_a_gpu_that_is_opened_after_its_reset_boots_and_is_heard_at_once(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine, call_timeout=SHORT), Told()
    driver.watch(told)
    driver.reset([FIRST], [FIRST], frozenset())
    seen: list[ChipReport] = []

    def is_up() -> bool:
        seen.extend(driver.read([FIRST]))
        return seen[-1].booted

    eventually(is_up)
    assert not seen[0].booted, "the tool's end is not the end of it"
    assert [report.error for report in seen if report.error] == []
    # Looks for new chips are an hour apart here.
    machine.xid(0, 43)
    told.has(FIRST, Assertion.ONCE, "Xid 43")


def test_persistence_mode_has_no_opening_to_wait_for(machine: Standin, opened: Open) -> None:
    for number in (0, 1):
        machine.set("persistent", 1, gpu=number)
    driver = opened(machine, call_timeout=SHORT)
    assert all(report.booted and not report.error for report in driver.read([FIRST, ChipId(1)]))
