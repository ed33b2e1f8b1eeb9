"""A driver over the stand-in program, with short times."""

from datetime import timedelta
from pathlib import Path

from cmgr.drivers.tool.driver import Around, ToolDriver
from cmgr.drivers.tool.ear import Again
from cmgr.drivers.tool.settings import Tool
from cmgr.host.host import Host
from tests.drivers.contract import HOUR
from tests.fakes.tool.standin import Speaker
from tests.support.waiting import PATIENCE

CHILDREN = Host("", "tests have no systemd")


def open_tool(
    speaker: Speaker, relist: timedelta = HOUR, *, sweep: timedelta = HOUR, call: float = PATIENCE,
    proc: Path = Path("/proc"), **changes: object,
) -> ToolDriver:  # fmt: skip
    """Open it. Only a call that hangs is waited for for long; `call` in seconds."""
    settings = Tool(program=str(speaker.program), call_timeout=timedelta(seconds=call), **changes)  # type: ignore[arg-type]
    return ToolDriver(settings, sweep, relist, Around(speaker.folder, CHILDREN, Again(0.02, 0.02), proc))
