"""A container that runs is given back to its owner, and dies half an hour later.

Tried in 2026 on cmgr as it was: `cmgr forget` of one that had just been started and settled took it out of sight for
that whole life. Its crash was told to nobody.
"""

import pytest

from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker


def test_the_crash_of_one_that_was_forgotten_while_it_ran_is_told(on_docker: Install, containers: Containers) -> None:
    service = on_docker({"retry.settle": "1h"})
    containers.run(Spec("llm", "0"), Spec("healed", "1", labels={"cmgr.heal": "true", "cmgr.heal-backoff": "1"}))
    service.start()
    service.inject(0)
    service.until_said("llm runs again")
    service.until_said("healed runs again")
    for name in containers.names:
        assert service.cmgr("forget", name).code == 0
    service.until_over()
    containers.mark()
    for name in containers.names:
        containers.crash(name)
    eventually(lambda: (row := service.container("llm")) is not None and row["status"] == "down", why="it is told")
    assert service.cmgr("status", "--check").code == 4
    eventually(lambda: containers.is_running("healed"), why="it wishes to be healed")
    service.inject(1)
    service.until_said("llm died by itself")
    eventually(containers.all_running)
