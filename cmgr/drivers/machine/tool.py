"""Programs that ask a disk or the BMC."""

from collections.abc import Sequence
from pathlib import Path

from cmgr.drivers import asked
from cmgr.drivers.asked import Said
from cmgr.drivers.machine.source import Off
from cmgr.errors import DriverMissing


def ask(path: str, words: Sequence[str], seconds: float) -> Said:
    """Run the program with these words, as `asked.ask` does. Raises `Off` when it is not there, and `DriverError`."""
    try:
        return asked.ask(path, words, seconds, f"machine.{Path(path).name}")
    except DriverMissing as missing:
        raise Off(missing.message) from missing
