"""Hearing of faults: what a callback tells, what becomes of what it cannot tell, and never alive but deaf."""

import ctypes
import threading
from collections.abc import Callable
from datetime import timedelta

import pytest

from cmgr.drivers.dcmi.driver import DcmiDriver
from cmgr.drivers.dcmi.library import abi
from cmgr.drivers.dcmi.machine import STRANGER
from cmgr.drivers.dcmi.watch import MOST_STRANGERS
from cmgr.errors import DriverError
from cmgr.model.values.chips import Chip, ChipId
from cmgr.model.values.faults import Assertion
from cmgr.model.values.messages.facts import ChipsListed, FaultReported, ReadNeeded
from cmgr.ports import DriverFact
from tests.drivers.contract import CODE, OTHER_CODE, Told
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.fixtures import Make
from tests.fakes.dcmi.standin import ALWAYS, Purpose, Standin
from tests.support.waiting import eventually

Open = Callable[..., DcmiDriver]
SHORT = timedelta(milliseconds=20)


@pytest.fixture
def machine(ascend: Make) -> Standin:
    return ascend(hosts.host_910b(8))


def reads(told: Told) -> list[int]:
    return [fact.chip for fact in told.facts if isinstance(fact, ReadNeeded)]


def call(driver: DcmiDriver, **fields: int) -> None:
    """Call what the library calls, with an event of these fields."""
    event = abi.Event()
    event.type = fields.pop("type", abi.FAULT_EVENT)
    for name, value in {"event_id": int(CODE, 16), "assertion": abi.OCCURRED, **fields}.items():
        setattr(event.u.dms, name, value)
    driver._watch._on_event(ctypes.pointer(event))


