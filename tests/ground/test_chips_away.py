"""The chips go from under the service, as they do where their device nodes or their driver go, and are back."""

import pytest

from tests.fakes.dcmi import hosts
from tests.sick.wellbeing import recovered, survived, until_told
from tests.support.figures import Figures
from tests.support.service import NOW
from tests.system.dcmi.conftest import Appliance, Furnish

SECTION = "The ground moves"


@pytest.fixture
def appliance(furnish_alone: Furnish) -> Appliance:
    made = furnish_alone(hosts.host_910a(8), {"isolation.release_after": "1s"})
    made.service.pretend("one")
    made.machine.set("by_board", 1)
    return made


def test_chips_none_of_which_answers_are_told_and_served_when_they_are_back(
    appliance: Appliance, figures: Figures
) -> None:
    service, machine = appliance.service, appliance.machine
    service.start()
    for chip in range(8):
        machine.silence(chip)
    until_told(service, "ring 0 does not answer", "ring 4 does not answer", "chip 7 is not healthy")
    for ring in (0, 4):
        service.until_said(f"ring {ring} does not answer: chip {ring}: cannot read the boot status")
    assert (machine.resets, service.runs("one")) == ((), True)
    for chip in range(8):
        machine.silence(chip, silent=False)
    for ring in (0, 4):
        service.until_said(f"ring {ring} answers again")
    machine.fault(0, NOW)
    recovered(service)
    assert len(machine.resets) == 1
    survived(figures, SECTION)
