"""A sidecar with `--network container:llm`: when llm begins another life, it sits in the network of the one before.

moby 36334, 22784; compose 6626; gluetun 641. Tried in 2026 on cmgr as it was: llm was recovered, its proxy on no chip
ran on without a network, and all was well.
"""

import os
from pathlib import Path

import pytest

from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker


def network(containers: Containers, name: str) -> str:
    """Return which network the container's process is in."""
    return os.readlink(Path(f"/proc/{containers.pid(name)}/ns/net"))


def test_whoever_is_in_the_network_of_one_that_is_recovered_is_in_it_again(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker({"retry.settle": "0s"})
    containers.run(Spec("llm", "0"))
    containers.run(Spec("proxy", "", network="container:llm"), Spec("other", ""))
    service.start()
    eventually(lambda: service.container("llm"))
    assert network(containers, "llm") == network(containers, "proxy")
    service.inject(0)
    service.until_said("is over: recovered")
    service.until_over()
    eventually(lambda: service.cmgr("status", "--check").code == 0, why="all is well")
    assert network(containers, "llm") == network(containers, "proxy")
    assert [containers.was_restarted(name) for name in ("llm", "proxy", "other")] == [True, True, False]
