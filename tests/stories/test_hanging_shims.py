"""The shim of one container hangs, and Docker with it, but for that container's lock: others are recovered meanwhile.

Seen with chips whose driver keeps a process in the kernel: `docker kill` and `docker inspect` of that container never
return. Tried in 2026 on cmgr as it was: another ring waited 13 s for two lists.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from tests.support.service import NOW
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker


@contextmanager
def hanging(containers: Containers, name: str) -> Iterator[None]:
    """Let the container's shim stand still."""
    shim = containers.shim(name)
    os.kill(shim, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(shim, signal.SIGCONT)


def test_another_ring_is_recovered_while_a_stop_hangs(on_docker: Install, containers: Containers) -> None:
    service = on_docker({"retry.settle": "0s"})
    containers.run(Spec("hangs", "0"), Spec("well", "4"), Spec("also", "5"))
    service.start()
    eventually(lambda: service.container("well"))
    with hanging(containers, "hangs"):
        service.inject(0, NOW)
        service.until_phase("draining", 0)
        service.inject(4, NOW)
        service.until_said("is over: recovered")
        assert service.ring(0)["phase"] == "draining"
        assert all(map(containers.was_restarted, ("well", "also")))
    service.until_said("is over: recovered", 2)
    eventually(containers.all_running)


def test_one_that_cannot_be_read_is_told_as_what_it_counts(on_docker: Install, containers: Containers) -> None:
    service = on_docker({"resync": "1s"})
    containers.run(Spec("hangs", "0"), Spec("well", "4"))
    with closing(containers.dockerd.client()) as client:
        killing = threading.Thread(target=client.kill, args=("hangs",))
        with hanging(containers, "hangs"):
            killing.start()  # Docker holds the lock until the shim has answered.
            service.start()
            counts = "it counts as running on chips that nobody knows, and no reset waits for it"
            eventually(lambda: counts in str(service.status()["warnings"]))
            service.inject(4, NOW)
            service.until_said("is over: recovered")
        killing.join()
    eventually(lambda: not service.status()["warnings"])
