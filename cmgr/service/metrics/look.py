"""A metric, and the one look at the service that all of them are made from."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from datetime import datetime
from enum import StrEnum

from cmgr.frozen import dataclass
from cmgr.model.values.chips import ChipId
from cmgr.model.values.node import Node
from cmgr.model.values.presence import FleetSeen
from cmgr.service.metrics.totals import Spread, Totals
from cmgr.view.status import Own


class Kind(StrEnum):
    """Prometheus' names for the types of a metric."""

    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Look:
    """All that one scrape tells, as it was at about one moment.

    `own` is what the service knows of itself. `ahead`: how many seconds Unix time is ahead of cmgr's own
    clock, which `now` and every time in `node`, `totals` and `fleet` are of.
    """

    node: Node
    totals: Totals
    now: datetime
    ahead: float
    own: Own
    driver_troubles: int
    writable: bool
    bugs: int
    queued: int
    merged: int
    dropped: int
    fleet: FleetSeen = field(default_factory=FleetSeen)
    measured: Mapping[ChipId, Mapping[str, float | str]] = field(default_factory=dict)


Samples = Iterable[tuple[tuple[str, ...], float | Spread]]
"""The values of a metric, each with the values of its labels."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric. `name` is what is written in a query. A histogram's samples are `Spread`s, all others are numbers."""

    name: str
    kind: Kind
    text: str
    labels: tuple[str, ...]
    of: Callable[[Look], Samples]


Of = Callable[[Look], Samples]


class Table:
    """The metrics in the order in which they are declared, each with the function that gives its samples."""

    def __init__(self) -> None:
        self.metrics: list[Metric] = []

    def declare(self, kind: Kind, name: str, text: str, *labels: str) -> Callable[[Of], Of]:
        def declared(of: Of) -> Of:
            self.metrics.append(Metric(name, kind, text, labels, of))
            return of

        return declared


def one(value: float) -> Samples:
    """Return the sample of a metric without labels."""
    return (((), float(value)),)
