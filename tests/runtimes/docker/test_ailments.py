"""Errors of Docker's own at a start, in the words in which daemons have said them."""

import re
from collections.abc import Iterator
from contextlib import closing

import pytest

from cmgr.errors import ContainerError, ContainerGone, RuntimeAils
from cmgr.model.values.services.containers import NO_RESTART, ContainerKey
from cmgr.runtimes.docker.ailments import TEXTS, is_dockers
from cmgr.runtimes.docker.runtime import DockerRuntime
from tests.runtimes.docker.fake_dockerd import FakeDockerd, document, fake_dockerd

OWN = (
    # moby 12195, 38356
    "mkdir /var/lib/docker/overlay2/4f1c-init: no space left on device",
    "failed to create shim task: OCI runtime create failed: open /run/containerd/…/init.pid: no space left on device",
    # moby 44511, 43108
    "failed to initialize logging driver: dial tcp 10.0.0.7:514: connect: no route to host",
    "failed to create task for container: failed to initialize logging driver: dial tcp 10.0.0.7:24224: i/o timeout",
    # nvidia-docker 288, 526
    'error gathering device information while adding custom device "/dev/davinci0": no such file or directory',
    "error while mounting volume '/var/lib/docker/volumes/models/_data': failed to mount local volume: mount "
    ":/models:/var/lib/docker/volumes/models/_data, data: addr=10.0.0.9: connection timed out",
    "error while creating mount source path '/mnt/nas': mkdir /mnt/nas: file exists",
    'invalid mount config for type "bind": bind source path does not exist: /mnt/nas/models',
    'failed to create task for container: error during container init: error mounting "/mnt/nas/models" to rootfs at '
    '"/models": stale NFS file handle',
    "network 0c3cd93080df5b4a0c4308df29659328a317c458853c34c473470e35abf5f31a not found",
    "failed to set up container networking: network llm_default not found",
    "attaching to network failed, make sure your network options are correct and check manager logs: context deadline",
    "driver failed programming external connectivity on endpoint llm (a043): (iptables failed: iptables --wait -t nat "
    "-A DOCKER -p tcp: iptables: No chain/target/match by that name.",
)
CONTAINERS = (
    "No such image: llm:3",
    'failed to create task for container: exec: "serve": executable file not found in $PATH: unknown',
    "driver failed programming external connectivity on endpoint llm (a043): Bind for 0.0.0.0:80 failed: port is "
    "already allocated",
    'could not select device driver "" with capabilities: [[gpu]]',
    "unresolvable CDI devices cmgr.io/slot=chat",
    "container is marked for removal and cannot be started",
    "endpoint llm not found",
)

KEY = ContainerKey("docker", "", "c1")


@pytest.fixture
def daemon() -> Iterator[FakeDockerd]:
    with fake_dockerd() as daemon:
        daemon.containers["c1"] = document("c1", status="exited")
        yield daemon


@pytest.mark.parametrize("status", [404, 500])
@pytest.mark.parametrize("said", [*OWN, *CONTAINERS])
def test_a_start_that_docker_itself_fails_at_is_no_try(daemon: FakeDockerd, said: str, status: int) -> None:
    daemon.on("POST /containers/c1/start", lambda request: request.refuse(status, said))
    with closing(DockerRuntime(daemon.socket)) as runtime, pytest.raises(ContainerError) as caught:
        runtime.start(KEY, NO_RESTART)
    assert said in caught.value.message
    assert isinstance(caught.value, RuntimeAils) is (said in OWN)
    assert not isinstance(caught.value, ContainerGone)


def test_each_text_is_one_that_a_daemon_has_said() -> None:
    said = [[text for text in TEXTS if is_dockers(words) and _says(text, words)] for words in OWN]
    assert {text for texts in said for text in texts} == set(TEXTS)
    assert not any(is_dockers(words) for words in CONTAINERS)


def _says(text: str, words: str) -> bool:
    return bool(re.search(text, words))
