"""Chips that hold up those with which they work together, for they run more slowly: by heat, power, or a fault.

Ranks that wait for the slowest one spin, so that no chip looks idle: how busy a chip is says nothing here but that its
clock counts. So the clocks of busy chips of one model that work for one container, or one group, are compared.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from cmgr.model.values.chips import ChipId, Straggler
from cmgr.model.values.messages.piece_facts import StragglersSeen
from cmgr.model.values.node import Node
from cmgr.sentences.sentence import say
from cmgr.service.metrics.chips import Measured, Measuring

EVERY = timedelta(minutes=2)
LONG = timedelta(minutes=10)
SLOWER = 0.10

_CLOCKS = ("aicore_megahertz", "sm_megahertz")
_LOADS = ("aicore_percent", "gpu_percent")
_BUSY = 50
"""Percent from which on a chip has work to do, and the clock that it can have."""


def _value(values: Mapping[str, float | str], names: tuple[str, ...]) -> float | None:
    found = (values.get(name) for name in names)
    return next((float(value) for value in found if isinstance(value, float | int)), None)


def teams(node: Node) -> Iterator[frozenset[ChipId]]:
    """Yield the chips of one model that work for one container, or one group, of this machine: two or more."""
    used: dict[tuple[str, ...], set[ChipId]] = {}
    for container in node.containers.values():
        if container.running and not container.kept.paused:
            team = ("group", container.group) if container.group else ("container", *container.key)
            used.setdefault(team, set()).update(container.kept.chips & node.chips.keys())
    for chips in used.values():
        for model in sorted({node.chips[chip].model for chip in chips}):
            alike = frozenset(chip for chip in chips if node.chips[chip].model == model)
            if len(alike) > 1:
                yield alike


def slow(node: Node, measured: Measured) -> dict[ChipId, str]:
    """Return the chips that are slower now than those they work with, each with what is said where that lasts."""
    found: dict[ChipId, str] = {}
    for team in teams(node):
        clocks: dict[ChipId, float] = {}
        for chip in sorted(team):
            values = measured.get(chip, {})
            clock, load = _value(values, _CLOCKS), _value(values, _LOADS)
            if clock is not None and load is not None and load >= _BUSY:
                clocks[chip] = clock
        for chip, clock in clocks.items():
            others = [other for mate, other in clocks.items() if mate != chip]
            if others and clock < (1 - SLOWER) * (usual := _middle(others)):
                found[chip] = say("chip.clock", clock=f"{clock:.0f}", usual=f"{usual:.0f}", length=LONG)
    return found


def _middle(values: Sequence[float]) -> float:
    """Return the median."""
    ordered, half = sorted(values), len(values) // 2
    return (ordered[half] + ordered[~half]) / 2


class Stragglers:
    """Looks on the thread of whoever calls. `tell` is called when others lag than before."""

    every = EVERY

    def __init__(
        self,
        node: Callable[[], Node],
        measuring: Measuring,
        tell: Callable[[StragglersSeen], None],
        now: Callable[[], datetime],
    ) -> None:
        self._node, self._measuring, self._tell, self._now = node, measuring, tell, now
        self._since: dict[ChipId, float] = {}
        self._told: frozenset[ChipId] = frozenset()

    def is_wished(self, node: Node) -> bool:
        """Return whether chips work together that can be compared."""
        return any(teams(node))

    def look(self, at: float) -> None:
        """Compare, and tell what lags if that has changed. Raises nothing. `at`: seconds of the monotonic clock."""
        node = self._node()
        found = slow(node, self._measuring.values(node)) if self.is_wished(node) else {}
        self._since = {chip: self._since.get(chip, at) for chip in found}
        long = {chip: at - since for chip, since in self._since.items() if at - since >= LONG.total_seconds()}
        if long.keys() != self._told:
            self._told = frozenset(long)
            now = self._now()
            lag = (Straggler(c, now - timedelta(seconds=long[c]), found[c]) for c in sorted(long))
            self._tell(StragglersSeen(tuple(lag)))
