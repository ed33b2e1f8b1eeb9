"""A person gives a container a long time to end, and its chip faults meanwhile: nothing is reset under its process.

podman calls it `stopping` then, and not running (podman 8501, 11274, 19629). Tried in 2026 on cmgr as it was, with
podman 4.3.1: the container counted as down as soon as it was listed, and the reset was ordered.
"""

import os
import signal
from collections.abc import Iterator

import pytest

from tests.stories.pods.conftest import OnPodman, Pods
from tests.support.daemons.dockerd import IGNORES, IMAGE
from tests.support.service import Service
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.docker


@pytest.fixture
def drained(on_podman: OnPodman, pods: Pods) -> Iterator[Service]:
    """Have a person stop `llm` on chip 0, which goes on working. Return a service that knew it before."""
    soon = {"retry.backoff": "100ms", "retry.backoff_max": "500ms", "retry.settle": "0s"}
    service = on_podman(**soon, resync="1s")
    pods(
        "run",
        "--detach",
        "--name=llm",
        "--network=none",
        "--stop-timeout=600",
        "--env=ASCEND_VISIBLE_DEVICES=0",
        IMAGE,
        *IGNORES,
    )
    eventually(lambda: "ready" in pods("logs", "llm"))
    service.start()
    eventually(lambda: service.runs("llm"))
    person = pods.shell("podman stop --time 600 llm")
    eventually(lambda: pods("inspect", "--format", "{{.State.Status}}", "llm") == "stopping")
    for _ in range(2):  # A list may have been under way.
        until_listed(service)
    yield service
    if pods("inspect", "--format", "{{.State.Pid}}", "llm") != "0":
        ends(pods)
    person.kill()
    person.wait(PATIENCE)


def until_listed(service: Service) -> None:
    last = service.status()["runtimes"][0]["listed"]
    eventually(lambda: service.status()["runtimes"][0]["listed"] != last, why="cmgr has looked")


def ends(pods: Pods) -> None:
    os.kill(int(pods("inspect", "--format", "{{.State.Pid}}", "llm")), signal.SIGKILL)


def test_no_reset_comes_before_it_has_ended_and_it_stays_down_afterwards(drained: Service, pods: Pods) -> None:
    drained.inject(0)
    eventually(lambda: "stop llm" in drained.said(), why="it runs, and is stopped")
    assert drained.resets() == ()
    ends(pods)
    drained.until_over()
    assert len(drained.resets()) == 1
    drained.until_said("llm was being stopped by somebody else")
    assert not pods.runs("llm")
    eventually(lambda: drained.cmgr("status", "--check").code == 0, why="all is well: a person has stopped it")


def test_without_a_fault_it_runs_until_it_has_ended_and_is_not_missed_then(drained: Service, pods: Pods) -> None:
    assert drained.runs("llm")
    ends(pods)
    eventually(lambda: drained.container("llm") is None, why="a person has stopped it")
    assert drained.cmgr("status", "--check").code == 0
