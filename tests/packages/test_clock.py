"""The clock of a machine is set in the middle of an episode: the service that was installed goes on all the same.

The whole service sees another time of day, and its waits are the kernel's own: as after a step of NTP. The kernel's
clock itself is everybody's and stays.
"""

from datetime import timedelta
from pathlib import Path

import pytest

from tests.fakes.clock.wallclock import WallClock
from tests.packages.conftest import Boot
from tests.packages.machines.sim import episode, inject, phase, recovered, simulate
from tests.support.waiting import eventually

CLOCK = "/clock"
DAY = timedelta(days=1)


@pytest.mark.parametrize("jumps", [(-DAY, DAY), (DAY, -DAY)], ids=["back and forth", "forth and back"])
def test_a_clock_that_is_set_in_an_episode_holds_nothing_up(
    boot: Boot, installed: Path, tmp_path: Path, jumps: tuple[timedelta, ...]
) -> None:
    clock = WallClock(tmp_path)
    machine = boot(installed, binds={CLOCK: str(tmp_path)})
    seen = "\n".join(f'Environment="{n}={v.replace(str(tmp_path), CLOCK)}"' for n, v in clock.environment.items())
    machine.put("/etc/systemd/system/cmgr.service.d/clock.conf", f"[Service]\n{seen}\n")
    machine.do("systemctl", "daemon-reload")
    simulate(machine, reset="2s")
    before = machine.show("MainPID")
    inject(machine)
    eventually(lambda: phase(machine) == "resetting")
    for jump in jumps:
        clock.set(jump)
    recovered(machine)
    clock.set(timedelta())
    inject(machine, 4)
    recovered(machine, 2)
    assert (episode(machine, 2) or {})["outcome"] == "recovered"
    assert machine.show("MainPID") == before, "no watchdog has ended it"
    clock.close()
