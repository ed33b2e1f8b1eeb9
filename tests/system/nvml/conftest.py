"""The service on NVIDIA GPUs that the stand-in library pretends, with containers of a real Docker daemon."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest

from tests.fakes.nvml.fixtures import Make, gpu_workshop, nvidia
from tests.fakes.nvml.standin import FakeGpu, Standin
from tests.support.service import Service, Setting
from tests.system.conftest import Install

__all__ = ["gpu_workshop", "nvidia"]


@dataclass(frozen=True, slots=True)
class Appliance:
    service: Service
    machine: Standin


Furnish = Callable[..., Appliance]


def _furnished(install: Install, nvidia: Make) -> Furnish:
    def made(gpus: tuple[FakeGpu, ...], settings: Mapping[str, Setting] | None = None, release: int = 580) -> Appliance:
        machine = nvidia(gpus, release)
        # A container's process is on the GPU for as long as it lives.
        machine.set("mortal", 1)
        places = {
            "driver": "nvml",
            "nvml.library": str(machine.library),
            "nvml.tool": str(machine.tool),
            "nvml.kernel_log": str(machine.kernel_log),
        }
        return Appliance(install({**places, "resync": "1s", **(settings or {})}), machine)

    return made


@pytest.fixture
def furnish(on_docker: Install, nvidia: Make) -> Furnish:
    """Furnish a machine: GPUs, settings, release of the driver."""
    return _furnished(on_docker, nvidia)


@pytest.fixture
def furnish_alone(install: Install, nvidia: Make) -> Furnish:
    """The same, with pretended containers."""
    return _furnished(install, nvidia)
