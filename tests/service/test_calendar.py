"""The calendar through the service as a process: windows, maintenance by its own, and a drill whose time has come."""

import shutil
import signal
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.service import NOW, Service
from tests.support.waiting import eventually

pytestmark = pytest.mark.alone


@pytest.fixture
def service() -> Iterator[Service]:
    # A unix socket's path may have 107 characters: pytest's own folders are too deep.
    folder = Path(tempfile.mkdtemp(prefix="cmgr-calendar-"))
    made = Service(folder, {"time_zone": "UTC"})
    made.pretend("one")
    yield made
    made.close()
    shutil.rmtree(folder)


def hours(begin: timedelta, length: timedelta) -> str:
    """Return a window of every day that begins so long from now on."""
    first = datetime.now(UTC) + begin
    return f"{first:%H:%M}-{first + length:%H:%M}"


def test_a_reset_waits_for_its_window_through_a_restart_and_no_longer_when_that_is_taken_out(service: Service) -> None:
    service.configure({"levels.RestartNPU.window": [hours(timedelta(hours=3), timedelta(hours=1))]})
    service.start()
    service.inject(0, NOW)
    eventually(lambda: "waits for its window" in service.status()["rings"][0]["reason"])
    service.kill9()
    service.start()
    eventually(lambda: "waits for its window" in service.status()["rings"][0]["reason"])
    status = service.status()
    assert status["rings"][0]["deadline"] is not None
    assert [(w["name"], w["open"]) for w in status["windows"]] == [("levels.RestartNPU.window", False)]
    assert not status["rings"][0]["resets"]
    service.configure({"levels.RestartNPU.window": []})
    service.tell(signal.SIGHUP)
    service.until_said("is over: recovered")


def test_maintenance_keeps_to_its_window_and_a_person_may_end_it(service: Service) -> None:
    service.configure({"maintenance.windows": [hours(timedelta(hours=-1), timedelta(hours=2))]})
    service.start()
    assert service.status()["service"]["maintenance_by"] == "maintenance.windows"
    assert service.cmgr("maintenance", "off").code == 0
    service.kill9()
    service.start()
    assert not service.status()["service"]["maintenance"]


def test_a_drill_whose_time_was_a_minute_ago_is_held_once(service: Service) -> None:
    before = datetime.now(UTC) - timedelta(minutes=1)
    service.more = f'[[drills]]\nname = "now"\nwhen = "{before:%H:%M}"\nwhat = "fault"\nchips = [0]\ncode = "{NOW}"'
    service.configure({})
    service.start()
    service.until_said("drill now is over: recovered")
    service.kill9()
    service.start()
    eventually(lambda: service.status()["service"]["state"] == "ready")
    assert service.status()["drills"][0]["last"] is not None
    assert service.said().count("drill now: chip 0 simulates") == 1
