"""The file system of the state becomes read-only under the service, as a kernel makes one that it finds damaged."""

import errno
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.fakes.disk.failing_disk import FailingDisk
from tests.fakes.workshop import CannotBuild
from tests.sick.wellbeing import recovered, survived, until_told
from tests.support.figures import Figures
from tests.support.service import LATER, Service
from tests.system.conftest import Install

SECTION = "The ground moves"


@pytest.fixture
def service(install: Install) -> Service:
    made = install({"resync": "1s", "levels.RestartRequest.stop_after": "1s"})
    made.pretend("one")
    return made


@pytest.fixture
def disk(service: Service, tmp_path: Path) -> Iterator[FailingDisk]:
    try:
        made = FailingDisk(tmp_path, service.database.parent)
    except CannotBuild as why:
        pytest.skip(f"no disk that fails: {why}")
    with closing(made):
        yield made


def test_nothing_is_stopped_on_a_file_system_that_is_read_only_and_all_goes_on_when_it_is_not(
    service: Service, disk: FailingDisk, figures: Figures
) -> None:
    service.start(disk.environment)
    disk.fail(errno.EROFS)
    service.inject(0, LATER)
    until_told(service, "the database cannot be written", "its hold could not be written", "degraded")
    assert service.resets() == ()
    disk.well()
    service.until_said("the database is written again")
    recovered(service)
    assert len(service.resets()) == 1
    survived(figures, SECTION)


def test_what_is_held_when_it_becomes_read_only_runs_again(
    service: Service, disk: FailingDisk, figures: Figures
) -> None:
    service.configure({"levels.RestartRequest.reset_after": "10m"})
    service.start(disk.environment)
    service.inject(0, LATER)
    service.until_phase("waiting")
    disk.fail(errno.EROFS)
    service.inject(0, LATER, "cleared")
    service.until_said("is over: cleared")
    service.until_over()
    until_told(service, "the database cannot be written")
    service.kill9()
    disk.well()
    # The books on the disk still hold what runs again.
    service.start(disk.environment)
    service.until_over()
    assert service.runs("one")
    survived(figures, SECTION)
