"""A container that its restart policy starts again and again, and one that somebody has paused: both run.

Tried in 2026 on cmgr as it was: `Restarting (1)`, eight restarts, waits that grew to a minute, and `cmgr status` said
that all was well, for a container between two restarts has its chips. So it said of one that was paused.
"""

import os
import signal

import pytest

from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker

WELL, WRONG = 0, 4
CRASHES = ("sh", "-c", "echo ready; sleep 1; exit 1")


def test_a_crash_loop_is_no_service(on_docker: Install, containers: Containers) -> None:
    service = on_docker({"retry.settle": "15s"})
    containers.run(Spec("llm", "0", CRASHES, policy="always"), Spec("mate", "1"))
    service.start()
    eventually(lambda: containers.count("llm", "start") > 2, why="it loops")
    told = service.cmgr("status", "--check")
    assert told.code == WRONG
    assert "container llm does not serve" in told.out
    assert "1 of 2 containers running" in service.cmgr("status").out
    restarts = containers.count("llm", "start")
    looks = 0
    while containers.count("llm", "start") < restarts + 2:
        assert service.cmgr("status", "--check").code == WRONG, "neither while it waits nor while it runs for a second"
        looks += 1
    assert looks


def test_one_that_stays_up_after_all_serves(on_docker: Install, containers: Containers) -> None:
    service = on_docker({"retry.settle": "2s"})
    containers.run(Spec("llm", "0", policy="always"))
    service.start()
    assert service.cmgr("status", "--check").code == WELL
    os.kill(containers.pid("llm"), signal.SIGKILL)
    eventually(lambda: containers.was_restarted("llm") and containers.is_running("llm"))
    eventually(lambda: service.cmgr("status", "--check").code == WELL, why="it has run for retry.settle")


def test_a_pause_is_told_for_as_long_as_it_lasts(on_docker: Install, containers: Containers) -> None:
    service = on_docker({})
    containers.run(Spec("llm", "0"))
    service.start()
    containers.pause("llm")
    eventually(lambda: service.cmgr("status", "--check").code == WRONG)
    assert "somebody has paused it" in " ".join(service.cmgr("status").out.split())
    containers.unpause("llm")
    eventually(lambda: service.cmgr("status", "--check").code == WELL)


def test_a_failing_check_is_told_without_any_label(on_docker: Install, containers: Containers) -> None:
    service = on_docker({})
    containers.run(Spec("llm", "0", check="test ! -e /dev/shm/sick"))
    service.start()
    eventually(lambda: service.cmgr("status", "--check").code == WELL)
    containers.sicken("llm")
    eventually(lambda: service.cmgr("status", "--check").code == WRONG)
