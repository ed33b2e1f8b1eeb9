"""A library that is not there when the service begins, and one that says that it has no driver, are waited for."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cmgr.errors import CmgrError
from tests.fakes.nvml.hosts import host_h100
from tests.fakes.nvml.standin import Standin
from tests.support.service import Service
from tests.support.waiting import eventually
from tests.system.nvml.conftest import Furnish


def removed(machine: Standin) -> Callable[[], object]:
    away = machine.library.rename(machine.library.with_name("away"))
    return lambda: away.rename(machine.library)


def not_begun(machine: Standin) -> Callable[[], object]:
    """Let nvmlInit say that the kernel's module is not loaded (NVML_ERROR_DRIVER_NOT_LOADED, nvml.h)."""
    world: Path = machine.library.with_name("world")
    away = world.rename(world.with_name("unloaded"))
    return lambda: away.rename(world)


def trouble(service: Service) -> dict[str, str] | None:
    try:
        rows = service.status()["troubles"]
    except CmgrError:
        return None
    return next((row for row in rows if row["kind"] == "unknown-chips"), None)


@pytest.mark.parametrize("kept", [removed, not_begun])
def test_gpus_are_a_trouble_until_their_library_begins(
    furnish_alone: Furnish, kept: Callable[[Standin], Callable[[], object]]
) -> None:
    appliance = furnish_alone(host_h100(2))
    service = appliance.service
    give_back = kept(appliance.machine)
    service.launch()
    eventually(lambda: trouble(service), why="the service says that its chips are not known")
    assert service.cmgr("status", "--check").code == 4
    give_back()
    eventually(lambda: service.status()["service"]["state"] == "ready")
    assert trouble(service) is None
    assert len(service.status()["chips"]) == 2
