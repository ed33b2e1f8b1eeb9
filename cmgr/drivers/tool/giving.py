"""How a container is given chips that a program speaks for: their device files, and no more."""

from collections.abc import Sequence

from cmgr.drivers.tool.spoken import NUMBERED
from cmgr.model.values.chips import Chip
from cmgr.vendor import Edits, Giving, edits


def devices(chips: Sequence[Chip]) -> Edits:
    paths = {alias for chip in chips for alias in chip.aliases if alias.startswith("/dev/")}
    return edits(sorted(path for path in paths if not path.startswith(NUMBERED)), ())


GIVING = Giving("cmgr.io/chip", devices)
