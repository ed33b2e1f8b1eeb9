"""A driver on the stand-in, which looks often and waits long: a slow machine is no chip that hangs."""

from datetime import timedelta
from pathlib import Path

from cmgr.drivers.dcmi.driver import DcmiDriver, Files
from cmgr.drivers.dcmi.settings import Dcmi
from tests.drivers.contract import HOUR
from tests.fakes.dcmi.standin import Standin
from tests.support.waiting import PATIENCE

NOWHERE = Path("/nonexistent/dms_events_conf.lst")

HANGS = timedelta(seconds=1)
"""How long a call may take where one is to hang: seen by the test, and longer than a busy machine delays the others."""


def open_dcmi(machine: Standin, relist: timedelta = HOUR, *, sweep: timedelta = HOUR, **changes: object) -> DcmiDriver:
    """Open it; it looks for new chips only when told to. Where a call is to hang, say `call_timeout=HANGS`.

    `severities`: where the driver's list of them is.
    """
    severities = Path(str(changes.pop("severities", NOWHERE)))
    often = {"poll": timedelta(milliseconds=20), "call_timeout": timedelta(seconds=PATIENCE)}
    values = {"library": str(machine.library), **often, **changes}
    settings = Dcmi(**values)  # type: ignore[arg-type]  # as the settings have it
    files = Files(severities, machine.devices, machine.custom_processes, machine.library.parent)
    return DcmiDriver(settings, sweep, relist, pause=lambda _: None, files=files)
