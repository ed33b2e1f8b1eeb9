"""The chips go from under the service, as they do where their device nodes or their driver go, and are back."""

from collections.abc import Callable, Sequence

from tests.fakes.dcmi import hosts
from tests.fakes.nvml import hosts as nvidia_hosts
from tests.fakes.nvml.fixtures import Make as MakeGpus
from tests.sick.wellbeing import recovered, survived, until_told
from tests.support.figures import Figures
from tests.support.service import NOW, Service
from tests.system.conftest import Install
from tests.system.dcmi.conftest import Furnish

SECTION = "The ground moves"

CHIPS = range(8)
RINGS = (0, 4)


def go_and_come_back(service: Service, silence: Callable[..., None], why: str) -> None:
    """Let none of them answer until that is told, and then all of them; nothing is stopped meanwhile."""
    service.start()
    for chip in CHIPS:
        silence(chip)
    until_told(service, *(f"ring {ring} does not answer" for ring in RINGS), "chip 7 is not healthy")
    for ring in RINGS:
        service.until_said(f"ring {ring} does not answer: chip {ring}: {why}")
    assert service.runs("one")
    for chip in CHIPS:
        silence(chip, silent=False)
    for ring in RINGS:
        service.until_said(f"ring {ring} answers again")


def recovers(service: Service, resets: Callable[[], Sequence[object]], fault: Callable[[], None]) -> None:
    assert not resets()
    fault()
    recovered(service)
    assert len(resets()) == 1


def test_chips_none_of_which_answers_are_told_and_served_when_they_are_back(
    furnish_alone: Furnish, figures: Figures
) -> None:
    made = furnish_alone(hosts.host_910a(len(CHIPS)), {"isolation.release_after": "1s"})
    made.machine.set("by_board", 1)
    made.service.pretend("one")
    go_and_come_back(made.service, made.machine.silence, "cannot read the boot status")
    recovers(made.service, lambda: made.machine.resets, lambda: made.machine.fault(0, NOW))
    survived(figures, SECTION)


def test_gpus_none_of_which_answers_are_told_and_served_when_they_are_back(
    install: Install, nvidia: MakeGpus, figures: Figures
) -> None:
    machine = nvidia(nvidia_hosts.host_v100(len(CHIPS), ring=4))
    places = {"library": machine.library, "tool": machine.tool, "kernel_log": machine.kernel_log}
    settings = {f"nvml.{name}": str(place) for name, place in places.items()}
    service = install({"driver": "nvml", "resync": "1s", "isolation.release_after": "1s", **settings})
    service.pretend("one")
    go_and_come_back(service, machine.silence, "cannot")
    recovers(service, lambda: machine.resets, lambda: machine.act(0, 1))
    survived(figures, SECTION)
