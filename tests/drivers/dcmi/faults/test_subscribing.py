"""One subscription for each process: refused, late, ended; and events that the kernel drops."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from cmgr.drivers.dcmi.driver import DcmiDriver
from cmgr.model.values.chips import ChipId
from cmgr.model.values.faults import Assertion
from cmgr.model.values.messages.facts import FaultReported, ReadNeeded
from tests.drivers.contract import CODE, Told
from tests.drivers.dcmi.driver import HANGS
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.fixtures import Make
from tests.fakes.dcmi.standin import Purpose, Standin
from tests.support.waiting import eventually

Open = Callable[..., DcmiDriver]
SHORT = timedelta(milliseconds=20)
DEAF = "the driver tells of no faults"


@pytest.fixture
def machine(ascend: Make) -> Standin:
    return ascend(hosts.host_910b(8))


def reads(told: Told) -> list[int]:
    return [fact.chip for fact in told.facts if isinstance(fact, ReadNeeded)]


def test_a_refused_subscription_is_polling_and_a_reason_for_another_process(machine: Standin, opened: Open) -> None:
    machine.set("refuse_subscriptions", 1)
    driver, told = opened(machine), Told()
    driver.watch(told)
    (trouble,) = eventually(driver.trouble)
    assert trouble.startswith(f"{DEAF} (cannot subscribe: libdcmi says -8020")
    assert "polled every 0.02 s" in trouble
    assert driver.stale() == trouble.partition("): ")[0] + ")"
    machine.fault(4, CODE)
    eventually(lambda: reads(told) == [4])
    machine.clear(4, CODE)
    eventually(lambda: reads(told) == [4, 4])


def test_a_process_that_was_refused_is_refused_again_and_another_one_is_not(machine: Standin, opened: Open) -> None:
    machine.set("refuse_subscriptions", 1)
    driver = opened(machine)
    driver.watch(Told())
    machine.set("refuse_subscriptions", 0)
    again = opened(machine)
    again.watch(Told())
    assert DEAF in again.stale(), "it is the library that remembers"
    renewed, told = opened(machine.another_process()), Told()
    renewed.watch(told)
    assert (renewed.stale(), renewed.trouble()) == ("", ())
    machine.fault(1, CODE)
    told.has(ChipId(1), Assertion.OCCURRED)


def test_both_processes_hear_while_one_takes_the_place_of_the_other(machine: Standin, opened: Open) -> None:
    first, second = Told(), Told()
    opened(machine).watch(first)
    opened(machine.another_process()).watch(second)
    machine.fault(1, CODE)
    for told in (first, second):
        told.has(ChipId(1), Assertion.OCCURRED)


def test_where_no_process_can_subscribe_polling_is_no_trouble(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_single("310"))
    driver, told = opened(machine), Told()
    driver.watch(told)
    assert (driver.trouble(), driver.stale()) == ((), "")
    machine.fault(1, CODE)
    eventually(lambda: reads(told) == [1])


def test_a_subscription_that_comes_late_is_one(machine: Standin, opened: Open) -> None:
    machine.hang(0, Purpose.SUBSCRIBE)
    driver, told = opened(machine, call_timeout=HANGS), Told()
    driver.watch(told)
    assert "it has not answered for 1 s" in driver.trouble()[0]
    assert DEAF in driver.stale()
    machine.hang(0, Purpose.SUBSCRIBE, hangs=False)
    eventually(lambda: driver.trouble() == ())
    assert driver.stale() == ""
    eventually(lambda: 7 in reads(told) or 0 in reads(told), why="nobody heard what came before")
    machine.fault(1, CODE)
    told.has(ChipId(1), Assertion.OCCURRED)


def test_a_refusal_that_comes_late_is_one(machine: Standin, opened: Open) -> None:
    machine.hang(0, Purpose.SUBSCRIBE)
    machine.set("refuse_subscriptions", 1)
    driver = opened(machine, call_timeout=HANGS)
    driver.watch(Told())
    machine.hang(0, Purpose.SUBSCRIBE, hangs=False)
    eventually(lambda: "-8020" in driver.stale())


def test_an_event_that_arrives_proves_the_subscription(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    driver._watch._is_deaf("nobody knows")
    assert driver.stale()
    machine.fault(1, CODE)
    told.has(ChipId(1), Assertion.OCCURRED)
    assert (driver.stale(), driver.trouble()) == ("", ())


def test_the_end_of_the_librarys_thread_is_noticed(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine, sweep=SHORT), Told()
    driver.watch(told)
    machine.fault(1, CODE)
    told.has(ChipId(1), Assertion.OCCURRED)
    assert driver.stale() == ""
    eventually(lambda: driver._watch._tellers)
    machine.end_tellers()
    assert eventually(driver.stale) == f"{DEAF} (its thread for that has ended)"
    assert "polled every" in driver.trouble()[0]
    renewed, heard = opened(machine.another_process()), Told()
    renewed.watch(heard)
    machine.fault(2, CODE)
    heard.has(ChipId(2), Assertion.OCCURRED)


def test_events_that_the_kernel_overwrote_have_every_ring_read(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    eventually(lambda: len(reads(told)) == 1)
    machine.fault(1, CODE)
    told.has(ChipId(1), Assertion.OCCURRED)
    machine.burst(1, 300)
    eventually(lambda: len(reads(told)) == 2)
    heard = [fact for fact in told.facts if isinstance(fact, FaultReported)]
    assert len(heard) == 1 + 256


def test_without_a_gap_nothing_is_read_for_one(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    eventually(lambda: len(reads(told)) == 1)
    machine.burst(1, 256)
    machine.fault(1, CODE)
    told.has(ChipId(1), Assertion.OCCURRED)
    assert not driver._watch._unread


def test_the_library_may_take_as_long_as_it_likes_to_begin(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_910b_infer(1))
    machine.set("init_ms", 4000)
    driver = opened(machine, call_timeout=timedelta(milliseconds=300))
    assert [chip.id for chip in driver.chips()] == [0]
