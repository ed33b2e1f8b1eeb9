"""The monitor of a container of podman's is killed: the container runs on, and its next stop is its last.

podman 12699, 439 and 7393; resource-agents 1572. Tried in 2026 on cmgr as it was, with podman 4.3.1: the stop
worked, podman said `stopping` for ever, and no start, stop or clean-up ended that. It was told as failed, with podman's
words and nothing to type; and nobody had been warned.
"""

import os
import signal

import pytest

from tests.stories.pods.conftest import OnPodman, Pods
from tests.support.waiting import eventually

pytestmark = pytest.mark.docker


def test_who_runs_without_a_monitor_is_told_before_the_fault_and_after_it_and_can_be_made_anew(
    on_podman: OnPodman, pods: Pods
) -> None:
    service = on_podman(**{"retry.settle": "0s", "retry.starts": 2})
    pods.run("llm", "0", "--network=none")
    pods.run("mate", "1", "--network=none")
    service.start()
    eventually(lambda: service.runs("llm") and service.runs("mate"))
    os.kill(int(pods("inspect", "--format", "{{.State.ConmonPid}}", "llm")), signal.SIGKILL)
    told = " ".join(service.cmgr("check").out.split())
    assert "llm runs without its monitor (conmon): its next stop will be its last" in told
    assert "podman rm -f llm" in told
    assert "mate runs without" not in told
    service.inject(0)
    service.until_said("is over: failed")
    assert service.runs("mate")
    assert service.cmgr("status", "--check").code == 4
    assert "cannot start llm" in service.said()
    pods("rm", "--force", "llm")
    pods.run("llm", "0", "--network=none")
    eventually(lambda: service.runs("llm") and service.cmgr("status", "--check").code == 0, why="all is well")