def test_an_event_is_told_with_all_that_it_says(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.fault(3, CODE, module="1.255.0.12", severity=3)
    assert told.has(ChipId(3), Assertion.OCCURRED) == FaultReported(ChipId(3), CODE, Assertion.OCCURRED, "1.-1.0.12", 3)
    # Without separators these two modules would be the same (1,2,34 and 12,3,4).
    machine.fault(3, OTHER_CODE, module="1.2.3.4")
    machine.fault(3, OTHER_CODE, module="12.3.4.0")
    eventually(lambda: len({f.module for f in told.facts if isinstance(f, FaultReported)}) == 3)


def test_python_knows_the_library_s_thread_by_its_second_event(machine: Standin, opened: Open) -> None:
    driver, told, known = opened(machine), Told(), threading.local()

    def tell(fact: DriverFact) -> None:
        if isinstance(fact, FaultReported):
            earlier.append(getattr(known, "events", 0))
            known.events = earlier[-1] + 1
        told(fact)

    earlier: list[int] = []
    driver.watch(tell)
    for code in (CODE, OTHER_CODE):
        machine.fault(3, code)
        told.has(ChipId(3), Assertion.OCCURRED, code)
    assert earlier == [0, 1]


def test_device_ids_of_events_are_logical_ids(ascend: Make, opened: Open) -> None:
    from tests.fakes.dcmi.standin import FakeChip

    machine = ascend(tuple(FakeChip(n, 0, 3 - n, 0, "910A") for n in range(4)))
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.fault(0, CODE)
    told.has(ChipId(3), Assertion.OCCURRED)


def test_after_subscribing_every_ring_is_read_for_what_came_before(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_910a(8))
    driver, told = opened(machine), Told()
    driver.watch(told)
    eventually(lambda: len(reads(told)) == 2)
    assert {chip // 4 for chip in reads(told)} == {0, 1}


def test_an_event_of_a_chip_that_nobody_knows_is_no_other_chips(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    call(driver, deviceid=77)
    assert told.has(ChipId(STRANGER + 77), Assertion.OCCURRED).code == CODE
    for logical in range(100, 100 + 2 * MOST_STRANGERS):
        call(driver, deviceid=logical)
    strangers = {f.chip for f in told.facts if isinstance(f, FaultReported)}
    assert len(strangers) == MOST_STRANGERS
    assert min(strangers) >= STRANGER


def test_event_id_zero_is_no_fault(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    call(driver, event_id=0)
    call(driver)
    told.has(ChipId(0), Assertion.OCCURRED)
    assert [f.code for f in told.facts if isinstance(f, FaultReported)] == [CODE]


@pytest.mark.parametrize("odd", [{"type": 1}, {"assertion": 9}])
def test_an_event_that_nobody_understands_has_everything_read(
    machine: Standin, opened: Open, odd: dict[str, int]
) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    eventually(lambda: len(reads(told)) == 1)
    call(driver, **odd)
    eventually(lambda: len(reads(told)) == 2)
    assert not [f for f in told.facts if isinstance(f, FaultReported)]


def test_a_callback_that_fails_is_counted_and_everything_is_read(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine), Told()

    def tell(fact: object) -> None:
        if isinstance(fact, FaultReported):
            raise RuntimeError("a bug")
        assert isinstance(fact, ReadNeeded)
        told(fact)

    driver.watch(tell)
    eventually(lambda: len(reads(told)) == 1)
    machine.fault(2, CODE)
    eventually(lambda: len(reads(told)) == 2)
    assert driver.trouble() == ("1 fault event could not be taken in, and not every chip has been read since",)


def test_a_lost_event_is_not_told_and_a_doubled_one_is_told_twice(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.set("lose", 1)
    machine.fault(0, CODE)
    machine.set("twice", 1)
    machine.fault(1, CODE)
    eventually(lambda: [f.chip for f in told.facts if isinstance(f, FaultReported)] == [1, 1])
    assert [f.code for f in driver.read([ChipId(0)])[0].faults] == [CODE]


@pytest.mark.parametrize(
    ("code", "told_module", "module"),
    [
        ("8C03A000", "1.255.0.12", "1537.-1.0.12"),
        ("4C4BA00C", "37.0.255.255", "1573.0.-1.-1"),
        (CODE, "1.2.3.4", "1.2.3.4"),
    ],
)
def test_the_type_of_a_part_is_told_whole(
    machine: Standin, opened: Open, code: str, told_module: str, module: str
) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.fault(0, code, module=told_module)
    assert told.has(ChipId(0), Assertion.OCCURRED, code).module == module


@pytest.mark.parametrize("whole", [0, 0x25, 0x0826, 0xA5A5])
def test_of_an_older_driver_the_type_of_a_part_is_what_the_byte_says(
    machine: Standin, opened: Open, whole: int
) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    call(driver, node_type=0x26, node_type_ex=whole, sub_node_type=255, sub_node_type_ex=whole)
    assert told.has(ChipId(0), Assertion.OCCURRED).module == "38.0.-1.0"


def test_a_storm_is_told_event_by_event_from_the_librarys_thread(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.storm(5, 2000, 100_000, 300)
    eventually(lambda: sum(isinstance(f, FaultReported) for f in told.facts) == 2000)
    assert len({f.code for f in told.facts if isinstance(f, FaultReported)}) == 300


def test_a_chip_that_falls_silent_is_noticed_by_polling_once(machine: Standin, opened: Open) -> None:
    machine.set("refuse_subscriptions", ALWAYS)
    driver, told = opened(machine), Told()
    driver.watch(told)
    eventually(driver.trouble)
    machine.answer(2, Purpose.CODES, -8009)
    eventually(lambda: reads(told) == [2])
    machine.answer(2, Purpose.CODES, 0)
    eventually(lambda: reads(told) == [2, 2])


def listings(told: Told) -> list[tuple[Chip, ...]]:
    return [fact.chips for fact in told.facts if isinstance(fact, ChipsListed)]


def test_a_chip_that_answers_at_a_later_look_is_told_with_all_others_and_heard(machine: Standin, opened: Open) -> None:
    machine.answer(6, Purpose.IDS, -8009)
    driver, told = opened(machine, SHORT), Told()
    driver.watch(told)
    assert [c.id for c in driver.chips()] == [0, 1, 2, 3, 4, 5, 7]
    machine.answer(6, Purpose.IDS, 0)
    (chips,) = eventually(lambda: listings(told))
    assert [(c.id, c.ring) for c in chips] == [(n, 0) for n in range(8)]
    machine.fault(6, CODE)
    told.has(ChipId(6), Assertion.OCCURRED)


def test_an_event_of_an_unknown_chip_makes_the_driver_look_for_new_ones_at_once(machine: Standin, opened: Open) -> None:
    machine.answer(6, Purpose.IDS, -8009)
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.answer(6, Purpose.IDS, 0)
    machine.fault(6, CODE)
    told.has(ChipId(STRANGER + 6), Assertion.OCCURRED)
    assert eventually(lambda: listings(told))


def test_it_is_watched_once(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    driver.watch(Told())
    with pytest.raises(DriverError, match="watched already"):
        driver.watch(Told())


def test_the_callback_outlives_the_driver(machine: Standin, opened: Open) -> None:
    import gc

    driver = opened(machine)
    driver.watch(Told())
    driver.close()
    del driver
    gc.collect()
    other, told = opened(machine.another_process()), Told()
    machine.fault(0, CODE)
    other.watch(told)
    machine.fault(1, CODE)
    told.has(ChipId(1), Assertion.OCCURRED)


def test_what_a_sweep_saw_is_told_again_when_the_read_out_of_it_failed(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine, sweep=SHORT), Told()
    machine.set("lose", 1000)
    driver.watch(told)
    machine.fault(4, CODE)
    told.asks(ChipId(4), 1)
    machine.answer(4, Purpose.BOOT, -8009)
    assert driver.read([ChipId(4)])[0].error
    told.asks(ChipId(4), 2)


def test_a_sweep_asks_nothing_of_chips_in_a_reset(machine: Standin, opened: Open) -> None:
    driver, told = opened(machine, sweep=SHORT), Told()
    machine.fault(4, CODE)
    driver.reset([ChipId(n) for n in range(8)], [ChipId(4)], frozenset({CODE}))
    machine.set("lose", 1000)
    driver.watch(told)
    before = machine.get("calls")
    machine.fault(5, CODE)
    driver._watch._sweep()
    assert machine.get("calls") <= before + 2, "subscribing, and nothing about the eight"


def test_a_look_that_is_asked_for_right_after_another_is_put_off_and_not_left_out(
    machine: Standin, opened: Open
) -> None:
    for number in (6, 7):
        machine.answer(number, Purpose.IDS, -8009)
    driver, told = opened(machine), Told()
    driver.watch(told)
    machine.answer(6, Purpose.IDS, 0)
    driver.read([ChipId(6)])
    eventually(lambda: len(listings(told)) == 1)
    machine.answer(7, Purpose.IDS, 0)
    driver.read([ChipId(7)])
    assert [chip.id for chip in eventually(lambda: listings(told)[1:])[0]] == list(range(8))
