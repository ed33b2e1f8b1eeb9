"""A library that broke off as it was loaded, because no file could be opened, is loaded whole the next time."""

import subprocess
import sys

import pytest

BROKEN_OFF = """
import resource, sys
from cmgr.errors import RuntimeDown
from cmgr.runtimes.docker.wire import Clients

soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

def look(event, given):
    if event == "import" and given[0] == {at!r} and not said:
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))

said = []
sys.addaudithook(look)
for _ in range(2):
    try:
        with Clients("/nowhere/docker.sock").use("ask", 5.0) as client:
            client.api.ping()
    except RuntimeDown as error:
        said.append(error.message)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
print(*said, sep="\\n")
"""


@pytest.mark.parametrize("at", ["urllib3.connectionpool", "requests.adapters", "docker.api"])
def test_a_library_that_broke_off_where_a_file_could_not_be_opened_is_whole_the_next_time(at: str) -> None:
    words = [sys.executable, "-c", BROKEN_OFF.format(at=at)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    first, second = done.stdout.splitlines() or [done.stderr, ""]
    assert "Docker's SDK cannot be loaded: [Errno 24] Too many open files" in first
    assert second.startswith("cannot ask: nothing answers at /nowhere/docker.sock"), done.stderr


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
