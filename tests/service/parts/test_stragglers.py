"""Which chips lag: by their clocks, among those that work together, for long enough."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from cmgr.model.values.chips import Chip, ChipId, RingId
from cmgr.model.values.messages.piece_facts import StragglersSeen
from cmgr.model.values.node import Node
from cmgr.model.values.services.containers import Container
from cmgr.service.metrics.chips import Measuring
from cmgr.service.parts.stragglers import EVERY, LONG, Stragglers, slow
from tests.model.builders import T0, container

Values = dict[int, tuple[float, float]]
"""The clock and the load of each chip."""


def node(*containers: Container, models: Mapping[int, str] | None = None) -> Node:
    known = models or {}
    chips = {ChipId(c): Chip(ChipId(c), RingId(c), c, model=known.get(c, "H100")) for c in range(8)}
    return Node(chips=chips, containers={each.key: each for each in containers})


def on(name: str, *chips: int, group: str = "", running: bool = True) -> Container:
    each = container(name, *chips, group=group)
    return replace(each, kept=replace(each.kept, chips=frozenset(map(ChipId, chips))), running=running)


def measured(values: Values, clock: str = "sm_megahertz", load: str = "gpu_percent") -> dict[ChipId, dict[str, float]]:
    return {ChipId(chip): {clock: speed, load: busy} for chip, (speed, busy) in values.items()}


FULL = dict.fromkeys(range(8), (1755.0, 100.0))


@pytest.mark.parametrize(
    ("values", "found"),
    [
        ({}, []),
        ({3: (1600, 100)}, []),
        ({3: (1579, 100)}, [3]),
        ({3: (900, 100), 4: (870, 97)}, [3, 4]),
        # It is not busy, so that its clock says nothing: it waits for its turn, or for work.
        ({3: (345, 0)}, []),
        # Load alone never: those that wait for the slowest spin, and so does it.
        ({3: (1755, 51)}, []),
        ({chip: (345, 3) for chip in range(8) if chip != 3}, []),
        # All of them are slow: the machine is hot, or its power is capped, and nobody waits for one.
        (dict.fromkeys(range(8), (900, 100)), []),
    ],
)
@pytest.mark.parametrize(("clock", "load"), [("sm_megahertz", "gpu_percent"), ("aicore_megahertz", "aicore_percent")])
def test_a_busy_chip_lags_whose_clock_is_a_tenth_below_the_others(
    values: Values, found: list[int], clock: str, load: str
) -> None:
    told = slow(node(on("train", *range(8))), measured(FULL | values, clock, load))
    assert list(told) == found
    if found == [3]:
        assert told[ChipId(3)] == "its clock is 1579 MHz, that of those it works with 1755 MHz, for 10 min and more"


def test_only_those_that_work_together_and_are_of_one_model_are_compared() -> None:
    values = measured(FULL | {1: (900, 100)})
    assert list(slow(node(on("a", 0), on("b", 1), on("c", 2)), values)) == []
    assert list(slow(node(on("a", 0, group="g"), on("b", 1, group="g"), on("c", 2, group="g")), values)) == [1]
    assert list(slow(node(on("a", 0, 1)), values)) == [1]
    assert list(slow(node(on("a", 0, 1), models={1: "H20"}), values)) == []
    assert list(slow(node(on("a", 0, 1, running=False)), values)) == []
    assert list(slow(node(on("a", 0, 1)), {ChipId(0): {"sm_megahertz": 1755.0}, ChipId(1): {}})) == []


class Clocks:
    """A driver that measures, and nothing else."""

    name = "chips"

    def __init__(self) -> None:
        self.values, self.asked = dict(FULL), 0

    def measure(self, chips: Sequence[ChipId]) -> Mapping[ChipId, Mapping[str, float | str]]:
        self.asked += 1
        return {chip: dict(values) for chip, values in measured(self.values).items()}


class Scene:
    def __init__(self, *containers: Container) -> None:
        self.node, self.clocks, self.at = node(*containers), Clocks(), 0.0
        self.told: list[StragglersSeen] = []
        measuring = Measuring(self.clocks, fresh_seconds=0)  # type: ignore[arg-type]  # It measures, and nothing else.
        self.stragglers = Stragglers(lambda: self.node, measuring, self.told.append, lambda: T0)

    def wait(self, length: timedelta) -> list[tuple[int, ...]]:
        end = self.at + length.total_seconds()
        while self.at < end:
            self.at += 15
            self.stragglers.look(self.at)
        return [tuple(lag.chip for lag in seen.chips) for seen in self.told]


def test_it_is_told_once_it_lasts_and_once_it_is_over() -> None:
    scene = Scene(on("train", 0, 1, 2))
    scene.clocks.values[1] = (900, 100)
    assert scene.wait(LONG) == []
    assert scene.wait(EVERY) == scene.wait(4 * LONG) == [(1,)]
    (lag,) = scene.told[0].chips
    assert lag.words == "its clock is 900 MHz, that of those it works with 1755 MHz, for 10 min and more"
    assert lag.since == T0 - LONG
    scene.clocks.values[1] = (1755, 100)
    assert scene.wait(EVERY) == [(1,), ()]


def test_one_that_keeps_up_in_between_is_not_told() -> None:
    scene = Scene(on("train", 0, 1, 2))
    for _ in range(4):
        scene.clocks.values[1] = (900, 100)
        scene.wait(LONG - 2 * EVERY)
        scene.clocks.values[1] = (1755, 100)
        assert scene.wait(EVERY) == []


def test_nothing_is_measured_where_no_chips_work_together() -> None:
    scene = Scene(on("a", 0), on("b", 1))
    assert (scene.wait(LONG), scene.clocks.asked) == ([], 0)
