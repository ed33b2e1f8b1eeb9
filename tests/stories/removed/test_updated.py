"""An updater replaces a container that is held, and a cleaner takes the image of another: both services run afterwards.

dockhand 1559 (rename, a new one of its name, rm); containerd 9793 and 9443. Tried in 2026 on cmgr as it was: the first
was told as lost, and the episode as failed, though its service ran.
"""

from contextlib import closing

import pytest

from tests.support.daemons.daemon import root_folder
from tests.support.service import LATER
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker


def test_one_that_was_replaced_and_one_without_its_image_run_after_the_episode(
    on_docker: Install, containers: Containers
) -> None:
    service = on_docker({"levels.RestartRequest.reset_after": "1h", "retry.settle": "0s"})
    with closing(containers.dockerd.client()) as client:
        client.import_image_from_data(root_folder(), repository="cmgr-job", tag="1")
        containers.run(Spec("llm", "0"), Spec("job", "0", image="cmgr-job:1"))
        service.start()
        service.inject(0, LATER)
        eventually(lambda: not containers.is_running("llm") and not containers.is_running("job"), why="both are held")
        client.remove_image("cmgr-job:1", force=True)
    containers.rename("llm", "llm-old")
    containers.run(Spec("llm", "0"))
    eventually(lambda: not containers.is_running("llm"), why="the new one is held, too")
    containers.remove("llm-old")
    service.until_said("llm is no longer held: another of its name was made in its place")
    service.inject(0, LATER, "cleared")
    service.until_over()
    assert containers.all_running()
    assert "lost" not in service.said()
    eventually(lambda: service.cmgr("status", "--check").code == 0)
