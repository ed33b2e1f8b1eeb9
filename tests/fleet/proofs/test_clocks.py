"""Services whose clocks are an hour apart, or jump in the middle of a round."""

import signal
import subprocess
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

import pytest

from tests.fakes.clock.wallclock import WallClock
from tests.fakes.workshop import CannotBuild
from tests.fleet.proofs.trio import Mortal, Trio, trio
from tests.support.daemons.etcd import Cluster
from tests.support.figures import Figures
from tests.support.programs import at_another_time
from tests.support.waiting import eventually

pytestmark = pytest.mark.etcd

AHEAD = {"b": "+1h", "c": "-1h"}


class Skewed(Mortal):
    """An appliance whose clock shows another time."""

    def __init__(self, folder: Path, name: str, size: int, endpoints: Sequence[str]) -> None:
        super().__init__(folder, name, size, endpoints)
        if name in AHEAD:
            self.surroundings = shifted(AHEAD[name])


def shifted(clock: str) -> Mapping[str, str]:
    """Return the environment that faketime gives a program; it would stand between us and the service."""
    words = [*at_another_time(clock), "env"]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    wanted = ("LD_PRELOAD=", "FAKETIME=", "FAKETIME_DONT_FAKE_MONOTONIC=", "DONT_FAKE_MONOTONIC=")
    return dict(line.split("=", 1) for line in told.splitlines() if line.startswith(wanted))


def test_clocks_an_hour_apart_change_nothing_in_a_round(etcds: Cluster, tmp_path: Path, figures: Figures) -> None:
    with trio(tmp_path, etcds, Skewed) as three:
        for name in "abc":
            three.fault(name)
            three.comes_through()
        for name, hours in (("b", 1), ("c", -1)):
            apart = three[name].notes()[-1].at - three["a"].notes()[-1].at
            assert round(apart / timedelta(hours=1)) == hours
        victim = three.meets("b", "before a commit #3", signal.SIGKILL)
        assert not victim.running()
        victim.goes_on()
        three.comes_through()
        three.figures(figures, {"rounds with clocks an hour apart": three.rounds})


@pytest.mark.parametrize("hours", [1, -1])
def test_a_clock_that_jumps_in_the_middle_of_a_round_changes_nothing_in_it(
    three: Trio, tmp_path: Path, figures: Figures, hours: int
) -> None:
    try:
        clock = WallClock(tmp_path)
    except CannotBuild as why:
        pytest.skip(str(why))
    b = three["b"]
    b.kill9()
    b.surroundings = clock.environment
    b.start()
    eventually(lambda: b.is_whole(), "b is back")
    sleeper = three.meets("b", "before write of halting #2", signal.SIGSTOP)
    assert sleeper.stands_still()
    clock.set(timedelta(hours=hours))
    sleeper.goes_on()
    three.comes_through()
    clock.close()
    three.figures(figures, {"rounds in which a clock jumped an hour": 1})
