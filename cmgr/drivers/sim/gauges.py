"""Simulated chips that are measured, too: their values follow from the time alone, so that a page has some to draw."""

import math
import time
from collections.abc import Mapping, Sequence

from cmgr.drivers.sim.driver import SimDriver
from cmgr.model.values.chips import ChipId

MEMORY_MEGABYTES = 65536
_MINUTES = 60.0


class MeasuredSim(SimDriver):
    """Implements `Gauge` as well."""

    def measure(self, chips: Sequence[ChipId]) -> Mapping[ChipId, Mapping[str, float | str]]:
        minutes = time.time() / _MINUTES
        return {chip: _values(chip, minutes) for chip in chips}


def _values(chip: int, minutes: float) -> Mapping[str, float | str]:
    # Slow waves, of which no two chips have the same.
    wave = math.sin(minutes / (3 + chip % 5) + chip) + 0.4 * math.sin(minutes * (1.3 + chip % 3) + 2 * chip)
    load = min(100.0, max(0.0, 62 + 24 * wave))
    return {
        "temperature_celsius": round(44 + 0.22 * load + chip % 4),
        "power_watts": round(90 + 2.1 * load, 1),
        "aicore_percent": round(load),
        "hbm_megabytes": MEMORY_MEGABYTES,
        "hbm_used_megabytes": round(MEMORY_MEGABYTES * (0.35 + 0.4 * load / 100)),
    }
