"""A library that is not there when the service begins, and one that says that it has no driver, are waited for. So is
the module of a driver that is updated while it runs."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from cmgr.errors import CmgrError
from tests.drivers.nvml.host import module, update, versioned
from tests.fakes.nvml.hosts import host_h100
from tests.fakes.nvml.standin import Standin
from tests.support.service import Service
from tests.support.waiting import eventually
from tests.system import checks
from tests.system.containers import Containers, Spec
from tests.system.nvml.conftest import Furnish

OTHER_MODULES = ("unshare", "--mount", "sh", "-c", 'mount --bind "$0" /sys/module && exec "$@"')
"""A mount namespace in which this directory has what the kernel says of its modules."""

CAN = os.geteuid() == 0 and subprocess.run([*OTHER_MODULES, "/var", "true"], check=False).returncode == 0


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


@pytest.mark.docker
@pytest.mark.skipif(not CAN, reason="only root can make a mount namespace")
def test_nobody_is_stopped_under_a_driver_that_was_updated_until_its_module_is_loaded_anew(
    furnish: Furnish, containers: Containers, tmp_path: Path
) -> None:
    appliance = furnish(host_h100(2))
    service, machine = appliance.service, appliance.machine
    link = versioned(machine, "580.65.06")
    module(tmp_path, "580.65.06")
    service.prefix = (*OTHER_MODULES, str(tmp_path / "sys/module"))
    containers.run(Spec("c0", "0"), Spec("c1", "1"))
    machine.process(1, containers.pid("c1"))
    service.start()
    update(link, "580.82.07")
    machine.act(1, 1)
    text = "the driver was updated while it runs: it would recover chip 1 of E0010001"
    eventually(lambda: text in json.dumps(service.status()))
    assert (machine.resets, containers.is_running("c1")) == ((), True)
    module(tmp_path, "580.82.07")
    service.until_said("is over: recovered")
    service.until_over()
    assert [reset.gpus for reset in machine.resets] == [{1}]
    checks.each_was_stopped_once(containers, ["c1"])
