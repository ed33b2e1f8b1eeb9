"""Proofs that only a real Docker daemon can give: its own errors, its freezing, its dying, many containers."""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from docker.types import DeviceRequest

from cmgr.config.settings import Config, Containerd, Docker
from cmgr.errors import ContainerError, ContainerGone, RuntimeDown
from cmgr.model.values.messages import facts
from cmgr.model.values.messages.facts import RuntimeUp
from cmgr.model.values.services.containers import NO_RESTART
from cmgr.runtimes import open_runtimes
from cmgr.runtimes.docker.runtime import DockerRuntime
from cmgr.runtimes.docker.wire import Limits
from tests.running import reaper
from tests.runtimes.docker.world import DockerWorld
from tests.runtimes.told import Told
from tests.support.daemons.dockerd import Dockerd
from tests.support.waiting import eventually

pytestmark = pytest.mark.docker

LONG = timedelta(seconds=60)
ONE_CHIP = ["ASCEND_VISIBLE_DEVICES=0"]


@pytest.fixture
def world(dockerd: Dockerd) -> Iterator[DockerWorld]:
    world = DockerWorld(dockerd)
    yield world
    world.close()


@pytest.fixture
def told(world: DockerWorld) -> Told:
    told = Told()
    world.runtime.watch(told.tell)
    told.first(RuntimeUp)
    return told


def test_auto_finds_the_daemon(dockerd: Dockerd) -> None:
    (runtime,) = open_runtimes(Config(docker=Docker(dockerd.socket), containerd=Containerd("/nonexistent/sock")))
    assert runtime.name == "docker"
    assert runtime.list() == ()
    runtime.close()


def test_the_device_files_that_a_running_container_was_given_by_mounts_are_its_chips(world: DockerWorld) -> None:
    # A file system whose root has it, as /dev has those of chips.
    file = Path("/dev/shm/nvidia77")  # noqa: S108
    reaper.note(file)
    file.touch()
    try:
        key = world.made("given", host={"binds": [f"{file}:/dev/nvidia77"]}, environment=ONE_CHIP)
        world.start(key)
        (found,) = world.runtime.list()
        assert found.claims == {"0", "/dev/nvidia77"}
        world.stop(key)
        (found,) = world.runtime.list()
        assert not found.running
        assert found.claims == {"0"}
    finally:
        file.unlink()


def test_a_start_that_docker_refuses_says_why(world: DockerWorld) -> None:
    gpu = DeviceRequest(device_ids=["0"], capabilities=[["gpu"]])
    key = world.made("gpu", host={"device_requests": [gpu]})
    with pytest.raises(ContainerError, match="could not select device driver") as caught:
        world.runtime.start(key, NO_RESTART)
    assert not isinstance(caught.value, ContainerGone | RuntimeDown)


def test_a_container_that_ends_at_once_was_started(world: DockerWorld, told: Told) -> None:
    key = world.made("short", command=("sh", "-c", "exit 3"), host={}, environment=ONE_CHIP)
    run = world.runtime.start(key, NO_RESTART)
    assert run
    ended = told.down(key)
    assert ended.exit is not None
    assert (ended.run, ended.exit.code, ended.exit.by_itself) == (run, 3, True)


def test_a_restarting_container_holds_its_chips_and_can_be_stopped(world: DockerWorld, told: Told) -> None:
    policy = {"restart_policy": {"Name": "always"}}
    key = world.made("loop", command=("sh", "-c", "exit 3"), host=policy, environment=ONE_CHIP)
    world.client.start(key.id)
    eventually(lambda: world.client.inspect_container(key.id)["State"]["Status"] == "restarting")
    assert world.runtime.list()[0].running
    eventually(lambda: stopped(world, key_id=key.id))
    assert not world.runtime.list()[0].running


def stopped(world: DockerWorld, key_id: str) -> bool:
    """Stop as cmgr does, which tries again after an error."""
    (container,) = world.runtime.list()
    assert container.key.id == key_id
    try:
        world.runtime.stop(container.key, LONG)
    except ContainerError:
        return False
    return True


def test_a_rename_and_an_update_are_told(world: DockerWorld, told: Told) -> None:
    key = world.create("old")
    told.running(key)
    world.client.rename(key.id, "new")
    eventually(lambda: told.seen(key)[-1].name == "new")
    world.client.update_container(key.id, restart_policy={"Name": "on-failure", "MaximumRetryCount": 4})
    eventually(lambda: told.seen(key)[-1].restart_policy == "on-failure:4")
    (listed,) = world.runtime.list()
    assert (listed.name, listed.restart_policy) == ("new", "on-failure:4")


