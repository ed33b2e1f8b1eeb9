"""The server of a container's volume is away when the container is to be started: `docker start` hangs.

moby 41427 and 22802, containerd 1722, rancher 6419 (NFS; here FUSE, whose server does not answer). It was right when it
was tried in 2026: another ring waited for nothing, no try was spent, and the start worked once the server was back.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stories.starts.away import CannotMount, Share
from tests.support.service import LATER
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker

WELL, WRONG = 0, 4


@pytest.fixture
def share(folder: Path) -> Iterator[Share]:
    try:
        made = Share(folder / "share")
    except CannotMount as exc:
        pytest.skip(f"no file system of our own can be mounted here: {exc}")
    yield made
    made.close()


def test_a_start_that_hangs_keeps_nobody_else_waiting_and_works_when_the_server_is_back(
    share: Share, on_docker: Install, containers: Containers
) -> None:
    # The tenth of what Docker is given usually: a start has 4 s.
    service = on_docker({"retry.settle": "0s", "docker.timeout": "2800ms", "levels.RestartRequest.reset_after": "1h"})
    containers.run(Spec("llm", "0", binds=(f"{share.path}:/data",)), Spec("other", "4"))
    service.start()
    eventually(lambda: service.runs("llm") and service.runs("other"))
    service.inject(0, LATER)
    eventually(lambda: (service.container("llm") or {}).get("status") == "paused")
    share.goes_away()
    service.inject(0, LATER, assertion="cleared")
    eventually(share.is_asked, why="Docker starts it")
    service.inject(4)
    service.until_said("is over: recovered")
    assert containers.was_restarted("other")
    service.until_said("cannot start llm")
    assert service.cmgr("status", "--check").code == WRONG
    share.comes_back()
    eventually(lambda: service.runs("llm"))
    service.until_over()
    assert containers.all_running()
    assert containers.count("llm", "start") == 1
    assert not [row for row in service.episodes() if row.outcome == "failed"]
    eventually(lambda: service.cmgr("status", "--check").code == WELL)
