"""Faults pretended on real chips: told, read and reset like others, and no less careful."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from cmgr.config.settings import Config, Drivers
from cmgr.drivers import open_driver
from cmgr.drivers.dcmi.driver import DcmiDriver
from cmgr.drivers.dcmi.settings import Dcmi
from cmgr.drivers.pretending import PretendingDriver
from cmgr.errors import DriverError, ResetRefused
from cmgr.model.values.chips import ChipId, Reported
from cmgr.model.values.faults import Assertion
from cmgr.model.values.messages.facts import FaultReported
from cmgr.ports import Ailing, Describing, Gauge, Injector
from tests.drivers.contract import CODE, HOUR, OTHER_CODE, Told
from tests.drivers.dcmi.driver import open_dcmi
from tests.drivers.dcmi.test_contract import TestDcmi as DcmiContract
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.fixtures import Make
from tests.fakes.dcmi.standin import Standin

RING = [ChipId(n) for n in range(8)]


class TestForDrills(DcmiContract):
    """As long as nobody pretends anything it is the driver that it stands before."""

    def open(self, sweep: timedelta = HOUR) -> PretendingDriver:
        return PretendingDriver(open_dcmi(self.machine, sweep=sweep))

    def test_it_can_say_more(self, driver: object) -> None:
        assert all(isinstance(driver, kind) for kind in (Injector, Ailing, Describing, Gauge))


@pytest.fixture
def machine(ascend: Make) -> Standin:
    return ascend(hosts.host_910b(8))


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def drill(machine: Standin, opened: Callable[..., DcmiDriver], told: Told) -> PretendingDriver:
    driver = PretendingDriver(opened(machine))
    driver.watch(told)
    return driver


def faults(driver: PretendingDriver, chip: int = 2) -> tuple[Reported, ...]:
    return driver.read([ChipId(chip)])[0].faults


def test_it_is_told_and_read_until_it_is_cleared(drill: PretendingDriver, told: Told) -> None:
    drill.inject(ChipId(2), CODE, Assertion.OCCURRED)
    assert told.has(ChipId(2), Assertion.OCCURRED).severity is None
    assert faults(drill) == (Reported(CODE),)
    assert faults(drill, 3) == ()
    drill.inject(ChipId(2), CODE, Assertion.CLEARED)
    told.has(ChipId(2), Assertion.CLEARED)
    assert faults(drill) == ()


def test_one_that_passes_at_once_is_only_told(drill: PretendingDriver, told: Told) -> None:
    drill.inject(ChipId(2), CODE, Assertion.ONCE)
    told.has(ChipId(2), Assertion.ONCE)
    assert faults(drill) == ()


def test_one_that_the_chip_really_has_is_read_once(drill: PretendingDriver, machine: Standin) -> None:
    machine.fault(2, CODE)
    drill.inject(ChipId(2), CODE, Assertion.OCCURRED)
    drill.inject(ChipId(2), OTHER_CODE, Assertion.OCCURRED)
    assert [fault.code for fault in faults(drill)] == [CODE, OTHER_CODE]


def test_the_reset_is_a_real_one_and_cures_it(drill: PretendingDriver, machine: Standin) -> None:
    drill.inject(ChipId(2), CODE, Assertion.OCCURRED)
    drill.reset(RING, [ChipId(2)], frozenset({CODE}))
    assert [reset.chip for reset in machine.resets] == [2]
    assert faults(drill) == ()


def test_a_chip_that_is_used_is_not_reset_for_it(drill: PretendingDriver, machine: Standin) -> None:
    drill.inject(ChipId(2), CODE, Assertion.OCCURRED)
    machine.process(5, 4242)
    with pytest.raises(ResetRefused, match="process 4242"):
        drill.reset(RING, [ChipId(2)], frozenset({CODE}))
    assert machine.resets == ()
    assert faults(drill) == (Reported(CODE),)


def test_another_fault_must_be_there_as_ever(drill: PretendingDriver, machine: Standin) -> None:
    drill.inject(ChipId(2), CODE, Assertion.OCCURRED)
    with pytest.raises(ResetRefused, match="reports none of"):
        drill.reset(RING, [ChipId(3)], frozenset({OTHER_CODE}))
    assert machine.resets == ()


@pytest.mark.parametrize(("chip", "code"), [(99, CODE), (2, "nonsense")])
def test_what_cannot_be_is_refused(drill: PretendingDriver, told: Told, chip: int, code: str) -> None:
    with pytest.raises(DriverError, match="cannot simulate a fault"):
        drill.inject(ChipId(chip), code, Assertion.OCCURRED)
    assert not any(isinstance(fact, FaultReported) for fact in told.facts)


def test_nobody_pretends_anything_before_the_chips_are_watched(
    machine: Standin, opened: Callable[..., DcmiDriver]
) -> None:
    driver = PretendingDriver(opened(machine))
    with pytest.raises(DriverError, match="not watched"):
        driver.inject(ChipId(2), CODE, Assertion.OCCURRED)
    assert faults(driver) == ()


@pytest.mark.parametrize("allowed", [False, True])
def test_real_chips_pretend_only_where_that_is_allowed(machine: Standin, allowed: bool) -> None:
    driver = open_driver(
        Config(driver="dcmi", drivers=Drivers(dcmi=Dcmi(library=str(machine.library))), allow_injection=allowed)
    )  # fmt: skip
    assert isinstance(driver, Injector) is allowed
    driver.close()
