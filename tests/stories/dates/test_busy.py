"""A training run that writes a checkpoint when a chip asks for a reset that could have waited.

balena's supervisor has a lock file against that: one that the container makes, and that whoever updates it looks for.
"""

from collections.abc import Mapping

import pytest

from tests.support.service import NOW, Setting
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec

pytestmark = pytest.mark.docker

SETTINGS: Mapping[str, Setting] = {"levels.RestartNPU.busy": True, "retry.settle": "0s"}


def training(file: str) -> Spec:
    """Return a run that saves from its beginning on until its disk has it all, and says so if that is cut off."""
    told = f"trap 'test -e {file} && echo cut off; exit 0' TERM; mkdir -p /run; echo > {file}; echo begins to save"
    saves = f"until test -e /dev/shm/sick; do sleep 0.1; done; rm -f {file}; echo has saved"
    goes_on = "while :; do sleep 1 & wait $!; done"
    return Spec("train", "0", ("sh", "-c", f"{told}; {saves}; {goes_on}"), labels={"cmgr.busy": file})


def said(containers: Containers) -> str:
    with containers.dockerd.client() as client:
        return bytes(client.logs("train")).decode()


@pytest.mark.parametrize("file", ["/run/saving", "/dev/shm/saving"])  # noqa: S108 - in the container
def test_it_is_not_stopped_before_it_has_saved_also_in_another_life_of_cmgr(
    file: str, on_docker: Install, containers: Containers
) -> None:
    service = on_docker(SETTINGS)
    containers.run(training(file))
    service.start()
    eventually(lambda: service.runs("train"))
    service.inject(0, NOW)
    words = f"waits for train, which is busy ({file} is there), for 30 min at most (limits.busy)"
    eventually(lambda: words in service.ring()["reason"], why="it is asked")
    assert f"is busy, and a reset waits: {file} is there" in (service.container("train") or {})["reason"]
    service.kill9()
    service.start()
    eventually(lambda: words in service.ring()["reason"], why="the next life asks again")
    assert (containers.count("train", "die"), service.resets()) == (0, ())
    containers.sicken("train")  # Its disk has it all.
    eventually(lambda: containers.was_restarted("train"))
    service.until_over()
    assert "cut off" not in said(containers)
    assert "has saved" in said(containers)
    (row,) = service.episodes()
    assert (row.outcome, len(service.resets())) == ("recovered", 1)
    told = [note.text for note in service.notes()]
    assert f"train is not busy any more: {file} is not there" in told


def test_it_is_waited_for_no_longer_than_it_may_take(on_docker: Install, containers: Containers) -> None:
    service = on_docker({**SETTINGS, "limits.busy": "3s"})
    containers.run(training("/run/saving"))
    service.start()
    eventually(lambda: service.runs("train"))
    service.inject(0, NOW)
    eventually(lambda: containers.was_restarted("train"))
    service.until_over()
    assert "cut off" in said(containers)
    told = [note.text for note in service.notes()]
    assert any("train is busy still after 3 s (limits.busy) and is waited for no longer" in text for text in told)
