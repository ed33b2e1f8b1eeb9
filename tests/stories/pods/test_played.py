"""`podman kube play` of a pod whose restartPolicy is Always: what is on the chip stays down until that is well.

podman 16891, 7103, 8211 and 13464. It was right when it was tried in 2026, but for two words: that the policy could not
be switched off was told as `Not Found`, and the timeline had no `start`.
"""

import json
from pathlib import Path

import pytest

from tests.stories.pods.conftest import BY_DOCKER, OnPodman, Pods
from tests.support.daemons.dockerd import IMAGE, OBEYS
from tests.support.service import LATER
from tests.support.waiting import eventually

pytestmark = pytest.mark.docker


def played(pods: Pods, folder: Path) -> None:
    """Play a pod of two containers, one of which is on chip 0."""
    path = {"name": "PATH", "value": "/bin"}
    box = {"image": f"{BY_DOCKER}/{IMAGE}", "imagePullPolicy": "Never", "command": list(OBEYS), "env": [path]}
    llm = {**box, "name": "llm", "env": [path, {"name": "ASCEND_VISIBLE_DEVICES", "value": "0"}]}
    spec = {"restartPolicy": "Always", "containers": [llm, {**box, "name": "sidecar"}]}
    file = folder / "ai.yaml"
    file.write_text(json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "ai"}, "spec": spec}))
    pods("kube", "play", "--network", "none", str(file))
    eventually(lambda: all("ready" in pods("logs", f"ai-{name}") for name in ("llm", "sidecar")), why="it is ready")


def test_the_one_on_the_chip_is_down_until_that_is_well_and_the_rest_of_its_pod_stays_up(
    on_podman: OnPodman, pods: Pods, folder: Path
) -> None:
    service = on_podman(**{"retry.settle": "0s", "levels.RestartRequest.reset_after": "1h"})
    played(pods, folder)
    before = {name: pods.life(name) for name in ("ai-llm", "ai-sidecar")}
    service.start()
    eventually(lambda: service.runs("ai-llm"))
    service.inject(0, LATER)
    service.until_said("this podman cannot change one")
    eventually(lambda: not pods.runs("ai-llm"), why="it is down")
    assert pods.runs("ai-sidecar")
    service.inject(0, LATER, "cleared")
    service.until_over()
    eventually(lambda: pods.runs("ai-llm"), why="it runs again")
    assert pods.life("ai-llm") != before["ai-llm"]
    assert pods.life("ai-sidecar") == before["ai-sidecar"]
    texts = [note.text for note in service.notes(1)]
    assert texts.index("start ai-llm") < texts.index("ai-llm runs again")
    eventually(lambda: service.cmgr("status", "--check").code == 0)
