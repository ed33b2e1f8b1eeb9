"""A driver on the stand-in, with short times."""

from datetime import timedelta

from cmgr.config.settings import Dcmi
from cmgr.drivers.dcmi.driver import DcmiDriver
from tests.fakes.dcmi.standin import Standin

HOUR = timedelta(hours=1)


def open_dcmi(machine: Standin, relist: timedelta = HOUR, **changes: object) -> DcmiDriver:
    """Open it; nothing in it waits for long, and it looks for new chips only when told to."""
    short = {"call_timeout": timedelta(milliseconds=300), "subscribe": timedelta(milliseconds=20)}
    values = {"library": str(machine.library), "poll": timedelta(milliseconds=20), **short, **changes}
    return DcmiDriver(Dcmi(**values), relist, pause=lambda _: None)  # type: ignore[arg-type]  # as the settings have it
