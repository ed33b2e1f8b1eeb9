"""A disk that is full, read-only, or takes no more: what was promised stands, and nothing new is promised."""

import os
import resource
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from tests.sick.disks import CannotMount, Disk
from tests.sick.wellbeing import ROOM, memory, recovered, survived, until_ready, until_told
from tests.support.figures import Figures
from tests.support.service import LATER, NOW, Service
from tests.system.conftest import Install

SECTION = "Sick host"

UNWRITTEN = "the database cannot be written"


@pytest.fixture
def disks() -> Iterator[Callable[[Service], Disk]]:
    """Put the state of a service that was not started yet on a disk of its own."""
    made: list[Disk] = []

    def on_disk(service: Service) -> Disk:
        try:
            made.append(Disk(service.database.parent))
        except CannotMount as why:
            if os.environ.get("CI") == "true":
                pytest.fail(f"no small disk: {why}")
            pytest.skip(f"no small disk: {why}")
        return made[-1]

    yield on_disk
    for disk in made:
        disk.close()


@pytest.fixture
def service(install: Install) -> Service:
    made = install({"resync": "1s"})
    made.pretend("one")
    return made


def status_of(service: Service) -> str:
    found = service.container("one")
    return str(found["status"]) if found else ""


def waiting(service: Service) -> None:
    """Have it hold its container, and wait."""
    service.configure({"levels.RestartRequest.reset_after": "10m"})
    service.start()
    service.inject(0, LATER)
    service.until_phase("waiting")


def goes_on(service: Service) -> None:
    """Check that the container that was held runs again when the fault is over."""
    service.inject(0, LATER, "cleared")
    service.until_said("is over: cleared")
    service.until_over()
    assert status_of(service) == "running"


def refuses_writes(service: Service) -> None:
    resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))


def takes_writes(service: Service) -> None:
    resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def test_on_a_full_disk_nothing_is_stopped_or_reset_that_cannot_be_written_and_that_is_told(
    service: Service, disks: Callable[[Service], Disk], figures: Figures
) -> None:
    disk = disks(service)
    service.configure({"log.file": str(disk.path / "cmgr.log")})
    service.start()
    before = memory(service)
    disk.fill()
    service.inject(0)
    until_told(service, UNWRITTEN, "disk is full", "its hold could not be written", "degraded")
    assert service.cmgr("status", "--check").code == 4
    # Nobody uses the other ring, but a crash would forget its reset.
    service.inject(4, NOW)
    service.until_reason("nothing is reset that could not be noted", ring=4)
    assert service.resets() == ()
    assert service.ring()["phase"] in ("draining", "waiting")
    found = service.container("one")
    assert found is not None
    assert "its hold could not be written" in found["reason"]
    assert memory(service) < before + ROOM
    disk.free()
    service.until_said("the database is written again")
    service.until_said("one is stopped")
    recovered(service, episodes=2)
    assert sorted(e.outcome or "" for e in service.episodes()) == ["recovered", "recovered"]
    survived(figures, SECTION)


def test_what_is_held_when_the_disk_becomes_full_runs_again_and_is_not_started_twice(
    service: Service, disks: Callable[[Service], Disk], figures: Figures
) -> None:
    disk = disks(service)
    waiting(service)
    disk.fill()
    goes_on(service)
    until_told(service, UNWRITTEN)
    service.kill9()
    # The promises that the books on the disk still hold have been kept already.
    service.start()
    service.until_over()
    assert status_of(service) == "running"
    until_told(service, UNWRITTEN)
    disk.free()
    until_ready(service)
    assert service.said().count("one runs again") <= 2
    service.terminate()
    survived(figures, SECTION)


def test_a_service_that_was_killed_starts_on_a_full_disk_and_keeps_its_promise(
    service: Service, disks: Callable[[Service], Disk], figures: Figures
) -> None:
    disk = disks(service)
    waiting(service)
    service.kill9()
    disk.fill()
    service.start()
    until_told(service, UNWRITTEN, "degraded")
    assert status_of(service) == "paused"
    goes_on(service)
    disk.free()
    until_ready(service)
    service.terminate()
    survived(figures, SECTION)


@pytest.mark.parametrize("full", [True, False], ids=["full", "read-only"])
def test_a_disk_on_which_no_database_can_be_opened_is_told_and_the_promise_stands(
    service: Service, disks: Callable[[Service], Disk], full: bool, figures: Figures
) -> None:
    disk = disks(service)
    waiting(service)
    service.terminate()
    if full:
        disk.fill()
    else:
        disk.read_only(True)
    told = service.refused()
    assert told.code == 1
    assert told.err.startswith("cmgr: cannot ")
    assert ("free space on its file system" if full else "Read-only file system") in told.err
    assert "hint: " in told.err
    shown = service.cmgr("status")
    assert "paused" in shown.out
    if full:
        disk.free()
    else:
        disk.read_only(False)
    service.start()
    assert status_of(service) == "paused"
    goes_on(service)
    service.terminate()
    survived(figures, SECTION)


def test_a_disk_that_takes_no_write_any_more_stops_nothing_and_is_told(service: Service, figures: Figures) -> None:
    service.configure({"levels.RestartRequest.stop_after": "1s"})
    service.start()
    service.inject(0, LATER)
    refuses_writes(service)
    until_told(service, UNWRITTEN, "its hold could not be written", "degraded")
    assert service.resets() == ()
    takes_writes(service)
    recovered(service)
    assert len(service.resets()) == 1
    survived(figures, SECTION)


def test_a_database_that_a_stranger_locks_stops_nothing_and_is_told(service: Service, figures: Figures) -> None:
    service.start()
    with closing(sqlite3.connect(service.database, isolation_level=None)) as stranger:
        stranger.execute("BEGIN IMMEDIATE")
        service.inject(0)
        until_told(service, UNWRITTEN, "database is locked", "its hold could not be written")
        assert service.resets() == ()
        stranger.execute("ROLLBACK")
    recovered(service)
    assert len(service.resets()) == 1
    survived(figures, SECTION)
