"""Others are upgraded while the service runs: the library of the chips' driver, and a runtime."""

import os
import shutil
import signal
from pathlib import Path

import pytest

from cmgr.drivers.program.launch import drivers_of
from tests.fakes.dcmi import hosts
from tests.sick.lively_dockerd import LivelyDockerd
from tests.sick.wellbeing import recovered, survived, until_told
from tests.support.figures import Figures
from tests.support.service import LATER, NOW, Service
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.dcmi.conftest import Appliance, Furnish

SECTION = "The ground moves"


@pytest.fixture
def appliance(furnish_alone: Furnish) -> Appliance:
    made = furnish_alone(hosts.host_910a(8), {"isolation.release_after": "1s"})
    made.service.pretend("one")
    made.machine.set("by_board", 1)
    return made


def inode_loaded(service: Service, library: Path) -> int:
    """Return which file of that path the process has that drives the chips; 0: none drives them now."""
    for pid in drivers_of(service.pid):
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            _, _, _, _, inode, *path = line.split(maxsplit=5)
            if path and path[0].removesuffix(" (deleted)") == str(library):
                return int(inode)
    return 0


def test_a_library_that_is_replaced_is_used_to_the_end_of_its_process_and_then_the_new_one(
    appliance: Appliance, figures: Figures
) -> None:
    service, machine = appliance.service, appliance.machine
    service.start()
    before = inode_loaded(service, machine.library)
    new = machine.library.with_name("new.so")
    shutil.copy(machine.library, new)
    new.rename(machine.library)
    machine.fault(0, NOW)
    service.until_said("is over: recovered")
    assert inode_loaded(service, machine.library) == before
    os.kill(drivers_of(service.pid)[0], signal.SIGKILL)
    after = machine.library.stat().st_ino
    eventually(lambda: inode_loaded(service, machine.library) == after, why="the new library is used")
    machine.fault(0, NOW)
    recovered(service, episodes=2)
    assert (len(machine.resets), before != after) == (2, True)
    survived(figures, SECTION)


def test_a_runtime_of_another_version_goes_on_with_what_was_held_before(
    on_lively: Install, lively: LivelyDockerd, figures: Figures
) -> None:
    service = on_lively({"levels.RestartRequest.reset_after": "10m"})
    service.start()
    service.inject(0, LATER)
    service.until_phase("waiting")
    lively.down()
    until_told(service, "docker", "degraded")
    lively.version = "1.43"
    lively.up()
    service.inject(0)
    recovered(service)
    assert lively.all_running()
    assert (sorted(lively.done("stop")), sorted(lively.done("start"))) == (["one", "two"], ["one", "two"])
    assert any(path.startswith("/v1.43/") for path in lively.paths)
    survived(figures, SECTION)
