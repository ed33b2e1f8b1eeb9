"""A health that nobody renews: dockerd was restarted with live-restore, and runs no check any more.

moby 41871, mended in 23.0. Tried in 2026 on cmgr as it was, with Docker 20.10: the server hung, Docker said `healthy`
with a last look that grew older and older, and `cmgr status` said that all was well; nothing was ever healed.
"""

import json
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from cmgr.cli.check.checks import CHECKS_ON
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker

WELL, WRONG = 0, 4


def grow_older(containers: Containers, name: str) -> str:
    """Put the container's start and its checks an hour back, in the books of a dockerd that is down."""
    (book,) = containers.dockerd.folder.glob(f"{containers.dockerd.data}/containers/{name}/config.v2.json")
    told = json.loads(book.read_text())
    then = (datetime.now(UTC) - timedelta(hours=1)).isoformat().replace("+00:00", "Z")
    told["State"]["StartedAt"] = then
    for row in told["State"]["Health"]["Log"]:
        row["Start"] = row["End"] = then
    book.write_text(json.dumps(told))
    return then[:16]


def test_a_check_that_docker_runs_no_more_is_told_until_it_runs_again(
    on_docker: Install, containers: Containers
) -> None:
    dockerd = containers.dockerd
    dockerd.restart(lives_on=True)
    containers.run(Spec("web", "0", check="true", labels={"cmgr.heal": "true"}))
    eventually(lambda: containers.health("web") == "healthy")
    id_ = containers.id("web")
    dockerd.stop()
    then = grow_older(containers, id_)
    dockerd.start()
    with closing(dockerd.client()) as client:
        forgets = int(client.version()["Version"].partition(".")[0]) < CHECKS_ON
    service = on_docker({})
    service.start()
    eventually(lambda: service.runs("web"))
    if forgets:
        assert containers.health("web") == "healthy", "so says Docker"
        told = service.cmgr("status", "--check")
        assert told.code == WRONG
        assert f"its check has not run since {then}" in " ".join(told.out.split())
        assert "docker pause web, docker unpause web" in " ".join(service.cmgr("status").out.split())
        containers.pause("web")
        containers.unpause("web")
    eventually(lambda: service.cmgr("status", "--check").code == WELL)
    assert containers.count("web", "kill") == 0
