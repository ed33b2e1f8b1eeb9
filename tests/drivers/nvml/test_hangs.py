"""Calls that never return, and processes that end: each is the matter of its own GPU."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from cmgr.drivers.nvml.driver import NvmlDriver
from cmgr.drivers.nvml.library import abi
from cmgr.errors import ResetRefused, chain
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion
from cmgr.model.values.messages.facts import FaultReported
from tests.drivers.contract import Told
from tests.fakes.nvml import hosts
from tests.fakes.nvml.fixtures import Make
from tests.fakes.nvml.standin import FakeReset, Purpose, Standin
from tests.support.waiting import eventually

Open = Callable[..., NvmlDriver]

SHORT = timedelta(seconds=1)
CODES = frozenset({"E0010001"})
GPU = [ChipId(n) for n in range(3)]


@pytest.fixture
def machine(nvidia: Make) -> Standin:
    return nvidia(hosts.host_h100(3))


def look(machine: Standin, driver: NvmlDriver) -> None:
    """Have it look for new GPUs twice: the first look is over then."""
    for _ in range(2):
        looked = machine.get("lists")
        driver.read([ChipId(7)])  # There is none.
        eventually(lambda: machine.get("lists") > looked)  # noqa: B023 - waited for here


@pytest.fixture(params=[Purpose.FIELD, Purpose.HEALTH, Purpose.PROCESS])
def hung(request: pytest.FixtureRequest, machine: Standin, opened: Open) -> NvmlDriver:
    """A driver of which a call about GPU 2 hangs, in a process that cannot be ended."""
    driver = opened(machine, call_timeout=SHORT)
    machine.hang(2, request.param, for_good=True)
    assert driver.read([GPU[2]])[0].error
    return driver


def test_a_call_that_hangs_keeps_no_other_gpu_from_being_read_heard_and_reset(
    machine: Standin, hung: NvmlDriver
) -> None:
    told = Told()
    hung.watch(told)
    machine.xid(1, 13)
    told.has(GPU[1], Assertion.ONCE, "Xid 13")
    machine.act(0, 1)
    told.has(GPU[0], Assertion.OCCURRED, "E0010001")
    hung.reset([GPU[0]], [GPU[0]], CODES)
    assert machine.resets == (FakeReset(frozenset({0}), abi.OK),)
    assert [bool(report.error) for report in hung.read(GPU)] == [False, False, True]
    machine.xid(0, 43)
    told.has(GPU[0], Assertion.ONCE, "Xid 43")


def test_its_own_gpu_is_not_reset_and_says_so_until_the_process_has_ended(machine: Standin, hung: NvmlDriver) -> None:
    assert hung.trouble() == ("the driver of chip 2 does not answer: a call of NVML has not come back",)
    with pytest.raises(ResetRefused) as caught:
        hung.reset([GPU[2]], [GPU[2]], frozenset())
    assert "does not answer" in chain(caught.value)
    assert not machine.resets
    for purpose in Purpose:
        machine.hang(2, purpose, hangs=False)
    eventually(lambda: not hung.read([GPU[2]])[0].error)
    assert hung.trouble() == ()
    hung.reset([GPU[2]], [GPU[2]], frozenset())
    assert machine.resets == (FakeReset(frozenset({2}), abi.OK),)


def test_a_process_that_ends_is_replaced_and_its_gpu_is_read_once_it_is_heard_again(
    machine: Standin, opened: Open
) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    for gpu in GPU:
        told.asks(gpu, 1)
    before = machine.opener(1)
    machine.end_opener(1)
    told.asks(GPU[1], 2)
    assert machine.opener(1) not in (0, before)
    machine.xid(1, 13)
    told.has(GPU[1], Assertion.ONCE, "Xid 13")
    assert driver.trouble() == ()
    assert not any(report.error for report in driver.read(GPU))


def test_what_comes_while_nobody_hears_a_gpu_is_read(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    told.asks(GPU[1], 1)
    machine.hang(1, Purpose.REGISTER)
    machine.end_opener(1)
    machine.act(1, 1)
    machine.hang(1, Purpose.REGISTER, hangs=False)
    told.asks(GPU[1], 2)
    assert [fault.code for fault in driver.read([GPU[1]])[0].faults] == ["E0010001"]


def test_each_gpu_is_open_in_a_process_of_its_own(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    driver.watch(Told())
    assert len({machine.opener(gpu) for gpu in GPU}) == 3
    driver.close()
    eventually(lambda: not any(machine.opener(gpu) for gpu in GPU))


def test_a_gpu_that_cannot_be_let_go_of_leaves_its_mates_as_they_were(nvidia: Make, opened: Open) -> None:
    machine = nvidia(hosts.host_v100(2))
    driver, told = opened(machine, call_timeout=SHORT), Told()
    driver.watch(told)
    machine.hang(1, Purpose.GAUGE, for_good=True)
    assert len(driver.measure([GPU[1]])[GPU[1]]) == 2
    with pytest.raises(ResetRefused):
        driver.reset(GPU[:2], GPU[:1], frozenset())
    assert machine.resets == ()
    assert not driver.read([GPU[0]])[0].error
    machine.xid(0, 13)
    told.has(GPU[0], Assertion.ONCE, "Xid 13")
    machine.hang(1, Purpose.GAUGE, hangs=False)
    eventually(lambda: not driver.read([GPU[1]])[0].error)
    driver.reset(GPU[:2], GPU[:1], frozenset())


@pytest.mark.parametrize("xid", [79, 119, 120])
def test_between_such_an_xid_and_its_reset_a_gpu_is_asked_for_the_recovery_action_alone(
    nvidia: Make, opened: Open, xid: int
) -> None:
    machine = nvidia(hosts.host_h100(3), 570)
    driver, told = opened(machine), Told()
    driver.watch(told)
    for gpu in GPU:
        told.asks(gpu, 1)
    machine.set("persistent", 1, gpu=1)
    look(machine, driver)
    machine.field(1, abi.ACTION_FIELD, 1)
    machine.xid(1, xid)
    both = ["E0010001", f"Xid {xid}"]
    eventually(lambda: [fault.code for fault in driver.read([GPU[1]])[0].faults] == both)
    look(machine, driver)  # The looks that had begun before are over then.
    asked, actions = machine.get("asked", 1), machine.get("actions", 1)
    machine.event(1, abi.RECOVERY_ACTION)
    eventually(lambda: machine.get("actions", 1) > actions)
    assert [fault.code for fault in driver.read([GPU[1]])[0].faults] == both
    assert driver.measure([GPU[1]]) == {}
    look(machine, driver)
    assert machine.get("asked", 1) == asked
    driver.reset([GPU[1]], [GPU[1]], CODES)
    assert machine.resets == (FakeReset(frozenset({1}), abi.OK),)
    eventually(lambda: driver.read([GPU[1]])[0].booted)
    assert machine.get("asked", 1) > asked
    assert machine.get("persistent", 1) == 1


def test_a_fault_is_told_once_it_is_known_that_cmgr_can_let_go_of_the_gpu(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine, call_timeout=SHORT), Told()
    driver.watch(told)
    for gpu in GPU:
        told.asks(gpu, 1)
    machine.hang(0, Purpose.FIELD, for_good=True)
    assert driver.read([GPU[0]])[0].error
    machine.xid(0, 140)
    told.asks(GPU[0], 2)
    assert driver.read([GPU[0]])[0].error
    assert driver.trouble() == ("the driver of chip 0 does not answer: a call of NVML has not come back",)
    assert not any(isinstance(fact, FaultReported) for fact in told.facts)
    machine.hang(0, Purpose.FIELD, hangs=False)
    eventually(lambda: [fault.code for fault in driver.read([GPU[0]])[0].faults] == ["Xid 140"])


def test_nor_is_that_of_a_gpu_told_whose_mate_cmgr_cannot_let_go_of(nvidia: Make, opened: Open) -> None:
    machine = nvidia(hosts.host_v100(2), 535)
    driver, told = opened(machine, call_timeout=SHORT), Told()
    driver.watch(told)
    machine.hang(1, Purpose.FIELD, for_good=True)
    assert driver.read([GPU[1]])[0].error
    machine.xid(0, 119)
    eventually(lambda: "a call about chip 1, which is reset with it, has not come" in driver.read([GPU[0]])[0].error)
    assert not any(isinstance(fact, FaultReported) for fact in told.facts)
