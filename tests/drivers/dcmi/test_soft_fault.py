"""The fault that the maker's driver raises by itself: by a process of its own, which ends it whatever happens."""

import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from cmgr.drivers.dcmi.driver import DcmiDriver
from cmgr.drivers.dcmi.library import soft_fault
from cmgr.errors import DriverError
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion
from cmgr.model.values.messages.facts import FaultReported
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.build import Workshop
from tests.fakes.dcmi.fixtures import Make
from tests.fakes.dcmi.standin import Standin
from tests.support.waiting import PATIENCE, eventually

Open = Callable[..., DcmiDriver]

CODE = "4C4BA00C"
CHIP = ChipId(5)


class Raiser:
    """The process, as the service starts it, for chip 5, whose logical id is 2."""

    def __init__(self, driver: DcmiDriver, seconds: float = PATIENCE) -> None:
        found = driver.soft_fault(CHIP)
        assert found.code == CODE
        self.line, theirs = socket.socketpair()
        self.line.settimeout(PATIENCE)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "cmgr", *found.words, "--for", str(seconds)],
                stdin=theirs.fileno(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            )  # fmt: skip

    def is_raised(self) -> bool:
        return self.line.recv(64) == soft_fault.RAISED

    def said(self) -> str:
        said, _ = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0
        return said


@pytest.fixture(params=["freed", "left"])
def machine(ascend: Make, workshop: Workshop, request: pytest.FixtureRequest) -> Standin:
    """A machine whose driver ends the fault of a process that has gone, and one whose driver leaves it."""
    made = ascend(hosts.host_950_in_slots(3, 4, 5, 6), "two")
    workshop.place_hal(made.library)
    made.set("sensors_leave", request.param == "left")
    return made


@pytest.fixture
def raised(machine: Standin, opened: Open) -> Iterator[Callable[..., Raiser]]:
    driver, begun = opened(machine), list[Raiser]()

    def begin(seconds: float = PATIENCE) -> Raiser:
        begun.append(Raiser(driver, seconds))
        return begun[-1]

    yield begin
    for raiser in begun:
        raiser.process.kill()
        raiser.process.communicate()
        raiser.line.close()


def codes(driver: DcmiDriver) -> dict[int, list[str]]:
    return {report.chip: [fault.code for fault in report.faults] for report in driver.read([ChipId(4), CHIP])}


def test_it_is_told_as_an_event_and_stands_in_the_list_of_that_chip_alone(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine), list[object]()
    driver.watch(told.append)
    raiser = Raiser(driver)
    assert raiser.is_raised()
    eventually(lambda: codes(driver) == {4: [], 5: [CODE]})
    raiser.line.close()
    assert raiser.said() == "cmgr let go of it"
    assert codes(driver) == {4: [], 5: []}
    eventually(lambda: len([f for f in told if isinstance(f, FaultReported)]) == 2)
    events = [(f.chip, f.code, f.assertion) for f in told if isinstance(f, FaultReported)]
    assert events == [(CHIP, CODE, Assertion.OCCURRED), (CHIP, CODE, Assertion.CLEARED)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_ends_it(
    machine: Standin, opened: Open, raised: Callable[..., Raiser], number: signal.Signals
) -> None:
    driver, raiser = opened(machine), raised()
    assert raiser.is_raised()
    eventually(lambda: codes(driver)[5] == [CODE])
    raiser.process.send_signal(number)
    assert raiser.said() == f"its process was sent {number.name}"
    assert codes(driver)[5] == []
    assert machine.get("resumed") == 1


def test_its_time_ends_it(machine: Standin, opened: Open, raised: Callable[..., Raiser]) -> None:
    driver, raiser = opened(machine), raised(0.1)
    assert raiser.is_raised()
    assert raiser.said() == "its time was up"
    assert codes(driver)[5] == []
    assert machine.get("resumed") == 1


def test_an_end_that_the_driver_refuses_is_said_again(
    machine: Standin, opened: Open, raised: Callable[..., Raiser]
) -> None:
    driver, raiser = opened(machine), raised()
    assert raiser.is_raised()
    eventually(lambda: codes(driver)[5] == [CODE])
    machine.set("refuse_updates", 2)
    raiser.line.close()
    assert raiser.said() == "cmgr let go of it"
    assert codes(driver)[5] == []


def test_one_that_the_driver_refuses_is_not_raised(
    machine: Standin, opened: Open, raised: Callable[..., Raiser]
) -> None:
    machine.set("refuse_updates", 1)
    raiser = raised()
    _, complaint = raiser.process.communicate(timeout=PATIENCE)
    assert raiser.process.returncode == 1
    assert complaint == (
        "cmgr: cannot call halSensorNodeUpdateState for the chip of logical id 2: libascend_hal.so says 3\n"
    )
    assert codes(opened(machine))[5] == []


def test_one_that_is_killed_leaves_it_where_the_driver_does(
    machine: Standin, opened: Open, raised: Callable[..., Raiser]
) -> None:
    driver, raiser = opened(machine), raised()
    assert raiser.is_raised()
    eventually(lambda: codes(driver)[5] == [CODE])
    raiser.process.kill()
    raiser.process.wait(PATIENCE)
    assert codes(driver)[5] == ([CODE] if machine.get("sensors_leave") else [])


@pytest.fixture
def bare(ascend: Make) -> Standin:
    return ascend(hosts.host_910b(8))


def test_where_the_library_has_no_such_function_it_says_so(bare: Standin, opened: Open, workshop: Workshop) -> None:
    workshop.place_hal(bare.library, "none")
    with pytest.raises(DriverError, match=r"cannot raise a fault by itself: .* has no function halSensorNodeRegister"):
        opened(bare).soft_fault(CHIP)


def test_where_there_is_no_library_it_says_so(bare: Standin, opened: Open) -> None:
    with pytest.raises(DriverError, match=r"cannot raise a fault by itself: cannot find libascend_hal\.so"):
        opened(bare).soft_fault(CHIP)


def test_what_is_no_library_is_told_as_that(bare: Standin, opened: Open) -> None:
    bare.library.with_name(soft_fault.LIBRARY).write_bytes(b"nothing")
    with pytest.raises(DriverError, match=r"cannot raise a fault by itself: cannot open .*libascend_hal"):
        opened(bare).soft_fault(CHIP)


def test_a_library_that_others_can_write_is_not_loaded(bare: Standin, opened: Open, workshop: Workshop) -> None:
    workshop.place_hal(bare.library)
    bare.library.with_name(soft_fault.LIBRARY).chmod(0o777)
    with pytest.raises(DriverError, match=r"cannot load libascend_hal\.so: .* others can write the file"):
        opened(bare).soft_fault(CHIP)


def test_a_chip_that_is_not_there_has_none(bare: Standin, opened: Open, workshop: Workshop) -> None:
    workshop.place_hal(bare.library)
    with pytest.raises(DriverError, match="the driver does not list chip 12"):
        opened(bare).soft_fault(ChipId(12))


def test_nobody_but_the_service_starts_the_process() -> None:
    words = ("chips", "--soft-fault", "dcmi", "0", "--library", "/nowhere", "--for", "1")
    ended = subprocess.run(
        [sys.executable, "-m", "cmgr", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 1
    assert ended.stderr == ("cmgr: cannot raise a fault: the service alone starts this\nhint: cmgr drill CHIP --real\n")
