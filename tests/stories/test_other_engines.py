"""The engine that answers is not the one that has the containers: its data root is on a disk that is not mounted yet.

docker/for-linux 1062, moby 21718, docker/for-win 14461. Tried in 2026 on cmgr as it was, with a dockerd that came up on
an empty data root: `all is well: 0 containers running`; what was held was `lost: somebody removed it`, and never
started again; with live-restore a chip was reset under a container that ran.
"""

from pathlib import Path

import pytest

from tests.support.service import LATER, Service
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker


def told(service: Service) -> str:
    return " ".join(service.cmgr("status").out.split())


def test_an_engine_without_the_containers_is_not_believed_until_it_has_them_again(
    on_docker: Install, containers: Containers
) -> None:
    dockerd = containers.dockerd
    dockerd.restart(lives_on=True)
    service = on_docker({"retry.settle": "0s"})
    containers.run(Spec("llm", "0", policy="always"), Spec("other", "4", policy="always"))
    process = containers.pid("other")
    service.start()
    eventually(lambda: service.runs("llm") and service.runs("other"))
    service.inject(0, LATER)
    eventually(lambda: not containers.is_running("llm"), why="it is held")
    dockerd.stop()
    dockerd.data = "unmounted"
    dockerd.start()
    why = f"docker lists none of the 2 containers that ran; its data root is {dockerd.folder}/unmounted"
    eventually(lambda: why in told(service), why="it is not believed")
    assert "cmgr forget --runtime docker" in told(service)
    assert service.cmgr("status", "--check").code == 4
    service.inject(4)
    service.until_reason("cannot ask docker", ring=4)
    assert [reset for reset in service.resets() if 4 in reset.chips] == []
    assert Path(f"/proc/{process}").exists()
    dockerd.stop()
    dockerd.data = "data-root"
    dockerd.start()
    service.until_said("is over: recovered", 2)
    service.until_over()
    assert containers.all_running()
    assert [containers.policy(name) for name in ("llm", "other")] == ["always", "always"]
    assert not Path(f"/proc/{process}").exists()
    eventually(lambda: service.cmgr("status", "--check").code == 0)


def test_an_engine_that_has_nobody_is_no_sign_that_all_is_well(on_docker: Install, containers: Containers) -> None:
    dockerd = containers.dockerd
    service = on_docker({})
    containers.run(Spec("llm", "0", policy="always"), Spec("other", "4", policy="always"))
    service.start()
    eventually(lambda: service.runs("llm") and service.runs("other"))
    dockerd.stop()
    dockerd.data = "unmounted"
    dockerd.start()
    eventually(lambda: "docker lists none of the 2 containers that ran" in told(service))
    assert service.cmgr("status", "--check").code == 4
    dockerd.stop()
    dockerd.data = "data-root"
    dockerd.start()
    eventually(lambda: service.cmgr("status", "--check").code == 0)
    assert containers.all_running()
    assert (service.runs("llm"), service.runs("other")) == (True, True)