@pytest.mark.parametrize("policy", ["always:0", "unless-stopped:0", "on-failure:2"])
def test_each_restart_policy_comes_back_as_it_was(policy: str, world: DockerWorld) -> None:
    name, _, most = policy.partition(":")
    host = {"restart_policy": {"Name": name, "MaximumRetryCount": int(most)}}
    key = world.made("web", host=host, environment=ONE_CHIP)
    (listed,) = world.runtime.list()
    assert listed.restart_policy == policy
    world.runtime.set_restart_policy(key, NO_RESTART)
    world.runtime.start(key, policy)
    assert world.client.inspect_container(key.id)["HostConfig"]["RestartPolicy"]["Name"] == name
    assert world.runtime.list()[0].restart_policy == policy


def test_a_policy_of_one_to_be_removed_at_its_end_can_be_switched_off(world: DockerWorld) -> None:
    key = world.create("web", auto_remove=True)
    world.runtime.set_restart_policy(key, NO_RESTART)
    assert world.runtime.list()[0].restart_policy == NO_RESTART


def test_a_daemon_killed_without_warning_comes_back_as_a_new_one(world: DockerWorld, told: Told) -> None:
    key = world.create("web", policy="always:0")
    run = told.running(key).run
    world.dockerd.kill()
    told.first(facts.RuntimeDown)
    with pytest.raises(RuntimeDown):
        world.runtime.stop(key, LONG)
    world.dockerd.start()
    assert eventually(lambda: told.of(RuntimeUp)[1:])[0].restarted
    assert told.running(key, not_run=run).run == world.runtime.list()[0].run
    assert len(told.of(facts.RuntimeDown)) == 1


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_what_ends_with_its_daemon_was_nobodys_order(world: DockerWorld, told: Told, end: str) -> None:
    key = world.create("web")
    told.running(key)
    getattr(world.dockerd, end)()
    told.first(facts.RuntimeDown)
    world.dockerd.start()
    eventually(lambda: told.of(RuntimeUp)[1:])
    (listed,) = world.runtime.list()
    assert listed.exit is not None
    assert (listed.exit.code, listed.exit.asked, listed.exit.missed) == (0, None, True)
    world.start(key)
    world.stop(key)
    eventually(lambda: (c := told.last(key)) and c.exit and c.exit.asked, why="a stop by hand is one still")


def test_a_frozen_daemon_holds_up_neither_calls_nor_close(dockerd: Dockerd, world: DockerWorld) -> None:
    key = world.create("web")
    runtime = DockerRuntime(dockerd.socket, Limits(look=1, list=1, opens=1, silence=1, after_grace=1))
    told = Told()
    runtime.watch(told.tell)
    told.first(RuntimeUp)
    dockerd.freeze()
    try:
        assert "did not answer" in told.first(facts.RuntimeDown).why
        with pytest.raises(ContainerError, match="did not answer within"):
            runtime.list()
        with pytest.raises(ContainerError, match="did not answer within"):
            runtime.stop(key, timedelta())
    finally:
        dockerd.thaw()
    eventually(lambda: len(told.of(RuntimeUp)) == 2)
    assert not told.of(RuntimeUp)[1].restarted
    runtime.close()


def test_a_death_before_the_watching_began_is_known_from_what_docker_remembers(world: DockerWorld) -> None:
    key = world.create("web")
    world.stop(key)
    told = Told()
    world.runtime.watch(told.tell)
    told.first(RuntimeUp)
    (listed,) = world.runtime.list()
    assert listed.exit is not None
    assert listed.exit.asked


def _told_by_new(world: DockerWorld) -> dict[str, tuple[bool, bool]]:
    # The same one, asked again, would go on saying what it knew before Docker held the lock.
    with closing(DockerRuntime(world.dockerd.socket, Limits(look=1))) as impatient:
        return {c.name: (c.running, bool(c.unread)) for c in impatient.list()}


def test_one_that_hangs_hides_no_other(world: DockerWorld) -> None:
    hangs, _ = world.create("hangs"), world.create("other", chips="1")
    process = world.client.inspect_container(hangs.id)["State"]["Pid"]
    shim = int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(shim, signal.SIGSTOP)
    killing = threading.Thread(target=world.client.kill, args=(hangs.id,))
    try:
        killing.start()  # Docker holds the container's lock until its shim has answered.
        eventually(lambda: _told_by_new(world) == {"hangs": (True, True), "other": (True, False)})
    finally:
        os.kill(shim, signal.SIGCONT)
        killing.join()


def test_what_a_daemon_ended_as_it_came_while_nobody_followed_was_nobodys_order(world: DockerWorld) -> None:
    key, other = world.create("web"), world.create("other")
    world.stop(other)
    world.dockerd.kill()
    world.dockerd.start()
    third = world.create("third")
    world.stop(third)
    told = Told()
    world.runtime.watch(told.tell)
    told.first(RuntimeUp)
    ends = {c.key: c.exit for c in world.runtime.list()}
    assert [(end.asked, end.missed) for k in (key, other) if (end := ends[k])] == [(None, True), (None, True)]
    assert (end := ends[third]) is not None
    assert end.asked, "a person's order to the daemon that is there now"
