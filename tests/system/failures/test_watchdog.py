"""The traces of a service that systemd's watchdog has ended, however cmgr was installed."""

import signal
from pathlib import Path

from tests.support.waiting import eventually
from tests.system.conftest import Install


def test_a_service_that_the_watchdog_ends_says_where_each_thread_is(install: Install) -> None:
    service = install({})
    service.start()
    # A service that hangs has none that runs. Python reads a running thread while it changes, and can fail of it.
    eventually(lambda: nothing_runs(service.pid), why="the service has begun all of its threads")
    assert service.end(signal.SIGABRT) == -signal.SIGABRT
    said = service.said()
    assert "Fatal Python error: Aborted" in said
    assert "loop.py" in said


def nothing_runs(pid: int) -> bool:
    threads = [Path(each, "stat").read_text() for each in Path(f"/proc/{pid}/task").iterdir()]
    return all(stat.rpartition(")")[2].split()[0] == "S" for stat in threads)
