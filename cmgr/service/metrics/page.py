"""The metrics of the running service, as the texts that Prometheus reads. Nothing else knows prometheus_client."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from cmgr.frozen import dataclass
from cmgr.model.values.node import Node
from cmgr.model.values.presence import FleetSeen
from cmgr.ports import Ailing, ChipDriver, Clock
from cmgr.service.inbox import Inbox
from cmgr.service.loop import Loop
from cmgr.service.metrics.chips import Measured, Measuring
from cmgr.service.metrics.look import Kind, Look, Metric
from cmgr.service.metrics.table import METRICS
from cmgr.service.metrics.totals import BOUNDS, Spread, Totals, counted
from cmgr.service.part import Part, Step
from cmgr.vendor import Told
from cmgr.view.status import Own

if TYPE_CHECKING:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

    Family = CounterMetricFamily | GaugeMetricFamily | HistogramMetricFamily

OPENMETRICS = "application/openmetrics-text"
TEXT = "text/plain; version=0.0.4; charset=utf-8"

_FOREIGN = "As the exporter of the chips' maker tells it."
_LIMITS = (*map(str, BOUNDS), "+Inf")


@dataclass(frozen=True, slots=True)
class Sources:
    """Where a look at the service is taken from. `own` is what it knows of itself.

    `told_too` takes a node and what is measured of its chips, and returns what is told by names of other exporters.
    """

    loop: Loop
    inbox: Inbox
    driver: ChipDriver
    own: Callable[[], Own]
    clock: Clock
    told_too: Callable[[Node, Measured], Iterable[Told]] = lambda *_: ()
    seen: Callable[[], FleetSeen] = FleetSeen


class Metrics(Part):
    """Counts on the deciding thread, tells on any other.

    `outcomes`: how many episodes had ended how before this life.
    """

    def __init__(self, sources: Sources, outcomes: Mapping[str, int]) -> None:
        self._sources = sources
        # Frozen and replaced as a whole, like the node: whoever tells needs no lock against who counts.
        self._totals = Totals(episodes=dict(outcomes))
        self._measuring = Measuring(sources.driver)

    def observe(self, step: Step) -> None:
        """Count what was done. On the deciding thread; takes microseconds."""
        self._totals = counted(self._totals, step)

    def page(self, accept: str) -> tuple[bytes, str]:
        """Return all metrics, and of which type the text is. Blocks for as long as `Gauge.measure` may.

        OpenMetrics for whom this header Accept says reads it, else Prometheus' text format 0.0.4.
        """
        # The library takes 40 ms to import and some memory: it is not there before somebody asks for the first time.
        from prometheus_client import exposition
        from prometheus_client.openmetrics import exposition as openmetrics
        from prometheus_client.process_collector import ProcessCollector
        from prometheus_client.registry import CollectorRegistry

        # Anew each time: where it cannot open a file as it is made, the process's collector tells nothing ever after.
        registry = CollectorRegistry()
        registry.register(self)
        ProcessCollector(registry=registry)
        if OPENMETRICS in (each.partition(";")[0].strip() for each in accept.split(",")):
            told = openmetrics.generate_latest(registry)  # type: ignore[no-untyped-call]  # It ships no type for this.
            return told, openmetrics.CONTENT_TYPE_LATEST
        return exposition.generate_latest(registry), TEXT

    def collect(self) -> Iterator["Family"]:
        """Yield every metric with its samples, as prometheus_client wants them."""
        look = self._look()
        yield from (_family(metric, look) for metric in METRICS)
        yield from _foreign(self._sources.told_too(look.node, look.measured))

    def _look(self) -> Look:
        loop, inbox, driver = self._sources.loop, self._sources.inbox, self._sources.driver
        node, now = loop.booked(), self._sources.clock.now()
        return Look(
            node=node,
            totals=self._totals,
            now=now,
            # They differ when the machine's clock was set. Less than a second is none of that.
            ahead=round(time.time() - now.timestamp()),
            own=self._sources.own(),
            driver_troubles=len(driver.trouble()) if isinstance(driver, Ailing) else 0,
            writable=not loop.trouble,
            bugs=loop.bugs,
            queued=len(inbox),
            merged=inbox.merged,
            dropped=inbox.dropped,
            fleet=self._sources.seen(),
            measured=self._measuring.values(node),
        )


def _family(metric: Metric, look: Look) -> "Family":
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

    if metric.kind is Kind.HISTOGRAM:
        histogram = HistogramMetricFamily(metric.name, metric.text, labels=metric.labels)
        for labels, spread in metric.of(look):
            assert isinstance(spread, Spread)
            histogram.add_metric(labels, _buckets(spread), spread.seconds)
        return histogram
    made = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
    family = made(metric.name, metric.text, labels=metric.labels)
    for labels, value in metric.of(look):
        assert not isinstance(value, Spread)
        family.add_metric([_text(label) for label in labels], value)
    return family


def _foreign(told: Iterable[Told]) -> Iterator["Family"]:
    """Yield the metrics of other names; everything that they tell is a gauge."""
    from prometheus_client.core import GaugeMetricFamily

    families: dict[str, GaugeMetricFamily] = {}
    for each in told:
        if each.name not in families:
            families[each.name] = GaugeMetricFamily(each.name, _FOREIGN, labels=tuple(each.labels))
        families[each.name].add_metric([_text(label) for label in each.labels.values()], each.value)
    yield from families.values()


def _buckets(spread: Spread) -> list[tuple[str, float]]:
    """Return the classes as Prometheus has them: each with all that is below it."""
    sums = (sum(spread.counts[: place + 1]) for place in range(len(spread.counts)))
    return [(limit, float(number)) for limit, number in zip(_LIMITS, sums, strict=True)]


def _text(label: str) -> str:
    # A driver's text may have bytes that are no text; one of them must not cost the whole page.
    return label.encode("utf-8", "replace").decode()
