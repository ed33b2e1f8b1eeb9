"""A container that crashed, and that its owner has replaced: blue and green, a failover script, a new try of a client.

Reported of Docker's own restarts (moby issue 23704). Tried in 2026 on cmgr as it was: a fault of the chip was told a
few seconds after the crash, and cmgr started the dead one beside its replacement, on one chip.
"""

import pytest

from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker


def test_one_that_crashed_is_not_started_beside_its_replacement(on_docker: Install, containers: Containers) -> None:
    service = on_docker({"strategy": "singleRecover"})
    containers.run(Spec("blue", "0"))
    service.start()
    containers.crash("blue")
    containers.run(Spec("green", "0"))
    eventually(lambda: service.runs("green"), why="cmgr knows the replacement")
    service.inject(0)
    service.until_said("is over: recovered")
    service.until_over()
    assert (containers.is_running("blue"), containers.is_running("green")) == (False, True)
    told = " ".join(service.cmgr("status").out.split())
    assert "green has chip 0 now" in told
    assert "docker start blue" not in told
    assert "cmgr forget blue" in told
    assert service.cmgr("forget", "blue").code == 0
    eventually(lambda: service.cmgr("status", "--check").code == 0, why="all is well")


def test_one_that_crashed_of_a_fault_and_was_not_replaced_is_started(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker({"strategy": "singleRecover"})
    containers.run(Spec("blue", "0"), Spec("beside", "0"))
    service.start()
    containers.crash("blue")
    containers.stop("beside")
    containers.start("beside")
    eventually(lambda: service.runs("beside") and not service.runs("blue"), why="cmgr knows how they are")
    service.inject(0)
    service.until_said("is over: recovered")
    service.until_over()
    assert containers.all_running(), "both had run there together"
