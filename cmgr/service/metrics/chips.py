"""The driver's measurements of the chips, as metrics: asked for by a scrape, and never on the deciding thread."""

import json
import re
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from cmgr.frozen import dataclass
from cmgr.model.values.chips import ChipId
from cmgr.model.values.node import Node
from cmgr.model.values.rings import REBOOTING
from cmgr.ports import ChipDriver, Gauge
from cmgr.service.metrics.look import Kind, Look, Metric, Samples

FRESH_SECONDS = 5.0
"""How long one answer serves every scrape."""

OLD_SECONDS = 60.0
"""So long after that it is told to those who do not wait for another one. Then it says nothing of now any more."""

Measured = Mapping[ChipId, Mapping[str, float | str]]


@dataclass(frozen=True, slots=True)
class _Readings:
    """A metric's samples: the values of each chip whose names have this form, which a driver chose to measure.

    The form is compiled by the first scrape that has values, if there is one: `re` remembers it. Each group of it is a
    label; `plain` is the label where the name has none. `factor` makes base units.
    """

    form: str
    plain: str
    factor: float

    def __call__(self, look: Look) -> Samples:
        for chip, values in sorted(look.measured.items()):
            for name, value in values.items():
                found = re.fullmatch(self.form, name)
                if found and isinstance(value, float | int):
                    yield (str(chip), *(label or self.plain for label in found.groups())), value * self.factor


def _metric(name: str, text: str, form: str, plain: str = "", factor: float = 1.0) -> Metric:
    kind = Kind.COUNTER if name.endswith("_total") else Kind.GAUGE
    labels = re.findall(r"\(\?P<(\w+)>", form)
    return Metric(name, kind, text, ("chip", *labels), _Readings(form, plain, factor))


MEASURED = tuple(_metric(**row) for row in json.loads(Path(__file__).with_name("measured.json").read_text()))
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
        """Return what was measured last, unless that is old. Chips that are in a reset are left in peace."""
        if self._gauge is None or not self._lock.acquire(blocking=False):
            # Somebody else is asking: a scrape need not wait for another's.
            return self._measured if time.monotonic() < self._until + OLD_SECONDS else {}
        try:
            if time.monotonic() >= self._until:
                away = {chip for ring in node.rings.values() if ring.phase in REBOOTING for chip in ring.chips}
                self._measured = self._gauge.measure(sorted(node.chips.keys() - away))
                self._until = time.monotonic() + self._fresh_seconds
            return self._measured
        finally:
            self._lock.release()
