"""A program that systemd tells to end, as at a shutdown: not in the midst of a reset."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor

from cmgr.config.load import written
from cmgr.drivers.program.driver import Pace, ProgramDriver
from cmgr.drivers.program.launch import child, drivers_of
from cmgr.model.values.chips import ChipId
from tests.drivers.program.test_contract import settings
from tests.fakes.dcmi import hosts
from tests.fakes.dcmi.fixtures import Make
from tests.fakes.dcmi.standin import Purpose
from tests.support.waiting import PATIENCE, eventually

RING = [ChipId(number) for number in range(8)]


def has_taken(pid: int, number: signal.Signals) -> bool:
    """Return whether no such signal waits for the process any more."""
    with open(f"/proc/{pid}/status") as status:
        pending = next(int(line.split()[1], 16) for line in status if line.startswith("ShdPnd:"))
    return not pending >> number - 1 & 1


def test_a_reset_that_is_under_way_is_finished_first(ascend: Make) -> None:
    machine = ascend(hosts.host_910b(8))
    driver = ProgramDriver(child, written(settings(machine)), Pace(beat=0.05))
    assert driver.begins(PATIENCE), driver.refusal()
    (pid,) = drivers_of(os.getpid())
    machine.hang(0, Purpose.RESET)
    with ThreadPoolExecutor() as pool:
        reset = pool.submit(driver.reset, RING, RING[:1], frozenset())
        eventually(lambda: machine.get("hanging") == 1)
        os.kill(pid, signal.SIGTERM)
        eventually(lambda: has_taken(pid, signal.SIGTERM))
        machine.hang(0, Purpose.RESET, hangs=False)
        reset.result()
    assert [each.answer for each in machine.resets] == [0]
    eventually(lambda: drivers_of(os.getpid()) not in ([], [pid]), why="another one serves")
    driver.close()
