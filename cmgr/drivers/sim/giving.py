"""How a container is given simulated chips by CDI: there is nothing to give but the knowledge of their numbers."""

from collections.abc import Sequence

from cmgr.model.values.chips import Chip
from cmgr.vendor import Edits, Giving


def devices(chips: Sequence[Chip]) -> Edits:
    return {"env": [f"SIM_CHIPS={','.join(str(chip.id) for chip in chips)}"]}


GIVING = Giving("cmgr.io/chip", devices)
