"""The places that the service lives in are taken from it while it runs: its socket, configuration and log.

Whoever cleans, mounts or moves directories does not ask it. Each is told, and the service serves on.
"""

import shutil
import signal
from pathlib import Path

import pytest

from tests.sick.disks import CannotMount, Disk
from tests.sick.wellbeing import recovered, survived
from tests.support.figures import Figures
from tests.support.service import LATER, Service
from tests.support.waiting import eventually
from tests.system.conftest import Install

SECTION = "The ground moves"


@pytest.fixture
def service(install: Install) -> Service:
    made = install({"levels.RestartRequest.reset_after": "10m"})
    made.pretend("one")
    return made


def test_a_socket_that_somebody_removes_is_there_again_in_the_midst_of_an_episode(
    service: Service, figures: Figures
) -> None:
    service.start()
    service.inject(0, LATER)
    service.until_phase("waiting")
    service.socket.unlink()
    service.until_said(f"somebody has removed {service.socket}: it is there again")
    service.until_phase("waiting")
    service.inject(0)
    recovered(service)
    assert not service.socket.exists()
    survived(figures, SECTION)


def test_without_its_configuration_it_goes_on_with_the_one_it_has(
    service: Service, tmp_path: Path, figures: Figures
) -> None:
    directory = tmp_path / "etc"
    directory.mkdir()
    service.config = directory / "cmgr.toml"
    service.configure({})
    service.start()
    directory.rename(tmp_path / "away")
    for how in ("signal", "order"):
        if how == "signal":
            service.tell(signal.SIGHUP)
        else:
            told = service.cmgr("reload", "--socket", str(service.socket))
            assert told.code
            assert str(service.config) in told.err
        service.until_said("the configuration stays as it was", times=1 if how == "signal" else 2)
    service.inject(0)
    service.until_said("is over: recovered")
    (tmp_path / "away").rename(directory)
    service.configure({"levels.RestartRequest.reset_after": "1s"})
    service.tell(signal.SIGHUP)
    service.until_said("the configuration was read again")
    service.inject(0, LATER)
    recovered(service, episodes=2)
    survived(figures, SECTION)


def test_a_log_whose_disk_is_full_is_told_and_written_again(service: Service, tmp_path: Path, figures: Figures) -> None:
    try:
        disk = Disk(tmp_path / "log", "64k")
    except CannotMount as why:
        pytest.skip(f"no small disk: {why}")
    try:
        log = disk.path / "cmgr.log"
        service.configure({"log.file": str(log)})
        service.start()
        disk.fill()
        with log.open("ab") as file:  # The page that it has begun is its own.
            file.write(b"\n" * (-log.stat().st_size % 4096))
        service.inject(0)
        service.until_said(f"cannot write the log file {log}: No space left on device; the journal goes on")
        service.until_said("is over: recovered")
        disk.free()
        service.inject(0)
        service.until_said(f"the log file {log} is written again")
        recovered(service, episodes=2)
        eventually(lambda: "is over: recovered" in log.read_text())
    finally:
        disk.close()
    survived(figures, SECTION)


def test_a_log_whose_directory_is_gone_is_told_and_written_again(
    service: Service, tmp_path: Path, figures: Figures
) -> None:
    log = tmp_path / "log" / "cmgr.log"
    log.parent.mkdir()
    service.configure({"log.file": str(log)})
    service.start()
    shutil.rmtree(log.parent)
    log.parent.touch()
    service.inject(0)
    service.until_said(f"cannot write the log file {log}")
    service.until_said("is over: recovered")
    log.parent.unlink()
    service.inject(0)
    service.until_said(f"the log file {log} is written again")
    recovered(service, episodes=2)
    survived(figures, SECTION)
