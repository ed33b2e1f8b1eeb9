"""A library that broke off as it was loaded, because no file could be opened, is loaded whole the next time."""

import subprocess
import sys

import pytest

BROKEN_OFF = """
import resource, sys
from cmgr.service.notices.ways import way_of

soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

def look(event, given):
    if event == "import" and given[0] == {at!r} and not said:
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))

said = []
sys.addaudithook(look)
for _ in range(2):
    try:
        said.append(way_of("mail").__name__)
    except OSError as error:
        said.append(error.strerror)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
print(*said, sep="\\n")
"""


@pytest.mark.parametrize("at", ["email.policy", "email.parser", "email.message"])
def test_a_library_that_broke_off_where_a_file_could_not_be_opened_is_whole_the_next_time(at: str) -> None:
    words = [sys.executable, "-c", BROKEN_OFF.format(at=at)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["Too many open files", "cmgr.service.notices.mail"], done.stderr


ASYNCIO = """
import resource, sys
from cmgr.loading import whole

soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
sys.addaudithook(lambda event, given: event == "import" and given[0] == "asyncio.events" and limit(3))
limit = lambda most: resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
try:
    with whole():
        import asyncio
except OSError as error:
    print(error.strerror)
limit = lambda most: None
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
import asyncio
print(asyncio.run.__module__)
"""


def test_so_is_what_pythons_own_libraries_have_of_their_parts() -> None:
    done = subprocess.run([sys.executable, "-c", ASYNCIO], capture_output=True, text=True, check=False)
    assert done.stdout == "Too many open files\nasyncio.runners\n", done.stderr


STAND_IN = """
import sys
from cmgr.loading import without_asyncio

with without_asyncio():
    import asyncio
    {within}
print("asyncio" in sys.modules, *sorted(name for name in sys.modules if name.startswith("asyncio.")))
import asyncio
print(asyncio.run.__module__)
"""


@pytest.mark.parametrize(
    ("within", "loaded"),
    [
        ("from asyncio import iscoroutinefunction, get_running_loop", False),
        ("import asyncio as again", False),
        ("print(asyncio.Queue.__module__)", True),
    ],
)
def test_asyncio_is_stood_in_for_until_more_of_it_is_wanted(within: str, loaded: bool) -> None:
    words = [sys.executable, "-c", STAND_IN.format(within=within)]
    *_, after, later = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    assert after.startswith(str(loaded))
    assert ("asyncio.events" in after) == loaded
    assert later == "asyncio.runners"


NEWEST = """
import sys
from datetime import UTC, datetime
from cmgr.model.values.handling.calendar import Moments
from cmgr.service.log import setup
from cmgr.service.timing import jobs

log = setup.set_up("info", "")
log.say("it logs")
log.close()
noon = Moments(*map(frozenset, ({0}, {12}, range(1, 32), range(1, 13), range(7))))
print(jobs.next_shown([noon], UTC, datetime(2026, 11, 30, 13, tzinfo=UTC)))
print(jobs.machine_zone())
print("asyncio" in sys.modules)
"""


def test_log_and_calendar_work_without_asyncio_with_the_versions_that_are_installed() -> None:
    done = subprocess.run([sys.executable, "-c", NEWEST], capture_output=True, text=True, check=True)
    assert "it logs" in done.stderr
    assert done.stdout.splitlines()[-3::2] == ["2026-12-01 12:00:00+00:00", "False"]
