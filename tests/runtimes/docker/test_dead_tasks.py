"""A task that a killed dockerd has left in containerd is no reason for a container to stay down."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from cmgr.model.values.services.containers import NO_RESTART
from cmgr.runtimes.containerd.messages import Call
from cmgr.runtimes.containerd.wire import Wire
from cmgr.runtimes.docker.shims import end_idle_shims
from tests.runtimes.docker.world import DockerWorld
from tests.support.daemons.dockerd import Dockerd
from tests.support.waiting import PATIENCE, eventually

pytestmark = [
    pytest.mark.docker,
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0, reason="only what root runs is a shim"),
]

FORGET = Call("/containerd.services.containers.v1.Containers/Delete", "ById", "Empty")
ID = "0123456789abcdef" * 4


@pytest.fixture
def world(dockerd: Dockerd) -> Iterator[DockerWorld]:
    world = DockerWorld(dockerd)
    yield world
    world.close()


def left_behind(world: DockerWorld, name: str) -> str:
    """Make a container whose record in containerd is gone while its task is there; return its id.

    As dockerd leaves it when it is killed while a container ends: then, too, it gives up the record and not the task.
    """
    key = world.create(name)
    socket = world.dockerd.folder / "exec-root/containerd/containerd.sock"
    init = int(world.client.inspect_container(key.id)["State"]["Pid"])
    world.dockerd.freeze()
    try:
        with closing(Wire(str(socket))) as wire:
            os.kill(init, signal.SIGKILL)
            eventually(lambda: not Path(f"/proc/{init}").exists(), why="its shim has reaped it")
            wire.call(FORGET, "forget it", "moby", PATIENCE, id=key.id)
    finally:
        world.dockerd.thaw()
    eventually(lambda: not world.client.inspect_container(key.id)["State"]["Running"], why="dockerd knows its end")
    return key.id


def test_a_container_whose_dead_task_is_in_the_way_is_started_all_the_same(world: DockerWorld) -> None:
    id_ = left_behind(world, "kept")
    answer = world.client.post(f"{world.client.base_url}/v{world.client.api_version}/containers/{id_}/start")
    assert re.search(r"task [0-9a-f]{64}:? already exists", answer.text), "Docker alone cannot start it"
    key = next(c.key for c in world.runtime.list() if c.name == "kept")
    world.runtime.start(key, NO_RESTART)
    assert world.client.inspect_container(id_)["State"]["Running"]


@contextmanager
def shim(id_: str, script: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process that is called as the shim of a container is, until it is told to go on."""
    words = ["containerd-shim-runc-v2", "-c", script, "-namespace", "moby", "-id", id_]
    started = subprocess.Popen(words, executable="/bin/sh", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert started.stdout is not None
    assert started.stdout.readline() == b"ready\n"
    try:
        yield started
    finally:
        started.communicate(b"go on\n", PATIENCE)


def test_only_the_idle_shims_of_that_container_are_ended() -> None:
    idle, busy = "echo ready; read -r _", "sleep 600 >&2 & echo ready; read -r _; kill $!"
    with shim(ID, idle) as wanted, shim(ID[::-1], idle) as other, shim(ID, busy) as used:
        assert end_idle_shims(ID)
        assert wanted.wait(PATIENCE) == -signal.SIGKILL
        assert other.poll() is None
        assert used.poll() is None, "what lives under it may hold a chip"
        assert not end_idle_shims(ID)
