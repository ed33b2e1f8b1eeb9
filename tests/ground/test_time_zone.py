"""The machine is given another time zone while the service runs: windows, and what is written in local time, follow."""

import os
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.sick.wellbeing import recovered, survived
from tests.support.figures import Figures
from tests.support.service import LATER, Service
from tests.system.conftest import Install

SECTION = "The ground moves"

ZONES = Path("/usr/share/zoneinfo")
FAR = "Asia/Tokyo"

IN_ETC = 'mount --bind "$0" /etc && exec "$@"'
"""The service has an /etc of its own, which the test changes as timedatectl(1) changes the machine's."""

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount"),
    pytest.mark.skipif(not (ZONES / FAR).exists(), reason="there are no time zones here"),
]


@pytest.fixture
def etc(tmp_path: Path) -> Path:
    made = tmp_path / "etc"
    shutil.copytree("/etc", made, symlinks=True)
    given(made, "UTC")
    return made


def given(etc: Path, zone: str) -> None:
    new = etc / "localtime.new"
    new.symlink_to(ZONES / zone)
    new.rename(etc / "localtime")
    (etc / "timezone").write_text(f"{zone}\n")


def window(zone: str) -> str:
    """Return an hour around now, as clocks on the wall show it there."""
    now = datetime.now(ZoneInfo(zone))
    return f"{now - timedelta(minutes=30):%H:%M}-{now + timedelta(minutes=30):%H:%M}"


def test_windows_and_the_log_go_by_the_new_zone_of_the_machine(install: Install, etc: Path, figures: Figures) -> None:
    service = install({"levels.RestartRequest.window": [window(FAR)], "levels.RestartRequest.reset_after": "0s"})
    service.prefix = ("unshare", "--mount", "sh", "-c", IN_ETC, str(etc))
    service.pretend("one")
    service.start()
    service.inject(0, LATER)
    service.until_reason("window")
    given(etc, FAR)
    service.until_said("the time zone of the machine was set: it is JST now")
    recovered(service)
    assert stamped(service)
    survived(figures, SECTION)


def stamped(service: Service) -> bool:
    """Return whether the last line of the log has the time of Tokyo."""
    last = service.said().splitlines()[-1]
    told = datetime.fromisoformat(last[:23]).replace(tzinfo=ZoneInfo(FAR))
    return abs(told - datetime.now(UTC)) < timedelta(minutes=10)
