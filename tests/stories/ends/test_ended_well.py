"""A service that ends with code 0 in the moment of the fault, though nobody asked for that.

Tried in 2026 on cmgr as it was: it stayed down, in silence, for it was taken for one that has done its work.
"""

import pytest

from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker

ENDS_WELL = ("sh", "-c", "trap 'exit 0' USR2; trap 'exit 0' TERM; echo ready; while :; do sleep 1 & wait $!; done")


def test_one_that_says_that_it_is_a_service_is_one(on_docker: Install, containers: Containers) -> None:
    service = on_docker({})
    heals = {"cmgr.heal": "true", "cmgr.heal-backoff": "1"}
    containers.run(Spec("healed", "0", ENDS_WELL, labels=heals), Spec("job", "1", ENDS_WELL), Spec("mate", "2"))
    service.start()
    # From outside, as its own code does: Docker knows of no order.
    for name in ("healed", "job"):
        containers.end_well(name)
    service.until_said("job has ended with code 0, which nobody had asked for")
    eventually(lambda: containers.was_restarted("healed") and containers.is_running("healed"))
    assert not containers.is_running("job")
    eventually(lambda: service.cmgr("status", "--check").code == 0, why="a job that has done its work is no trouble")


def test_one_that_ends_well_as_its_chip_faults_comes_back_with_it(on_docker: Install, containers: Containers) -> None:
    service = on_docker({})
    containers.run(Spec("llm", "0", ENDS_WELL, labels={"cmgr.heal": "true", "cmgr.heal-backoff": "600"}))
    service.start()
    containers.end_well("llm")
    eventually(lambda: not service.runs("llm"))
    service.inject(0)
    service.until_said("llm, which was to be healed, is recovered")
    service.until_over()
    assert containers.is_running("llm")
