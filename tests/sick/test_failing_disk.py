"""One write or sync of an episode's database fails, whichever: what was promised is kept, and the failure is told."""

import errno
import itertools
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.fakes.disk.failing_disk import FailingDisk
from tests.fakes.workshop import CannotBuild
from tests.sick.wellbeing import survived, well
from tests.support.figures import Figures
from tests.support.service import Service
from tests.system.conftest import Install

SECTION = "Sick host"


@pytest.fixture
def service(install: Install) -> Service:
    made = install({"resync": "1s", "reset.attempts": 100, "limits.episodes_per_hour": 1000})
    made.pretend("one")
    return made


@pytest.fixture
def disk(service: Service, tmp_path: Path) -> Iterator[FailingDisk]:
    try:
        made = FailingDisk(tmp_path, service.database)
    except CannotBuild as why:
        pytest.skip(f"no disk that fails: {why}")
    with closing(made):
        yield made


@pytest.mark.parametrize("first", range(1, 8))
def test_an_episode_comes_to_its_end_whichever_write_fails(
    service: Service, disk: FailingDisk, first: int, figures: Figures
) -> None:
    service.start(disk.environment)
    episodes = 0
    # To the first that comes after all writes of an episode.
    for nth in itertools.count(first, 7):
        disk.fail(errno.EIO, nth, nth)
        service.inject(0)
        episodes += 1
        service.until_said("is over: recovered", times=episodes)
        service.until_over()
        assert service.runs("one")
        if not disk.failed:
            break
    disk.well()
    assert episodes > 3
    assert len(service.resets()) == episodes
    assert "the database is written again" in service.said()
    well(service)
    service.start()
    assert ([each.outcome for each in service.episodes()], service.runs("one")) == (["recovered"] * episodes, True)
    survived(figures, SECTION, faults=episodes - 1)
