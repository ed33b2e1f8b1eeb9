"""A person stops a container, which takes a while, and in that while its chip faults.

Tried in 2026 on cmgr as it was: `docker stop -t 600 llm` drains a server. The fault came, cmgr killed it after its own
grace, held it, and started it again: what was the person's was taken for cmgr's own stop.
"""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec, deaf

pytestmark = pytest.mark.docker

DRAIN = 600


def test_a_drain_that_a_fault_cuts_short_stays_a_persons(on_docker: Install, containers: Containers) -> None:
    service = on_docker({})
    containers.run(deaf("llm", "0", grace=2), Spec("mate", "1"))
    service.start()
    with ThreadPoolExecutor(1) as pool:
        drain = pool.submit(containers.stop_within, "llm", DRAIN)
        eventually(lambda: containers.count("llm", "kill"), why="the drain has begun")
        service.inject(0)
        service.until_said("llm was being stopped by somebody else: not held")
        drain.result()
    service.until_said("is over: recovered")
    service.until_over()
    assert not containers.is_running("llm")
    assert containers.is_running("mate")
    assert service.cmgr("status", "--check").code == 0


def test_a_drain_of_which_docker_does_not_tell_how_long_it_may_take_stays_one(
    on_docker: Install, containers: Containers
) -> None:
    """By the events its order is over after the container's own grace: that it went on, they tell at its end."""
    service = on_docker({})
    containers.run(deaf("llm", "0", grace=0), deaf("clock", "4", grace=1))
    service.start()
    with ThreadPoolExecutor(1) as pool:
        drain = pool.submit(containers.stop_within, "llm", DRAIN)
        eventually(lambda: containers.count("llm", "kill"), why="the drain has begun")
        containers.stop_within("clock", 5)
        service.inject(0)
        service.until_said("llm was being stopped by somebody else: not held")
        drain.result()
    service.until_over()
    assert not containers.is_running("llm")


def test_a_restart_that_a_fault_overtakes_is_still_one(on_docker: Install, containers: Containers) -> None:
    service = on_docker({})
    containers.run(deaf("llm", "0", grace=2))
    service.start()
    with ThreadPoolExecutor(1) as pool:
        restart = pool.submit(containers.restart_within, "llm", 30)
        eventually(lambda: containers.count("llm", "kill"), why="the restart has begun")
        service.inject(0)
        restart.result()
    service.until_said("is over: recovered")
    service.until_over()
    eventually(lambda: containers.is_running("llm"))
    assert service.cmgr("status", "--check").code == 0
