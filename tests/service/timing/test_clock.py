"""A system clock that was set: moments that runtimes tell by it, and jobs that wait by it."""

import subprocess
import sys
import threading
from dataclasses import replace
from datetime import timedelta
from importlib import import_module
from queue import SimpleQueue

import pytest

from cmgr.model.values.messages.commands import CommandId
from cmgr.model.values.messages.facts import (
    ContainerRemoved,
    ContainerSeen,
    ContainersListed,
    ContainerStopped,
    Fact,
    Resync,
    Tick,
)
from cmgr.model.values.services.containers import Exit
from cmgr.service.timing import jobs as timing
from cmgr.service.timing.clock import SteadyClock, history_ends, steadied
from cmgr.service.timing.jobs import Jobs
from tests.model.builders import T0, container
from tests.support.waiting import PATIENCE

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)

DEAD = container("a", 0, running=False, exit=Exit(139, T0 + DAY, asked=False))
SHIFTED = replace(DEAD, exit=Exit(139, T0, asked=False))
ALIVE = container("b", 1)


def test_what_a_runtime_tells_of_an_end_is_told_in_the_time_that_nobody_sets() -> None:
    command = CommandId("1")
    told: list[tuple[Fact, Fact]] = [
        (ContainerSeen(DEAD), ContainerSeen(SHIFTED)),
        (ContainersListed(command, "sim", (DEAD, ALIVE)), ContainersListed(command, "sim", (SHIFTED, ALIVE))),
        (
            ContainerStopped(command, DEAD.key, before=DEAD.exit),
            ContainerStopped(command, DEAD.key, before=SHIFTED.exit),
        ),
    ]
    for fact, expected in told:
        assert steadied(fact, DAY) == expected
        assert steadied(expected, -DAY) == fact
        assert steadied(fact, timedelta(milliseconds=200)) == fact, "a clock that is kept right drifts a little"
    for fact in (ContainerSeen(ALIVE), ContainerRemoved(DEAD.key), ContainerStopped(command, DEAD.key), Tick()):
        assert steadied(fact, DAY) == fact


def test_a_clock_that_nobody_set_does_not_drift() -> None:
    assert abs(SteadyClock().drift()) < timedelta(seconds=1)


@pytest.mark.parametrize("early", [False, True], ids=["set later", "set while it starts"])
def test_when_the_system_clock_was_set_the_job_is_done_at_once(*, early: bool) -> None:
    put: SimpleQueue[Fact] = SimpleQueue()
    drift = timedelta()
    jobs = Jobs(put.put, HOUR, lambda: drift)
    drift = -DAY
    if early:
        jobs.look()
    jobs.begin(print)
    jobs.look()
    assert put.get(timeout=PATIENCE) == Resync()
    jobs.look()
    jobs.close()
    jobs.close()
    assert put.empty()


def test_jobs_begin_when_what_they_need_can_be_loaded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    import_module("apscheduler.schedulers")  # Of a package that is not loaded, what is put there is taken away.
    monkeypatch.setattr(timing, "AGAIN", 0.01)
    monkeypatch.setitem(sys.modules, "apscheduler.schedulers.background", None)
    put: SimpleQueue[Fact] = SimpleQueue()
    said: list[str] = []

    def warn(text: str) -> None:
        said.append(text)
        assert jobs.trouble == text
        if len(said) == 2:
            monkeypatch.delitem(sys.modules, "apscheduler.schedulers.background")

    jobs = Jobs(put.put, timedelta(milliseconds=10), timedelta)
    jobs.begin(warn)
    assert put.get(timeout=PATIENCE) == Resync()
    jobs.close()
    assert (len(said), jobs.trouble) == (2, "")


def test_jobs_begin_although_nothing_could_be_opened_when_their_library_was_loaded() -> None:
    loaded = (
        "import resource\n"
        "from datetime import timedelta\n"
        "from queue import SimpleQueue\n"
        "from cmgr.service.timing import jobs\n"
        "jobs.AGAIN = 0.01\n"
        "soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)\n"
        "said, put = [], SimpleQueue()\n"
        "def warn(text):\n"
        "    said.append(text)\n"
        "    if len(said) == 2: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))\n"
        "made = jobs.Jobs(put.put, timedelta(milliseconds=10), timedelta)\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))\n"
        "made.begin(warn)\n"
        f"print(put.get(timeout={PATIENCE}), len(said))\n"
    )
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=False)
    assert done.stdout == "Resync() 2\n", done.stderr


def test_jobs_that_were_ended_before_they_began_do_nothing() -> None:
    before = set(threading.enumerate())
    jobs = Jobs(print, HOUR, timedelta)
    jobs.close()
    jobs.begin(print)
    assert set(threading.enumerate()) <= before


def test_a_clock_that_was_wrong_at_boot_makes_no_history_old() -> None:
    noted, lived = T0, HOUR
    assert history_ends(T0 + 3650 * DAY, noted, lived) == T0 + HOUR
    assert history_ends(T0 - DAY, noted, lived) == T0 - DAY, "what was noted ahead of time deletes nothing either"
    assert history_ends(T0 + DAY, None, lived) == T0 + DAY
