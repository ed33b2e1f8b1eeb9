"""A system clock that was set: moments that runtimes tell by it, and looks that do not wait by it."""

from dataclasses import replace
from datetime import timedelta
from queue import SimpleQueue

from cmgr.model.values.messages.commands import CommandId
from cmgr.model.values.messages.facts import (
    ContainerRemoved,
    ContainerSeen,
    ContainersListed,
    ContainerStopped,
    Fact,
    Tick,
)
from cmgr.model.values.services.containers import Exit
from cmgr.service.timing.clock import SteadyClock, history_ends, steadied
from cmgr.service.timing.jobs import Resyncs
from tests.model.builders import T0, container

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)

DEAD = container("a", 0, running=False, exit=Exit(139, T0 + DAY, asked=False))
SHIFTED = replace(DEAD, exit=Exit(139, T0, asked=False))
ALIVE = container("b", 1)


def test_what_a_runtime_tells_of_an_end_is_told_in_the_time_that_nobody_sets() -> None:
    command = CommandId("1")
    told: list[tuple[Fact, Fact]] = [
        (ContainerSeen(DEAD), ContainerSeen(SHIFTED)),
        (ContainersListed(command, "sim", (DEAD, ALIVE)), ContainersListed(command, "sim", (SHIFTED, ALIVE))),
        (
            ContainerStopped(command, DEAD.key, before=DEAD.exit),
            ContainerStopped(command, DEAD.key, before=SHIFTED.exit),
        ),
    ]
    for fact, expected in told:
        assert steadied(fact, DAY) == expected
        assert steadied(expected, -DAY) == fact
        assert steadied(fact, timedelta(milliseconds=200)) == fact, "a clock that is kept right drifts a little"
    for fact in (ContainerSeen(ALIVE), ContainerRemoved(DEAD.key), ContainerStopped(command, DEAD.key), Tick()):
        assert steadied(fact, DAY) == fact


def test_a_clock_that_nobody_set_does_not_drift() -> None:
    assert abs(SteadyClock().drift()) < timedelta(seconds=1)


def test_regular_looks_come_at_their_interval_from_the_start_on() -> None:
    put: SimpleQueue[Fact] = SimpleQueue()
    now = T0 - DAY
    resyncs = Resyncs(put.put, HOUR, lambda: now)
    now = T0
    resyncs.start()
    for moment, left, count in ((0.0, 1.0, 0), (0.75, 0.25, 0), (1.0, 1.0, 1), (1.5, 0.5, 1), (2.25, 1.0, 2)):
        now = T0 + moment * HOUR
        resyncs.look()
        assert (resyncs.left(), put.qsize()) == (left * HOUR, count)
    now = T0 + 5 * HOUR
    assert resyncs.left() == timedelta(), "nobody waits for what is due"


def test_a_clock_that_was_wrong_at_boot_makes_no_history_old() -> None:
    noted, lived = T0, HOUR
    assert history_ends(T0 + 3650 * DAY, noted, lived) == T0 + HOUR
    assert history_ends(T0 - DAY, noted, lived) == T0 - DAY, "what was noted ahead of time deletes nothing either"
    assert history_ends(T0 + DAY, None, lived) == T0 + DAY
