"""Out-of-band resets: what was taken off the bus for one is looked for again, whatever became of it."""

import json
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from traceback import walk_stack

import pytest

from cmgr.drivers.dcmi.driver import DcmiDriver
from cmgr.drivers.dcmi.resetting.rescans import NAME, Rescans
from cmgr.errors import DriverError, chain
from cmgr.model.values.chips import ChipId
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.fixtures import Make
from tests.fakes.dcmi.standin import ALWAYS, Purpose, Standin
from tests.support.waiting import eventually

Open = Callable[..., DcmiDriver]


@pytest.fixture
def machine(ascend: Make) -> Standin:
    made = ascend(hosts.host_a3(2))
    made.set("channel", 1)
    made.set("fail_resets", ALWAYS)
    return made


def reset(driver: DcmiDriver) -> None:
    driver.reset(hosts.BROTHERS, [ChipId(0)], frozenset())


def noted(machine: Standin) -> list[list[int]]:
    file = machine.library.with_name(NAME)
    return list(json.loads(file.read_text())) if file.exists() else []


def test_a_reset_that_failed_after_the_pre_reset_is_followed_by_a_rescan(machine: Standin, opened: Open) -> None:
    driver = opened(machine, out_of_band=True)
    machine.answer(0, Purpose.RESET, -8015)
    with pytest.raises(DriverError, match="out of band either"):
        reset(driver)
    assert (machine.get("rescans"), noted(machine)) == (1, [])
    machine.answer(0, Purpose.RESET, 0)
    reset(driver)
    assert (machine.get("rescans"), noted(machine), machine.resets[-1].answer) == (2, [], 0)


@pytest.mark.parametrize("names", ["older", "newer"])
def test_the_steps_are_known_by_their_newer_names_and_by_their_older_ones(
    ascend: Make, opened: Open, names: str
) -> None:
    machine = ascend(hosts.host_a3(2), f"one, {names} names")
    machine.set("channel", 1)
    machine.set("fail_resets", 1)
    reset(opened(machine, out_of_band=True))
    assert (machine.get("rescans"), [reset.channel for reset in machine.resets]) == (1, [1, 0])


def test_a_pre_reset_that_did_not_work_needs_no_rescan(machine: Standin, opened: Open) -> None:
    machine.answer(0, Purpose.PRE_RESET, -8011)
    with pytest.raises(DriverError, match="out of band either"):
        reset(opened(machine, out_of_band=True))
    assert (machine.get("rescans"), noted(machine)) == (0, [])


def test_the_next_life_looks_for_both_cards_that_were_not_looked_for(machine: Standin, opened: Open) -> None:
    driver = opened(machine, out_of_band=True)
    machine.answer(0, Purpose.RESCAN, -8011)
    with pytest.raises(DriverError, match="out of band either"):
        reset(driver)
    assert noted(machine) == [[0, 0, 0], [1, 0, 1], [2, 4, 0], [3, 4, 1]]
    (trouble,) = driver.trouble()
    assert trouble.startswith("the chips of card 0, 4 were prepared for a reset and not looked for since")
    driver.close()
    machine.answer(0, Purpose.RESCAN, 0)
    later = opened(machine)
    assert machine.get("rescans") == 0  # Whoever only opens the driver, as cmgr check does, changes nothing.
    later.watch(lambda _: None)
    eventually(lambda: noted(machine) == [])
    assert machine.get("rescans") == 2
    machine.set("fail_resets", 0)
    reset(later)
    assert machine.resets[-1].answer == 0


def test_the_next_life_looks_for_none_before_the_reset_of_the_last_one_is_over(machine: Standin, opened: Open) -> None:
    driver = opened(machine, out_of_band=True)
    machine.answer(0, Purpose.RESCAN, -8011)
    with pytest.raises(DriverError, match="out of band either"):
        reset(driver)
    machine.answer(0, Purpose.RESCAN, 0)
    earlier, later = Rescans(machine.library.parent), opened(machine)
    with earlier.alone():
        later.watch(lambda _: None)
        eventually(lambda: "alone" in functions_of("dcmi-rescan"))
        earlier.done(earlier.due[:2])
    eventually(lambda: noted(machine) == [])
    assert machine.get("rescans") == 1, "the last one has looked for the other card"


def functions_of(name: str) -> set[str]:
    """Return the functions that the thread of that name is in."""
    numbers = {thread.ident for thread in threading.enumerate() if thread.name == name}
    stacks = [walk_stack(frame) for number, frame in sys._current_frames().items() if number in numbers]
    return {frame.f_code.co_name for stack in stacks for frame, _ in stack}


def test_nothing_is_taken_off_the_bus_that_cannot_be_noted(machine: Standin, opened: Open) -> None:
    driver = opened(machine, out_of_band=True)
    machine.library.with_name(NAME).mkdir()
    with pytest.raises(DriverError, match="out of band either") as caught:
        reset(driver)
    assert "cannot note which chips are to be looked for again" in chain(caught.value)
    assert machine.get("rescans") == 0


def test_a_file_that_cannot_be_read_is_as_none(machine: Standin, opened: Open) -> None:
    Path(machine.library.with_name(NAME)).write_text("{")
    assert opened(machine).trouble() == ()
