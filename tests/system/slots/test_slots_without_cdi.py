"""Docker before 25 and `ctr` know no CDI: what of slots they cannot do is refused, and told with what to do instead."""

import json
from collections.abc import Iterator

import pytest

from cmgr.model.values.services.containers import ContainerKey
from cmgr.service.door.client import order
from tests.support.daemons.containerd import Containerd
from tests.support.service import Service
from tests.support.waiting import eventually
from tests.system.conftest import Install
from tests.system.containers import Containers, Spec
from tests.system.tasks import Tasks


@pytest.fixture
def service(on_docker: Install, containers: Containers) -> Service:
    """Return a service that has slot `chat`, on a Docker that cannot give it, and container `plain` on chip 5."""
    if containers.dockerd.knows_cdi:
        pytest.skip("this dockerd is 25 or later: it knows CDI")
    made = on_docker({"strategy": "singleRecover", "isolation.on_isolate": "stop"})
    made.start()
    assert made.cmgr("slot", "create", "chat", "--chips", "3").code == 0
    containers.run(Spec("plain", "5"))
    eventually(lambda: made.runs("plain"), why="cmgr knows it")
    return made


@pytest.mark.docker
def test_check_says_that_this_docker_cannot_give_slots(service: Service) -> None:
    told = json.loads(service.cmgr("check", "-o", "json").out)
    (cdi,) = [finding for finding in told["findings"] if finding["what"] == "cdi"]
    assert cdi["state"] == "error"
    assert cdi["text"].startswith("Docker ")
    assert cdi["text"].endswith(" knows no CDI: it can give nobody slot chat")
    assert cdi["hint"] == "Docker 28 or later can"


@pytest.mark.docker
def test_no_container_is_started_on_a_slot_and_none_is_adopted(service: Service, containers: Containers) -> None:
    containers.run(Spec("chat", "", slot="chat", running=False))
    with pytest.raises(Exception, match="could not select device driver"):
        containers.start("chat")
    refused = service.cmgr("slot", "adopt", "plain")
    assert refused.code == 1
    assert "cannot put plain on a slot: Docker " in refused.err
    assert "knows no CDI\nhint: Docker 28 or later does\n" in refused.err
    assert service.runs("plain")


@pytest.mark.docker
def test_a_container_that_was_given_its_chips_for_good_waits_and_is_not_moved(service: Service) -> None:
    order(service.socket, "isolate", chip=5, reason="its fan is loud")
    eventually(lambda: (service.container("plain") or {}).get("status") == "paused", why="it is held")
    row = service.container("plain")
    assert row is not None
    assert "chip 5 is isolated: its fan is loud" in row["reason"]
    refused = service.cmgr("slot", "assign", "plain", "0", "--stop")
    assert refused.code == 1
    assert "was given its chips for good by its runtime" in refused.err
    assert service.cmgr("release", "5").code == 0
    eventually(lambda: service.runs("plain"), why="it runs again where it was")


@pytest.fixture
def tasks(containerd: Containerd) -> Iterator[Tasks]:
    made = Tasks(containerd)
    yield made
    made.close()


@pytest.mark.containerd
def test_ctr_takes_the_name_of_a_slot_for_a_device_file_and_refuses(tasks: Tasks) -> None:
    key = ContainerKey("containerd", tasks.containerd.namespaces[0], "chat")
    with pytest.raises(AssertionError, match="no such file or directory"):
        tasks.world.run(key, "true", chips="", options=("--device", "cmgr.io/slot=chat"))
