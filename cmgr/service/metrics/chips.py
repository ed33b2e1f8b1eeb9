"""The driver's measurements of the chips, as metrics: asked for by a scrape, and never on the deciding thread."""

import re
import threading
import time
from collections.abc import Mapping

from cmgr.frozen import dataclass
from cmgr.model.values.chips import ChipId
from cmgr.model.values.node import Node
from cmgr.model.values.rings import REBOOTING
from cmgr.ports import ChipDriver, Gauge
from cmgr.service.metrics.look import Kind, Look, Metric, Samples

FRESH_SECONDS = 5.0
"""How long one answer serves every scrape."""

_MEBIBYTE = 1024 * 1024
_PERCENT = 0.01
_MEGAHERTZ = 1e6
_MEGABIT = 125_000
_MILLI = 0.001

Measured = Mapping[ChipId, Mapping[str, float | str]]


@dataclass(frozen=True, slots=True)
class _Readings:
    """A metric's samples: the values of each chip whose names have this form, which a driver chose to measure.

    Each group of the form is a label; `plain` is the label where the name has none. `factor` makes base units.
    """

    form: re.Pattern[str]
    plain: str
    factor: float

    def __call__(self, look: Look) -> Samples:
        for chip, values in sorted(look.measured.items()):
            for name, value in values.items():
                found = self.form.fullmatch(name)
                if found and isinstance(value, float | int):
                    yield (str(chip), *(label or self.plain for label in found.groups())), value * self.factor


def _metric(name: str, text: str, form: str, plain: str = "", factor: float = 1.0) -> Metric:
    kind = Kind.COUNTER if name.endswith("_total") else Kind.GAUGE
    named = re.compile(form)
    return Metric(name, kind, text, ("chip", *named.groupindex), _Readings(named, plain, factor))


MEASURED = (
    _metric(
        "cmgr_chip_temperature_celsius",
        "How warm the chip or its memory is.",
        "(?:temperature|(?P<sensor>[a-z0-9]+))_celsius",
        "chip",
    ),
    _metric("cmgr_chip_power_watts", "The power that the chip draws.", "power_watts"),
    _metric(
        "cmgr_chip_memory_bytes",
        "How much memory the chip has.",
        "(?:memory|(?P<memory>[a-z0-9]+))_megabytes",
        "ddr",
        _MEBIBYTE,
    ),
    _metric(
        "cmgr_chip_memory_used_bytes",
        "How much of it is in use.",
        "(?:memory|(?P<memory>[a-z0-9]+))_used_megabytes",
        "ddr",
        _MEBIBYTE,
    ),
    _metric(
        "cmgr_chip_utilisation_ratio",
        "How busy a part of the chip is: from 0 to 1.",
        "(?P<part>[a-z0-9_]+)_percent",
        factor=_PERCENT,
    ),
    _metric(
        "cmgr_chip_ecc_errors_total",
        "Memory errors that the chip has counted: single-bit errors were mended, double-bit errors were not.",
        "ecc_(?:(?P<memory>[a-z0-9]+)_)?(?P<bits>single|double)_errors",
        "all",
    ),
    _metric(
        "cmgr_chip_clock_hertz",
        "How fast a part of the chip runs; a part that ends with max: the fastest that it can.",
        "(?P<part>[a-z0-9_]+)_megahertz",
        factor=_MEGAHERTZ,
    ),
    _metric("cmgr_chip_voltage_volts", "The voltage of the chip.", "(?:voltage|(?P<sensor>[a-z0-9]+))_volts", "chip"),
    _metric(
        "cmgr_chip_health",
        "The health that the chip reports: 0 is well, more is worse, in its maker's numbers. cmgr goes by faults.",
        "health",
    ),
    _metric("cmgr_chip_energy_joules_total", "The energy that the chip has used.", "energy_joules"),
    _metric(
        "cmgr_chip_remapped_rows",
        "Rows of memory that the chip has replaced, by the errors that they had.",
        "(?P<errors>correctable|uncorrectable)_remapped_rows",
    ),
    _metric(
        "cmgr_chip_link_errors_total",
        "Errors on the chip's links: to other chips, or PCIe.",
        "(?P<link>[a-z]*link|pcie|roce|hccs[0-9]+)_(?P<kind>[a-z_]+)_errors",
    ),
    _metric(
        "cmgr_chip_link_bit_error_ratio",
        "Errors for each bit on the chip's worst link.",
        "(?P<link>[a-z]*link)_(?P<kind>[a-z]+)_bit_error_ratio",
    ),
    _metric(
        "cmgr_chip_link_up",
        "Whether a link of the chip is up.",
        "(?P<link>[a-z0-9]+)_up",
    ),
    _metric(
        "cmgr_chip_link_ups_total",
        "How often a link of the chip came up.",
        "(?P<link>[a-z]+[0-9]*)_ups",
    ),
    _metric(
        "cmgr_chip_link_speed_bytes",
        "How many bytes in a second a link of the chip could carry.",
        "(?P<link>[a-z0-9]+)_megabits",
        factor=_MEGABIT,
    ),
    _metric(
        "cmgr_chip_link_flits_total",
        "Units (flits) that a link between chips has carried.",
        "(?P<link>[a-z]+[0-9]*)_(?P<direction>sent|received)_flits",
    ),
    _metric("cmgr_chip_network_reachable", "Whether the chip's own test of its network works.", "network_reachable"),
    _metric(
        "cmgr_chip_network_bytes_total",
        "Bytes on the chip's own network port.",
        "network_(?P<direction>sent|received)_bytes",
    ),
    _metric(
        "cmgr_chip_network_packets_total",
        "Packets on the chip's own network port: all of them, and those of some kinds.",
        "network_(?P<direction>sent|received)_(?P<kind>[a-z]+)_packets",
    ),
    _metric(
        "cmgr_chip_optics_present",
        "Whether the chip's network port has an optical module.",
        "optics_present",
    ),
    _metric(
        "cmgr_chip_optics_power_watts",
        "The light that each lane of the optical module sends and receives.",
        "optics_(?P<direction>sent|received)_(?P<lane>[0-9]+)_milliwatts",
        factor=_MILLI,
    ),
    _metric(
        "cmgr_chip_ecc_isolated_pages",
        "Memory pages that the chip has taken out of use, by the errors that they had.",
        "ecc_(?P<memory>[a-z0-9]+)_(?P<bits>single|double)_isolated_pages",
    ),
)
"""The metrics of a driver that is a `ports.Gauge`, by the names that it measures under; others have no samples."""


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
