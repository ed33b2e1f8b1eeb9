"""The system's clock jumps by a day, forward and back: what was due stays due when it was, and nobody is forgotten.

The service sees another time of day by a preloaded library; the daemon beside it is the test's own.
"""

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from tests.fakes.clock.wallclock import WallClock
from tests.fakes.workshop import CannotBuild
from tests.sick.lively_dockerd import LivelyDockerd
from tests.sick.wellbeing import recovered, survived
from tests.support.figures import Figures
from tests.support.service import LATER, NOW, Service
from tests.support.waiting import eventually
from tests.system.conftest import Install

SECTION = "Sick host"

DAY = timedelta(days=1)

JUMPS = pytest.mark.parametrize("jump", [DAY, -DAY], ids=["forward", "back"])


@pytest.fixture
def clock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WallClock]:
    try:
        made = WallClock(tmp_path_factory.mktemp("clock"))
    except CannotBuild as why:
        if os.environ.get("CI") == "true":
            pytest.fail(f"no clock to set: {why}")
        pytest.skip(f"no clock to set: {why}")
    yield made
    made.close()


def lists(lively: LivelyDockerd) -> int:
    return lively.asked("GET /containers/json")


def served(service: Service, lively: LivelyDockerd) -> None:
    """Check that the other ring is recovered, and that the periodic jobs go on."""
    before = lists(lively)
    service.inject(4)
    eventually(lambda: lively.done("start").count("beside") == 1)
    eventually(lambda: lists(lively) > before + 3, why="it asks for the whole truth every second")


@JUMPS
def test_a_jump_within_a_life_moves_no_deadline(
    on_lively: Install, lively: LivelyDockerd, clock: WallClock, jump: timedelta, figures: Figures
) -> None:
    service = on_lively({"levels.RestartRequest.reset_after": "10m"})
    service.start(clock.environment)
    service.inject(0, LATER)
    service.until_phase("waiting")
    due = service.ring()["deadline"]
    clock.set(jump)
    lively.ahead = jump
    served(service, lively)
    assert (service.ring()["phase"], service.ring()["deadline"]) == ("waiting", due)
    assert [r.chips for r in service.resets()] == [(4, 5, 6, 7)]
    service.inject(0, LATER, "cleared")
    service.until_said("is over: cleared")
    service.until_over()
    assert lively.all_running()
    service.terminate()
    survived(figures, SECTION)


@JUMPS
def test_what_is_due_soon_is_done_soon_whatever_the_clock_says(
    on_lively: Install, lively: LivelyDockerd, clock: WallClock, jump: timedelta, figures: Figures
) -> None:
    service = on_lively({"isolation.release_after": "2s", "sim.incurable": [NOW], "reset.attempts": 1})
    service.start(clock.environment)
    service.inject(0, LATER)
    service.until_phase("waiting")
    clock.set(jump)
    lively.ahead = jump
    service.until_said("is over: recovered")
    # And back: an isolation, and the retries of a start.
    service.inject(1, NOW)
    service.until_said("chip 1 is isolated")
    clock.set(timedelta())
    lively.ahead = timedelta()
    service.inject(1, NOW, "cleared")
    eventually(lambda: not service.status()["chips"][1]["isolated"], why="it ends by itself")
    service.until_over()
    assert lively.all_running()
    service.terminate()
    survived(figures, SECTION, faults=2)


@JUMPS
def test_one_that_dies_of_a_fault_after_a_jump_is_started_again(
    on_lively: Install, lively: LivelyDockerd, clock: WallClock, jump: timedelta, figures: Figures
) -> None:
    service = on_lively({})
    service.start(clock.environment)
    eventually(lambda: service.container("one"))
    clock.set(jump)
    lively.ahead = jump
    lively.crash("one")
    eventually(lambda: not service.runs("one"))
    service.inject(0)
    service.until_said("one died by itself (exit code 139)")
    recovered(service)
    assert sorted(lively.done("start")) == ["one", "two"]
    survived(figures, SECTION)


@JUMPS
def test_one_that_had_died_long_before_stays_down_after_a_jump(
    on_lively: Install, lively: LivelyDockerd, clock: WallClock, jump: timedelta, figures: Figures
) -> None:
    lively.ahead = -timedelta(hours=1)
    lively.crash("one")
    lively.ahead = timedelta()
    service = on_lively({})
    service.start(clock.environment)
    eventually(lambda: service.container("two"))
    clock.set(jump)
    lively.ahead = jump
    before = lists(lively)
    eventually(lambda: lists(lively) > before + 2)
    service.inject(0)
    service.until_said("is over: recovered")
    assert lively.done("start") == ["two"]
    service.terminate()
    survived(figures, SECTION)


@JUMPS
def test_a_jump_between_two_lives_loses_nothing_and_puts_nothing_off(
    on_lively: Install, lively: LivelyDockerd, clock: WallClock, jump: timedelta, figures: Figures
) -> None:
    service = on_lively({"levels.RestartRequest.reset_after": "3s"})
    service.start(clock.environment)
    service.inject(0, LATER)
    service.until_phase("waiting")
    service.kill9()
    clock.set(jump)
    lively.ahead = jump
    service.start(clock.environment)
    seen = datetime.fromisoformat(service.status()["service"]["since"])
    assert abs(seen - datetime.now(UTC) - jump) < timedelta(hours=1), "it sees the clock that was set"
    recovered(service)
    assert sorted(lively.done("stop")) == sorted(lively.done("start")) == ["one", "two"]
    survived(figures, SECTION)
