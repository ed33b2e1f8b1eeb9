"""Simulated chips that are measured, too: their values follow from the time alone, so that a page has some to draw."""

import math
import time
from collections.abc import Mapping, Sequence

from cmgr.drivers.sim.driver import SimDriver
from cmgr.model.values.chips import ChipId

MEMORY_MEGABYTES = 65536
DEAD_LINK = "81078603"
"""The code of the fault with which a chip's network is not reached, of those that simulated chips are judged by."""

_MINUTES = 60.0
_LINKS = 3


class MeasuredSim(SimDriver):
    """Implements `Gauge` as well."""

    def measure(self, chips: Sequence[ChipId]) -> Mapping[ChipId, Mapping[str, float | str]]:
        minutes = time.time() / _MINUTES
        found: dict[ChipId, Mapping[str, float | str]] = {}
        for report in self.read(chips):
            if report.is_up:
                well = all(fault.code != DEAD_LINK for fault in report.faults)
                grave = max((fault.severity or 0 for fault in report.faults), default=0)
                found[report.chip] = {**_values(report.chip, minutes), **_network(minutes, well=well), "health": grave}
        return found


def _values(chip: int, minutes: float) -> Mapping[str, float | str]:
    # Slow waves, of which no two chips have the same.
    wave = math.sin(minutes / (3 + chip % 5) + chip) + 0.4 * math.sin(minutes * (1.3 + chip % 3) + 2 * chip)
    load = min(100.0, max(0.0, 62 + 24 * wave))
    return {
        "temperature_celsius": round(44 + 0.22 * load + chip % 4),
        "power_watts": round(90 + 2.1 * load, 1),
        "voltage_volts": round(0.9 - 0.001 * load, 3),
        "aicore_percent": round(load),
        "aicore_megahertz": 1750 + round(0.5 * load),
        "hbm_megahertz": 1600,
        "hbm_celsius": round(46 + 0.2 * load),
        "hbm_megabytes": MEMORY_MEGABYTES,
        "hbm_used_megabytes": round(MEMORY_MEGABYTES * (0.35 + 0.4 * load / 100)),
        "ecc_hbm_single_errors": int(minutes / 300),
        "ecc_hbm_double_errors": 0,
        **{
            f"hccs{link}_{way}_flits": int(minutes * (1 + link) * 1e7)
            for link in range(1, _LINKS + 1)
            for way in ("sent", "received")
        },
        "optics_present": 1,
        "optics_celsius": round(38 + 0.1 * load),
        "optics_sent_0_milliwatts": round(1.1 + 0.001 * load, 4),
        "optics_received_0_milliwatts": round(0.8 + 0.001 * load, 4),
    }


def _network(minutes: float, *, well: bool) -> Mapping[str, float | str]:
    return {
        "network_reachable": int(well),
        "roce_up": int(well),
        "roce_megabits": 200_000,
        **{f"network_{way}_bytes": int(minutes * 3e9) for way in ("sent", "received")},
        **{f"network_{way}_all_packets": int(minutes * 2e6) for way in ("sent", "received")},
    }
