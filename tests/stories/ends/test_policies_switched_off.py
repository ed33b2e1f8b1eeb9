"""A person switches the restart policy of a container off while cmgr holds it down.

Tried in 2026 on cmgr as it was: `docker update --restart=no` was overwritten with `always` at its start; only
other policies were noticed, for cmgr had switched this one off itself.
"""

import pytest

from tests.support.service import LATER
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker

WAITS = {"levels.RestartRequest.reset_after": "1h"}


def test_what_a_person_switches_off_stays_off(on_docker: Install, containers: Containers) -> None:
    service = on_docker(WAITS)
    containers.run(Spec("llm", "0", policy="always"), Spec("mate", "1", policy="unless-stopped"))
    service.start()
    service.inject(0, LATER)
    service.until_phase("waiting")
    eventually(
        lambda: {containers.policy(name) for name in containers.names} == {"no"}, why="cmgr has switched them off"
    )
    containers.arm("llm", "no")
    service.until_said("somebody has switched the restart policy of llm off: it stays off")
    service.inject(0, LATER, assertion="cleared")
    service.until_over()
    assert containers.all_running()
    assert [containers.policy(name) for name in containers.names] == ["no", "unless-stopped"]


def test_one_that_changes_something_else_meanwhile_has_its_policy_back(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker(WAITS)
    containers.run(Spec("llm", "0", policy="always"))
    service.start()
    service.inject(0, LATER)
    service.until_phase("waiting")
    eventually(lambda: containers.policy("llm") == "no")
    containers.limit("llm", shares=512)
    service.inject(0, LATER, assertion="cleared")
    service.until_over()
    assert containers.is_running("llm")
    eventually(lambda: containers.policy("llm") == "always")
