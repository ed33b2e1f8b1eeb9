"""What the driver measures on the chips, as metrics: asked for by a scrape, and never on the deciding thread."""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass

from cmgr.model.values.chips import ChipId
from cmgr.model.values.node import Node
from cmgr.model.values.rings import REBOOTING
from cmgr.ports import ChipDriver, Gauge
from cmgr.service.metrics.look import Kind, Look, Metric, Samples

FRESH_SECONDS = 5.0
"""So long is an answer of the driver good for every scrape that comes."""

_MEBIBYTE = 1024 * 1024
_PERCENT = 0.01

Measured = Mapping[ChipId, Mapping[str, float | str]]


@dataclass(frozen=True, slots=True)
class _Reading:
    """Where one value of a metric comes from: the driver's name for it, and what makes base units of it."""

    key: str
    labels: tuple[str, ...] = ()
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class _Readings:
    """A metric's samples: those of its readings that a chip has."""

    readings: tuple[_Reading, ...]

    def __call__(self, look: Look) -> Samples:
        for chip, values in sorted(look.measured.items()):
            for reading in self.readings:
                value = values.get(reading.key)
                if isinstance(value, float | int):
                    yield (str(chip), *reading.labels), value * reading.factor


def _metric(name: str, text: str, labels: tuple[str, ...], *readings: _Reading) -> Metric:
    kind = Kind.COUNTER if name.endswith("_total") else Kind.GAUGE
    return Metric(name, kind, text, ("chip", *labels), _Readings(readings))


MEASURED = (
    _metric(
        "cmgr_chip_temperature_celsius",
        "How warm the chip or its memory is.",
        ("sensor",),
        _Reading("temperature_celsius", ("chip",)),
        _Reading("hbm_celsius", ("hbm",)),
    ),
    _metric("cmgr_chip_power_watts", "What the chip consumes.", (), _Reading("power_watts")),
    _metric(
        "cmgr_chip_memory_bytes",
        "How much memory the chip has.",
        ("memory",),
        _Reading("memory_megabytes", ("ddr",), _MEBIBYTE),
        _Reading("hbm_megabytes", ("hbm",), _MEBIBYTE),
    ),
    _metric(
        "cmgr_chip_memory_used_bytes",
        "How much of it is in use.",
        ("memory",),
        _Reading("memory_used_megabytes", ("ddr",), _MEBIBYTE),
        _Reading("hbm_used_megabytes", ("hbm",), _MEBIBYTE),
    ),
    _metric(
        "cmgr_chip_utilisation_ratio",
        "How busy a part of the chip is: from 0 to 1.",
        ("part",),
        *(
            _Reading(f"{part}_percent", (part,), _PERCENT)
            for part in ("overall", "aicore", "vector", "cube", "hbm_bandwidth")
        ),
    ),
    _metric(
        "cmgr_chip_ecc_errors_total",
        "Memory errors that the chip has counted: single-bit errors were mended, double-bit errors were not.",
        ("memory", "bits"),
        *(
            _Reading(f"ecc_{memory}_{bits}_errors", (memory, bits))
            for memory in ("ddr", "sram", "hbm", "npu")
            for bits in ("single", "double")
        ),
    ),
    _metric(
        "cmgr_chip_ecc_isolated_pages",
        "Memory pages that the chip has taken out of use.",
        ("memory",),
        *(_Reading(f"ecc_{memory}_isolated_pages", (memory,)) for memory in ("ddr", "sram", "hbm", "npu")),
    ),
)
"""The metrics of a driver that is a `ports.Gauge`; any other has no samples."""


class Measuring:
    """Asks the driver, at most once in `FRESH_SECONDS`. Any thread; blocks for as long as `Gauge.measure` may."""

    def __init__(self, driver: ChipDriver, fresh_seconds: float = FRESH_SECONDS) -> None:
        self._gauge = driver if isinstance(driver, Gauge) else None
        self._fresh_seconds = fresh_seconds
        self._lock = threading.Lock()
        self._measured: Measured = {}
        self._until = 0.0

    def values(self, node: Node) -> Measured:
        """Return what was measured last. Chips that are in a reset are left in peace."""
        if self._gauge is None or not self._lock.acquire(blocking=False):
            return self._measured  # Somebody else is asking: a scrape need not wait for another's.
        try:
            if time.monotonic() >= self._until:
                away = {chip for ring in node.rings.values() if ring.phase in REBOOTING for chip in ring.chips}
                self._measured = self._gauge.measure(sorted(node.chips.keys() - away))
                self._until = time.monotonic() + self._fresh_seconds
            return self._measured
        finally:
            self._lock.release()
