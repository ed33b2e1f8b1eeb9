"""The power goes at random moments of an episode, and of the boot after it: nothing that cmgr held is lost.

Nor is it when the machine is rebooted in good order. CMGR_CUTS and CMGR_REBOOTS set how often, CMGR_CUTS_SEED the dice.
"""

import os
import random
from collections.abc import Collection, Iterator

import pytest

from tests.packages.conftest import cannot
from tests.power.appliance import BY_HAND, ENDED_WELL, POLICIES, Appliance
from tests.power.machine import Machine
from tests.support.daemons.daemon import CannotRun
from tests.support.figures import Figures
from tests.support.waiting import eventually

CUTS = int(os.environ.get("CMGR_CUTS", "1"))
REBOOTS = int(os.environ.get("CMGR_REBOOTS", "1"))
SEED = int(os.environ.get("CMGR_CUTS_SEED", "1"))
STEPS = 35
"""So many lines has the log of an episode."""

SECTION = "Power cuts of a whole machine"

pytestmark = [pytest.mark.alone, pytest.mark.timeout(7200)]


@pytest.fixture(scope="module")
def appliance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    try:
        machine = Machine(tmp_path_factory.mktemp("machine"))
        machine.boot()
    except CannotRun as exc:
        cannot("machine whose power can be cut", exc)
    try:
        appliance = Appliance(machine)
        appliance.furnish()
        yield appliance
    finally:
        machine.close()


def test_nothing_is_lost_when_the_power_goes(appliance: Appliance, figures: Figures) -> None:
    rng = random.Random(SEED)  # noqa: S311  # Dice of a test.
    for cut in range(CUTS):
        appliance.until_settled()
        appliance.fault()
        _cut(appliance, rng.randint(1, STEPS))
        figures.add(SECTION, "cuts")
        if rng.random() < 0.3:
            appliance.start()
            _cut(appliance, rng.randint(1, STEPS))
            figures.add(SECTION, "cuts")
        if rng.random() < 0.5:
            # Chips that lost their power come up well; others keep their fault.
            appliance.machine.do("rm -f /run/chips/world")
        appliance.start()
        _check(appliance, f"CMGR_CUTS_SEED={SEED}, cut {cut}")
    figures.add(SECTION, "held containers lost", 0)


def test_nothing_is_lost_when_the_machine_is_rebooted(appliance: Appliance, figures: Figures) -> None:
    rng = random.Random(SEED)  # noqa: S311  # Dice of a test.
    for reboot in range(REBOOTS):
        appliance.until_settled()
        appliance.fault()
        _wait(appliance, rng.randint(1, STEPS))
        appliance.stop()
        appliance.machine.cut()
        appliance.machine.boot()
        figures.add(SECTION, "reboots")
        if rng.random() < 0.5:
            appliance.machine.do("rm -f /run/chips/world")
        appliance.start()
        _check(appliance, f"CMGR_CUTS_SEED={SEED}, reboot {reboot}", ENDED_WELL)
    figures.add(SECTION, "held containers lost", 0)


def _cut(appliance: Appliance, lines: int) -> None:
    """Wait for so many lines, cut the power, and boot."""
    _wait(appliance, lines)
    appliance.machine.cut()
    appliance.machine.boot()


def _wait(appliance: Appliance, lines: int) -> None:
    """Wait until the log has so many more lines, the episode is over, or the service is ready."""
    console = appliance.machine.console
    before = len(console())

    def is_time() -> bool:
        said = console()[before:]
        return said.count("\n") >= lines or "is over: " in said or " is ready: " in said

    eventually(is_time, why="it is time", times=5)


def _check(appliance: Appliance, when: str, stays: Collection[str] = (BY_HAND,)) -> None:
    told = appliance.until_settled(stays)
    runs = appliance.containers()
    assert {name: policy for name, (_, policy) in runs.items()} == dict(POLICIES), when
    down = {name for name, (running, _) in runs.items() if not running}
    # Docker does not start these at a boot: where cmgr did not hold one yet, or not any more, it tells so.
    assert down <= set(stays), when
    assert {row["name"] for row in told["down"]} == down, when
    assert appliance.soundness() == "ok", when
    if down:
        appliance.run_by_hand(down)
