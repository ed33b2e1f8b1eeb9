"""The service on Ascend chips that the stand-in library pretends, with containers of a real Docker daemon."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest

from tests.fakes.dcmi.fixtures import Make, ascend, workshop
from tests.fakes.dcmi.standin import FakeChip, Standin
from tests.support.service import Service, Setting
from tests.system.conftest import Install

__all__ = ["ascend", "workshop"]

SHORT: Mapping[str, Setting] = {
    "driver": "dcmi",
    "resync": "1s",
    "dcmi.call_timeout": "1s",
    "dcmi.poll": "100ms",
    "levels.RestartBusiness.reset_after": "2s",
}


@dataclass(frozen=True, slots=True)
class Appliance:
    service: Service
    machine: Standin


Furnish = Callable[..., Appliance]


def _furnished(install: Install, ascend: Make) -> Furnish:
    def made(
        chips: tuple[FakeChip, ...], settings: Mapping[str, Setting] | None = None, family: str = "one"
    ) -> Appliance:
        machine = ascend(chips, family)
        machine.set("reset_ms", 50)
        machine.set("boot_ms", 100)
        # A container's process is on the chip for as long as it lives.
        machine.set("mortal", 1)
        service = install({**SHORT, "dcmi.library": str(machine.library), **(settings or {})})
        return Appliance(service, machine)

    return made


@pytest.fixture
def furnish(on_docker: Install, ascend: Make) -> Furnish:
    """Furnish a machine: chips, settings, family of the library."""
    return _furnished(on_docker, ascend)


@pytest.fixture
def furnish_alone(install: Install, ascend: Make) -> Furnish:
    """The same, with pretended containers."""
    return _furnished(install, ascend)
