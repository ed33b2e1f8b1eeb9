"""A part that was measured while the machine was not itself is measured once more, and then marked."""

from collections.abc import Iterator

import pytest

from bench import __main__ as bench
from bench import steady
from bench.report.figures import Figure

FIGURE = Figure("Part", "what", 1.0, "ms")


@pytest.fixture
def moments(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Say how long the work takes, each time it is looked at: first for the watch itself."""
    told: list[float] = []
    left: Iterator[float] = iter(told)
    monkeypatch.setattr(steady, "_usual", lambda: next(left))
    monkeypatch.setattr(steady, "_times", lambda: (0, 100))
    return told


@pytest.mark.parametrize(
    ("looks", "tries", "disturbed"),
    [
        ([1.0, 1.0, 1.1], 1, False),
        ([1.0, 1.0, 2.5, 1.0, 1.0], 2, False),
        ([1.0, 3.0, 1.0, 1.0, 2.1], 2, True),
        ([3.0, 3.0, 1.0, 1.0, 1.0], 2, False),
    ],
    ids=["calm", "once", "twice", "it was so when the run began"],
)
def test_what_was_disturbed_is_measured_once_more(
    moments: list[float], looks: list[float], tries: int, disturbed: bool
) -> None:
    moments += looks
    run, measured = bench.Run(), iter([FIGURE, FIGURE])
    (found,) = run.part("part", lambda: [next(measured)])
    assert (2 - len(list(measured)), found.disturbed) == (tries, disturbed)


def test_time_that_the_machine_below_took_disturbs(moments: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    moments += [1.0] * 3
    ticks = iter([(0, 1000), (21, 2000)])
    monkeypatch.setattr(steady, "_times", lambda: next(ticks))
    assert steady.Watch().beside(lambda: 7) == (7, True)


def test_a_part_that_fails_is_not_tried_again(moments: list[float]) -> None:
    moments += [1.0, 1.0, 9.0]
    run = bench.Run()
    assert run.part("part", lambda: [FIGURE] * (1 // 0)) == []
    assert run.failed == ["part"]
