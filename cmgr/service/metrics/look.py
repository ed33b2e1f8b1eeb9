"""What a metric is, and what all of them are made from: one look at the service."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from cmgr.model.values.chips import ChipId
from cmgr.model.values.node import Node
from cmgr.service.metrics.tally import Spread, Tally


class Kind(StrEnum):
    """What Prometheus calls the type of a metric."""

    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class Look:
    """All that one scrape tells, as it was at about one moment.

    `service` is what `cmgr status` says of the service. `ahead`: how many seconds Unix time is ahead of cmgr's own
    clock, which `now` and every time in `node` and `tally` are of.
    """

    node: Node
    tally: Tally
    now: datetime
    ahead: float
    service: Mapping[str, object]
    driver_troubles: int
    writable: bool
    bugs: int
    queued: int
    merged: int
    dropped: int
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


def gauge(name: str, text: str, of: Callable[[Look], Samples], *labels: str) -> Metric:
    return Metric(name, Kind.GAUGE, text, labels, of)


def counter(name: str, text: str, of: Callable[[Look], Samples], *labels: str) -> Metric:
    return Metric(name, Kind.COUNTER, text, labels, of)


def histogram(name: str, text: str, of: Callable[[Look], Samples], *labels: str) -> Metric:
    return Metric(name, Kind.HISTOGRAM, text, labels, of)


def one(value: float) -> Samples:
    """Return the sample of a metric without labels."""
    return (((), float(value)),)
