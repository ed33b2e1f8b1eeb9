"""A recovery that has failed, of a container that is left as it is: nothing is well before something has changed.

Tried in 2026 on cmgr as it was: a container that was unhealthy after each start was left running, the episode's outcome
was `failed`, and four seconds later all was well, because it ran; the alarm was over ten seconds later.
"""

import pytest

from tests.support.service import Setting
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker

WELL, WRONG = 0, 4
SETTINGS: dict[str, Setting] = {"retry.starts": 2, "retry.settle": "1s"}


def test_one_that_was_left_unhealthy_is_told_until_it_is_healthy(on_docker: Install, containers: Containers) -> None:
    service = on_docker(SETTINGS)
    # Its model is damaged since its start: in each life after the first its check fails.
    damaged = "test ! -e /damaged"
    containers.run(Spec("llm", "0", check=damaged), Spec("clock", "4"))
    service.start()
    containers.sicken("llm", "/damaged")
    service.inject(0)
    service.until_said("llm is lost: it was unhealthy after 2 starts; it is left as it is")
    service.until_over()
    containers.stop("clock")
    containers.start("clock")
    eventually(lambda: service.runs("clock"), why="the service has heard more since")
    told = service.cmgr("status", "--check")
    assert told.code == WRONG
    assert "llm is lost" in told.out
    containers.mend("llm", "/damaged")
    eventually(lambda: containers.health("llm") == "healthy")
    eventually(lambda: service.cmgr("status", "--check").code == WELL, why="it is well, and nobody had to say so")


def test_one_that_a_person_stops_then_is_told_no_longer(on_docker: Install, containers: Containers) -> None:
    service = on_docker(SETTINGS)
    containers.run(Spec("llm", "0", check="test ! -e /damaged"))
    service.start()
    containers.sicken("llm", "/damaged")
    service.inject(0)
    service.until_said("it is left as it is")
    service.until_over()
    assert service.cmgr("status", "--check").code == WRONG
    containers.stop("llm")
    eventually(lambda: service.cmgr("status", "--check").code == WELL)
