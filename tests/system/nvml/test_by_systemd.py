"""nvidia-smi as a unit of a real systemd: a reset under way survives cmgr, and is found by the next life."""

from collections.abc import Callable, Iterator

import pytest

from cmgr.drivers.nvml.library import abi
from tests.fakes.nvml import hosts
from tests.fakes.nvml.standin import FakeReset, Standin
from tests.support.daemons.serviced import Serviced
from tests.support.daemons.systemd import Systemd
from tests.support.service import Service
from tests.support.waiting import eventually
from tests.system.nvml.conftest import Furnish

RESET_THE_GPU = 1
RESET = "cmgr-nvidia-reset-*"
WAITS = ("resetting → verifying: cmgr died during the reset", "an earlier reset is under way", "chip 1 not booted yet")


@pytest.fixture
def machine(furnish_alone: Furnish, systemd: Systemd) -> Iterator[tuple[Serviced, Standin]]:
    appliance = furnish_alone(hosts.host_h100(2), {"systemd.bus": systemd.socket})
    appliance.service.pretend("one")
    serviced = Serviced(appliance.service, systemd)
    yield serviced, appliance.machine
    serviced.close()


def told(service: Service) -> str:
    return f"{service.said()} {[ring['reason'] for ring in service.status()['rings']]}"


@pytest.mark.parametrize("end", [Serviced.kill9, Serviced.terminate], ids=["kill -9", "stop"])
def test_a_reset_in_whose_middle_cmgr_ends_is_waited_for_and_not_ordered_again(
    machine: tuple[Serviced, Standin], end: Callable[[Serviced], None]
) -> None:
    serviced, standin = machine
    service = serviced.service
    service.configure({"nvml.reset_timeout": "1s"})
    standin.hang_resets(1 << 1)
    serviced.start()
    standin.act(1, RESET_THE_GPU)
    eventually(lambda: standin.get("hanging_resets"), why="nvidia-smi resets")
    (unit,) = serviced.units(RESET)
    end(serviced)
    assert serviced.units(RESET) == [unit], "it goes on without cmgr"
    serviced.begin()
    service.until_said("is ready", times=2)
    eventually(lambda: any(words in told(service) for words in WAITS), why="the next life knows of the reset")
    assert not standin.resets
    assert serviced.units(RESET) == [unit]
    standin.hang_resets(0)
    service.until_said("is over: recovered")
    assert standin.resets == (FakeReset(frozenset({1}), abi.OK),)
