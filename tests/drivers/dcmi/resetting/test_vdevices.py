"""vNPUs: which a chip has, what a reset does to them, and making them again."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from traceback import walk_stack

import pytest

from cmgr.drivers.dcmi.driver import DcmiDriver
from cmgr.drivers.dcmi.library.abi import CARD_DROPPED
from cmgr.errors import DriverError, ResetRefused
from cmgr.model.values.chips import ChipId, Share, resolve
from tests.drivers.contract import CODE
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.fixtures import Make
from tests.fakes.dcmi.standin import Purpose, Standin
from tests.support.waiting import eventually

Open = Callable[..., DcmiDriver]


@pytest.fixture
def machine(ascend: Make) -> Standin:
    made = ascend(hosts.host_single("310P3", 2))
    made.divide(1, v116="vir04", v117="vir02_1c")
    return made


@contextmanager
def opening(machine: Standin, number: int) -> Iterator[int]:
    """Let a process that is in no list have a vNPU open, and return its number."""
    file = machine.devices / f"vdavinci{number}"
    file.touch()
    with file.open() as opened:
        process = subprocess.Popen(["sleep", "1000"], stdin=opened)
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def shares(driver: DcmiDriver, chip: int = 1) -> tuple[Share, ...]:
    (report,) = driver.read([ChipId(chip)])
    assert report.shares is not None, report
    return report.shares


def test_a_chip_tells_its_vnpus_with_the_command_that_makes_them(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    assert driver.share_obstacle() == ""
    assert [(s.id, s.template, s.group) for s in shares(driver)] == [("116", "vir04", 0), ("117", "vir02_1c", 0)]
    assert shares(driver)[0].by_hand == "npu-smi set -t create-vnpu -i 1 -c 0 -f vir04 -v 116 -g 0"
    assert shares(driver, 0) == ()
    assert [chip.shares for chip in driver.chips()] == [(), shares(driver)]


def test_both_families_tell_them(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_950(2), "two")
    machine.divide(0, v100="vir10_3c_16g")
    assert [share.id for share in shares(opened(machine), 0)] == ["100"]


def test_a_container_s_vnpu_is_its_chip_s_also_one_that_is_not_there(machine: Standin, opened: Open) -> None:
    chips = {chip.id: chip for chip in opened(machine).chips()}
    assert resolve({"/dev/vdavinci117"}, chips, {})[0] == {1}
    assert resolve({"/dev/vdavinci131"}, chips, {})[0] == {1}
    assert resolve({"/dev/vdavinci132"}, chips, {}) == (
        frozenset(),
        ("asks for chip /dev/vdavinci132, which this machine does not have",),
    )


def test_a_chip_that_does_not_say_which_it_has_is_no_worse_for_it(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    machine.answer(1, Purpose.VDEVICE, -8013)
    (report,) = driver.read([ChipId(1)])
    assert (report.error, report.shares) == ("", None)
    machine.answer(1, Purpose.VDEVICE, -8255)
    assert shares(driver) == ()


def test_a_reset_takes_them_and_they_are_made_again_under_their_ids(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    before = shares(driver)
    machine.fault(1, CODE)
    driver.reset([ChipId(1)], [ChipId(1)], frozenset({CODE}))
    eventually(lambda: driver.read([ChipId(1)])[0].booted)
    assert machine.vdevices(1) == {}
    driver.make_shares({ChipId(1): before})
    assert machine.vdevices(1) == {116: "vir04", 117: "vir02_1c"}
    assert shares(driver) == before
    # Once more is harmless.
    driver.make_shares({ChipId(1): before})
    assert machine.get("made_vdevices") == 2


def test_a_driver_that_resets_no_divided_chip_has_its_vnpus_destroyed_first(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    machine.set("vdevices_block", 1)
    machine.fault(1, CODE)
    driver.reset([ChipId(1)], [ChipId(1)], frozenset({CODE}))
    assert [reset.answer for reset in machine.resets] == [-8008, 0]


@pytest.mark.parametrize("number", [116, 117])
def test_no_vnpu_is_destroyed_under_a_container(machine: Standin, opened: Open, number: int) -> None:
    driver = opened(machine)
    machine.set("vdevices_block", 1)
    machine.fault(1, CODE)
    machine.use(1, number)
    with pytest.raises(ResetRefused, match=f"^cannot reset chip 1: vNPU {number} of chip 1 is used by a container$"):
        driver.reset([ChipId(1)], [ChipId(1)], frozenset({CODE}))
    assert (machine.resets, machine.vdevices(1)) == ((), {116: "vir04", 117: "vir02_1c"})
    machine.use(1, number, used=False)
    driver.reset([ChipId(1)], [ChipId(1)], frozenset({CODE}))
    assert [reset.answer for reset in machine.resets] == [-8008, 0]


@pytest.mark.parametrize("family", ["one", "two"])
def test_who_has_a_vnpu_open_is_on_its_chip_also_where_no_list_tells(ascend: Make, opened: Open, family: str) -> None:
    """Of a 950 the driver lists processes on the first vNPU at the most: dms_process_info.c:46-52."""
    machine = ascend(hosts.host_single("310P3", 2) if family == "one" else hosts.host_950(2), family)
    machine.divide(1, v116="vir04", v117="vir02")
    driver = opened(machine)
    with opening(machine, 117) as pid:
        (process,) = driver.read([ChipId(1)])[0].processes
        assert (process.pid, process.name, process.share) == (pid, "sleep", "117")
        assert driver.read([ChipId(0)])[0].processes == ()
        machine.process(1, pid)
        assert len(driver.read([ChipId(1)])[0].processes) == 1, "told twice is one"
        machine.process(1, pid, 0)
        machine.fault(1, CODE)
        with pytest.raises(ResetRefused, match=rf"process {pid} \(sleep, .*share 117\) is on chip 1"):
            driver.reset([ChipId(1)], [ChipId(1)], frozenset({CODE}))
        assert len(machine.vdevices(1)) == 2, "none is destroyed under it"
    assert driver.read([ChipId(1)])[0].processes == ()


def test_of_a_chip_that_has_left_the_bus_it_is_known_who_has_a_vnpu_open(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    machine.drop(1)
    with opening(machine, 117) as pid, pytest.raises(ResetRefused, match=rf"process {pid} .*share 117\) is on chip 1"):
        driver.reset([ChipId(1)], [ChipId(1)], frozenset({CARD_DROPPED}))
    driver.reset([ChipId(1)], [ChipId(1)], frozenset({CARD_DROPPED}))
    assert [reset.answer for reset in machine.resets] == [0]


def test_whoever_has_the_vnpu_of_another_chip_open_is_in_nobodys_way(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    machine.divide(0, v100="vir04")
    machine.fault(1, CODE)
    with opening(machine, 100):
        driver.reset([ChipId(1)], [ChipId(1)], frozenset({CODE}))
    assert [r.answer for r in machine.resets] == [0]


@pytest.mark.parametrize("divided", [2, 6])
def test_a_machine_that_is_reset_as_one_has_every_vnpu_destroyed_first(
    ascend: Make, opened: Open, divided: int
) -> None:
    machine = ascend(hosts.host_910b(8))
    first = 100 + 16 * divided
    machine.divide(divided, **{f"v{first}": "vir06"})
    machine.fault(2, CODE)
    driver, ring = opened(machine), [ChipId(n) for n in range(8)]
    machine.use(divided, first)
    with pytest.raises(ResetRefused, match=f"vNPU {first} of chip {divided} is used"):
        driver.reset(ring, [ChipId(2)], frozenset({CODE}))
    machine.use(divided, first, used=False)
    driver.reset(ring, [ChipId(2)], frozenset({CODE}))
    assert [reset.answer for reset in machine.resets] == [-8008, 0]


def test_a_vnpu_that_cannot_be_destroyed_is_named(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    machine.set("vdevices_block", 1)
    machine.answer(1, Purpose.DESTROY_VDEVICE, -8020)
    words = "^cannot reset chip 1: chip 1 is divided, and vNPU 116-117 cannot be destroyed for the reset: .* -8020"
    with pytest.raises(ResetRefused, match=words):
        driver.reset([ChipId(1)], [ChipId(1)], frozenset())
    assert len(machine.vdevices(1)) == 2


def test_a_950_whose_vnpus_cannot_be_destroyed_says_which_are_in_the_way(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_950(2), "two")
    machine.divide(0, v100="vir10_3c_16g")
    with pytest.raises(ResetRefused, match=r"chip 0 is divided, and vNPU 100 cannot be destroyed .* no such function"):
        opened(machine).reset([ChipId(0)], [ChipId(0)], frozenset())


def test_a_reset_that_is_not_permitted_for_another_reason_is_refused(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_single("310P3", 2))
    machine.fault(1, CODE)
    machine.answer(1, Purpose.RESET, -8002)
    with pytest.raises(ResetRefused, match=r"cannot reset chip 1: the driver lets only root"):
        opened(machine).reset([ChipId(1)], [ChipId(1)], frozenset({CODE}))


def test_what_cannot_be_made_is_told_and_the_rest_is_made(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    before = shares(driver)
    machine.destroy(1, 117)
    wanted = (Share("300", "vir01"), *before)
    with pytest.raises(DriverError) as told:
        driver.make_shares({ChipId(1): wanted, ChipId(7): before})
    assert told.value.message == (
        "cannot make share 300 (vir01) again: cannot make the vNPU: libdcmi says -8001 (wrong parameter); "
        "cannot make shares of chip 7 again: there is no such chip"
    )
    assert machine.vdevices(1) == {116: "vir04", 117: "vir02_1c"}


def making_now() -> int:
    """Return how many threads are making a vNPU, or wait for their turn."""
    stacks = (walk_stack(frame) for frame in sys._current_frames().values())
    return sum(any(frame.f_code.co_name == "make_vdevice" for frame, _ in stack) for stack in stacks)


def test_vnpus_are_made_one_after_the_other_however_long_each_takes(machine: Standin, opened: Open) -> None:
    driver = opened(machine)
    machine.destroy(1, 117)
    machine.hang(0, Purpose.MAKE_VDEVICE)
    making = [
        threading.Thread(target=driver.make_shares, args=({ChipId(chip): (Share(number, "vir04"),)},))
        for chip, number in ((0, "100"), (1, "117"))
    ]
    making[0].start()
    eventually(lambda: making_now() == 1)
    making[1].start()
    eventually(lambda: making_now() == 2 or not making[1].is_alive())
    assert 117 not in machine.vdevices(1)
    machine.hang(0, Purpose.MAKE_VDEVICE, hangs=False)
    for thread in making:
        thread.join()
    assert (machine.vdevices(0), machine.get("overwritten")) == ({100: "vir04"}, 0)
    assert 117 in machine.vdevices(1)


def test_a_library_that_cannot_make_any_says_so(ascend: Make, opened: Open) -> None:
    machine = ascend(hosts.host_950(2), "two")
    driver = opened(machine)
    assert driver.share_obstacle() == "this library has no function for that"
    with pytest.raises(DriverError, match="it has no such function"):
        driver.make_shares({ChipId(0): (Share("100", "vir04"),)})
