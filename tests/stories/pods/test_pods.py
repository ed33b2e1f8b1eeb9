"""A client that ends the rest of a pod once one container of it has ended, which cmgr had stopped.

As `compose up --abort-on-container-exit` does with a project (docker/compose 2940 and 4107). Tried in 2026 on cmgr as
it was: podman tells nobody of an order to stop, the others of the pod counted as ended by a person, and all was well.
"""

from collections.abc import Iterator

import pytest

from tests.stories.pods.conftest import OnPodman, Pods
from tests.support.service import LATER
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.docker

POD = {"llm": "0", "embed": "4", "web": ""}
WELL = 0


@pytest.fixture
def pod(pods: Pods) -> Iterator[None]:
    """Run a pod whose client ends it once `llm` on chip 0 has ended; `embed` is on another ring, `web` on no chip."""
    pods("pod", "create", "--name", "ai", "--network", "none")
    for name, chips in POD.items():
        pods.run(name, chips, "--pod", "ai")
    client = pods.shell("podman wait llm && podman pod stop --time 2 ai")
    yield
    client.kill()
    client.wait(PATIENCE)


@pytest.mark.usefixtures("pod")
def test_whom_a_client_ends_because_of_our_stop_runs_again_and_whom_a_person_ends_does_not(
    on_podman: OnPodman, pods: Pods
) -> None:
    service = on_podman(**{"retry.settle": "0s", "levels.RestartRequest.reset_after": "1h"})
    service.start()
    eventually(lambda: service.runs("llm") and service.runs("embed"), why="those on chips are known")
    service.inject(0, LATER)
    eventually(lambda: not any(map(pods.runs, POD)), why="the client has ended them")
    eventually(lambda: (service.container("web") or {}).get("status") == "paused", why="cmgr holds them")
    service.inject(0, LATER, assertion="cleared")
    service.until_over()
    eventually(lambda: all(map(pods.runs, POD)), why="all run again")
    assert "embed was stopped right after llm, because of that" in service.said()
    eventually(lambda: service.cmgr("status", "--check").code == WELL)
    pods("stop", "embed")
    eventually(lambda: service.container("embed") is None, why="it is the person's")
    assert service.cmgr("status", "--check").code == WELL
