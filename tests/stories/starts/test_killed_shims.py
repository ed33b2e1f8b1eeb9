"""The shim of a container is killed, by hand or where memory runs short, and the container with it.

moby 43491 and 38934, containerd 8285. It was right when it was tried in 2026: told as an exit by itself, healed after
two seconds where that is wished, and started with a later recovery where it is not.
"""

import os
import signal

import pytest

from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker

WELL, WRONG = 0, 4
HEALED = {"cmgr.heal": "true", "cmgr.heal-backoff": "1"}


def test_whose_shim_is_killed_has_died_and_is_healed_or_told_and_started_with_the_next_recovery(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker({"retry.settle": "0s"})
    containers.run(Spec("healed", "0", labels=HEALED), Spec("plain", "4"))
    service.start()
    eventually(lambda: service.runs("healed") and service.runs("plain"))
    for name in ("healed", "plain"):
        os.kill(containers.shim(name), signal.SIGKILL)
    eventually(lambda: containers.was_restarted("healed") and containers.is_running("healed"), why="it is healed")
    eventually(lambda: service.cmgr("status", "--check").code == WRONG and not service.runs("plain"))
    assert "it exited by itself with code 137" in " ".join(service.cmgr("status").out.split())
    service.inject(4)
    service.until_said("is over: recovered")
    service.until_over()
    assert containers.all_running()
    eventually(lambda: service.cmgr("status", "--check").code == WELL)
