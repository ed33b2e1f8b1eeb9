"""A backup pauses a container for a moment, and in that moment its chip faults.

distribution 1872, moby 10932, 6267. Tried in 2026 on cmgr as it was: the backup (pause, copy, unpause), or `docker
commit`, ends its pause while cmgr holds the container down, which Docker refuses. Then cmgr started it and paused it,
for good: `llm running … somebody has paused it`, `recovered`, and all was well.
"""

import pytest
from docker.errors import APIError

from tests.support.service import LATER
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker


def test_the_pause_of_a_backup_does_not_outlive_it(on_docker: Install, containers: Containers) -> None:
    service = on_docker({})
    containers.run(Spec("llm", "0"))
    service.start()
    containers.pause("llm")
    eventually(lambda: "somebody has paused it" in " ".join(service.cmgr("status").out.split()), why="cmgr knows it")
    service.inject(0, LATER)
    service.until_said("its pause, which had only begun, is not made again")
    eventually(lambda: not containers.is_running("llm"))
    with pytest.raises(APIError):
        containers.unpause("llm")
    service.until_said("is over: recovered")
    service.until_over()
    assert (containers.is_running("llm"), containers.is_paused("llm")) == (True, False)
    eventually(lambda: service.cmgr("status", "--check").code == 0)


def test_a_pause_that_comes_while_it_is_being_stopped_is_not_made_again(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker({})
    busy = ("sh", "-c", "trap 'sleep 3; exit 0' TERM; echo ready; while :; do sleep 1 & wait $!; done")
    containers.run(Spec("llm", "0", busy, labels={"cmgr.stop-timeout": "20"}))
    service.start()
    service.inject(0)
    eventually(lambda: containers.count("llm", "kill"), why="it is being stopped")
    containers.pause("llm")
    containers.unpause("llm")
    service.until_said("is over: recovered")
    service.until_over()
    assert (containers.is_running("llm"), containers.is_paused("llm")) == (True, False)
