"""A driver on the stand-in, with short times."""

from collections.abc import Collection
from datetime import timedelta
from pathlib import Path

from cmgr.drivers.nvml.driver import NvmlDriver, Place
from cmgr.drivers.nvml.settings import Nvml
from cmgr.host.host import Host
from cmgr.runtimes.sim.runtime import SimRuntime
from tests.drivers.contract import HOUR
from tests.fakes.nvml.standin import Standin
from tests.support.waiting import PATIENCE

CHILDREN = Host("", "tests have no systemd")


def open_nvml(
    machine: Standin,
    relist: timedelta = HOUR,
    *,
    sweep: timedelta = HOUR,
    managed: bool = False,
    systemd: SimRuntime | None = None,
    host: Host = CHILDREN,
    root: Path = Path("/"),
    boot: timedelta = HOUR,
    **changes: object,
) -> NvmlDriver:
    """Open it; only a call that hangs is waited for for long, and it looks for new GPUs only when told to.

    `systemd` has pretended units, which are containers for a driver.
    """
    short = {"retry": timedelta(milliseconds=20), "call_timeout": timedelta(seconds=PATIENCE)}
    places = {"library": str(machine.library), "tool": str(machine.tool), "kernel_log": str(machine.kernel_log)}
    settings = Nvml(**{**places, **short, **changes})  # type: ignore[arg-type]  # as the settings have it

    def units(_names: Collection[str]) -> SimRuntime:
        assert systemd is not None
        return systemd

    place = Place(machine.library.parent, units, host, lambda: managed, root)
    return NvmlDriver(settings, sweep, relist, place, boot)
