"""Containers that hang though no fault is told: nothing that is measured of them and of their chips changes any more.

A collective that waits for a rank that is gone often keeps its chips at a hundred percent. So it is not the height of a
measurement that tells, but that it stays where it is.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from cmgr.model.values.lookup import Indexed
from cmgr.model.values.messages.health_facts import HangsSeen
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import Container, ContainerKey
from cmgr.model.values.services.healing import Hang
from cmgr.service.metrics.chips import Measured, Measuring
from cmgr.words import span

LOOK = timedelta(seconds=15)
SAME = 1.0
"""Percent points within which a measurement counts as unchanged: they are read off counters that jitter."""

PROCESSOR = "processor"

_wishing = Indexed[bool, Container](lambda container: (True,) if container.hang is not None else ())


class Sample(NamedTuple):
    """The measurements of one moment (seconds of the monotonic clock): percentages, by name."""

    at: float
    values: Mapping[str, float]


def same_since(samples: Sequence[Sample]) -> float | None:
    """Return since when nothing measured has changed; None without two samples, or where nothing is measured."""
    if len(samples) < 2 or not samples[-1].values:
        return None
    since, names = None, samples[-1].values.keys()
    low, high = dict(samples[-1].values), dict(samples[-1].values)
    for sample in list(samples)[-2::-1]:
        if sample.values.keys() != names:
            break
        low = {name: min(low[name], value) for name, value in sample.values.items()}
        high = {name: max(high[name], value) for name, value in sample.values.items()}
        if any(high[name] - low[name] > SAME for name in names):
            break
        since = sample.at
    return since


class Hangs:
    """Looks at the containers that wish it. `tell` is called when other ones hang than before."""

    every = LOOK

    def __init__(
        self,
        node: Callable[[], Node],
        measuring: Measuring,
        tell: Callable[[HangsSeen], None],
        now: Callable[[], datetime],
        root: Path = Path("/"),
    ) -> None:
        self._node, self._measuring, self._tell, self._now, self._root = node, measuring, tell, now, root
        self._samples: dict[tuple[ContainerKey, str], deque[Sample]] = {}
        self._spent: dict[tuple[ContainerKey, str], tuple[float, float]] = {}
        self._told: tuple[Hang, ...] = ()

    def is_wished(self, node: Node) -> bool:
        """Return whether a container wishes it."""
        return True in _wishing(node.containers)

    def look(self, at: float) -> None:
        """Measure, and tell what hangs if that has changed. Raises nothing. `at`: seconds of the monotonic clock."""
        node = self._node()
        watched = {(c.key, c.run): c for c in node.containers.values() if c.hang is not None and c.running}
        for known in (self._samples, self._spent):
            for gone in known.keys() - watched.keys():
                del known[gone]
        measured = self._measuring.values(node) if watched else {}
        found = [hang for c in watched.values() if (hang := self._hang(node, c, measured, at)) is not None]
        hangs = tuple(sorted(found, key=lambda hang: hang.key))
        if [(h.key, h.run) for h in hangs] != [(h.key, h.run) for h in self._told]:
            self._told = hangs
            self._tell(HangsSeen(hangs))

    def _hang(self, node: Node, container: Container, measured: Measured, at: float) -> Hang | None:
        assert container.hang is not None
        life = (container.key, container.run)
        samples = self._samples.setdefault(life, deque(maxlen=int(container.hang / LOOK) + 8))
        samples.append(Sample(at, self._values(node, container, measured, at)))
        since = same_since(samples)
        if since is None or at - since < container.hang.total_seconds():
            return None
        length = timedelta(seconds=at - since)
        seen = ", ".join(f"{name} {value:.0f} %" for name, value in sorted(samples[-1].values.items()))
        return Hang(*life, self._now() - length, f"nothing has changed for {span(container.hang)}: {seen}")

    def _values(self, node: Node, container: Container, measured: Measured, at: float) -> dict[str, float]:
        found = {
            f"chip {chip} {name.removesuffix('_percent')}": float(value)
            for chip in sorted(container.kept.chips)
            for name, value in measured.get(chip, {}).items()
            if name.endswith("_percent") and isinstance(value, float | int)
        }
        seconds = self._processor_seconds(node, container)
        life = (container.key, container.run)
        before = self._spent.get(life)
        if seconds is not None:
            self._spent[life] = (at, seconds)
            if before is not None and at > before[0]:
                found[PROCESSOR] = 100 * (seconds - before[1]) / (at - before[0])
        return found

    def _processor_seconds(self, node: Node, container: Container) -> float | None:
        """Return the processor time of the container's control group, which is that of its processes on its chips."""
        reports = (node.reports[chip] for chip in sorted(container.kept.chips) if chip in node.reports)
        pids = [p.pid for report in reports for p in report.processes if p.container == container.key.id]
        for pid in pids:
            if (seconds := _of_group(self._root, pid)) is not None:
                return seconds
        return None


def _of_group(root: Path, pid: int) -> float | None:
    """Return the processor time of the control group of this process; None where the kernel does not say."""
    try:
        groups = (root / f"proc/{pid}/cgroup").read_text().splitlines()
    except OSError:
        return None
    for line in groups:
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        where = root / "sys/fs/cgroup"
        try:
            if not controllers:  # Version 2.
                told = (where / path.lstrip("/") / "cpu.stat").read_text().split()
                return int(told[told.index("usage_usec") + 1]) / 1e6
            if "cpuacct" in controllers.split(","):
                return int((where / controllers / path.lstrip("/") / "cpuacct.usage").read_text()) / 1e9
        except (OSError, ValueError, IndexError):
            continue
    return None
