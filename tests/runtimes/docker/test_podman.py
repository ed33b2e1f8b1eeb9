"""The contract of a runtime, kept with podman through its Docker-compatible socket, and where podman differs."""

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from cmgr.errors import ContainerError, ContainerGone
from cmgr.model.values.messages.facts import RuntimeUp
from cmgr.model.values.services.containers import NO_RESTART, ContainerKey
from cmgr.ports import Executing, Halt
from tests.runtimes.contract import LONG, SHORT, RuntimeContract, only
from tests.runtimes.docker.world import DockerWorld
from tests.runtimes.told import Told
from tests.runtimes.world import World
from tests.support.daemons.daemon import root_folder
from tests.support.daemons.dockerd import OBEYS
from tests.support.daemons.podman import Podman
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.docker


class PodmanWorld(DockerWorld):
    """The same world on a private podman: containers run on while its service is away, and no order to end is told."""

    outlives = True
    blames = False
    blames_again = False

    def __init__(self, podman: Podman) -> None:
        super().__init__(podman)
        self.podman = podman

    def state(self, key: ContainerKey) -> str:
        return str(self.client.inspect_container(key.id)["State"]["Status"])

    def stop_and_start(self, key: ContainerKey) -> None:
        """Have it begin another life: podman keeps some of what it knew of the one before."""
        self.client.stop(key.id, timeout=0)
        self.start(key)

    def monitor(self, key: ContainerKey) -> int:
        words = self.podman.command("inspect", "--format", "{{.State.ConmonPid}}", key.id)
        return int(subprocess.run(words, capture_output=True, check=True, timeout=PATIENCE).stdout)


@contextmanager
def being_stopped(world: PodmanWorld, key: ContainerKey) -> Iterator[None]:
    """Have a person stop it who gives it a long time."""
    words = world.podman.command("stop", "--time", "600", key.id)
    with subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as person:
        eventually(lambda: world.state(key) == "stopping")
        yield
        person.kill()


def refused(world: World, key: ContainerKey, policy: str) -> None:
    """Have the policy set, which podman 4 cannot do: cmgr must not take the container for gone."""
    with pytest.raises(ContainerError) as error:
        world.runtime.set_restart_policy(key, policy)
    assert not isinstance(error.value, ContainerGone)


class TestPodman(RuntimeContract):
    @pytest.fixture
    def world(self, podman: Podman) -> Iterator[PodmanWorld]:
        world = PodmanWorld(podman)
        yield world
        world.close()

    def test_a_container_for_which_no_grace_is_set_has_dockers(self, world: World, told: Told) -> None:
        # Podman says 0: it would be killed at once.
        world.create("web")
        assert only(world).grace.total_seconds() == 10

    def test_a_container_that_ignores_the_stop_is_killed_after_its_grace(self, world: World, told: Told) -> None:
        key = world.create("deaf", ignores_term=True)
        assert world.runtime.stop(key, SHORT).before is None
        exit_ = told.down(key).exit
        assert exit_ is not None
        assert (exit_.code, exit_.by_itself) == (137, False)

    def test_a_stop_of_one_that_is_down_says_how_it_had_ended(self, world: World, told: Told) -> None:
        key = world.create("web")
        world.stop(key)
        told.down(key)
        halt = world.runtime.stop(key, LONG)
        assert halt.before is not None
        assert (halt.before.code, halt.before.by_itself) == (0, False)
        assert halt.run == only(world).run

    def test_of_an_images_labels_those_count_that_concern_its_container_alone(self, world: PodmanWorld) -> None:
        changes = ["LABEL cmgr.group=tp4", "LABEL cmgr.heal=true"]
        world.client.import_image_from_data(root_folder(), repository="cmgr-words", tag="latest", changes=changes)
        config = world.client.create_host_config(network_mode="none")
        chips = ["ASCEND_VISIBLE_DEVICES=0"]
        world.client.create_container("cmgr-words:latest", list(OBEYS), host_config=config, environment=chips)
        assert (only(world).group, only(world).heal is not None) == ("", True)
        assert only(world).warnings == (
            "label cmgr.group is not obeyed: the image brought it, and only --label counts",
        )

    def test_a_stop_by_hand_is_told_as_asked_for(self, world: World, told: Told) -> None:
        key = world.create("web")
        world.stop(key)
        exit_ = told.down(key).exit
        assert exit_ is not None
        assert not exit_.by_itself

    def test_one_that_somebody_ends_runs_through_its_grace_and_is_his(self, world: PodmanWorld, told: Told) -> None:
        key = world.create("deaf", ignores_term=True)
        with being_stopped(world, key):
            assert only(world).running, "podman says that it is not"
            assert only(world).exit is None
            world.die(key)
            end = told.down(key).exit
        assert end is not None
        assert (end.code, end.asked) == (137, True)

    def test_a_stop_of_ours_ends_one_that_somebody_else_ends_more_slowly_and_it_stays_his(
        self, world: PodmanWorld, told: Told
    ) -> None:
        key = world.create("deaf", ignores_term=True)
        with being_stopped(world, key):
            assert only(world).running
            halt = world.runtime.stop(key, SHORT)
        assert (halt.before, halt.ordered) == (None, True)
        assert not only(world).running

    def test_in_a_stop_of_ours_it_runs_through_its_grace_and_that_is_nobody_elses(
        self, world: PodmanWorld, told: Told
    ) -> None:
        key = world.create("deaf", ignores_term=True)
        halts = list[Halt]()
        stop = threading.Thread(target=lambda: halts.append(world.runtime.stop(key, LONG)))
        stop.start()
        eventually(lambda: world.state(key) == "stopping")
        assert only(world).running
        world.die(key)
        stop.join(PATIENCE)
        assert [halt.ordered for halt in halts] == [False]
        assert not only(world).running

    def test_the_word_for_its_end_alone_says_nothing_where_its_monitor_was_killed(
        self, world: PodmanWorld, told: Told
    ) -> None:
        key = world.create("deaf", ignores_term=True)
        world.stop_and_start(key)
        with being_stopped(world, key):
            os.kill(world.monitor(key), signal.SIGKILL)
            assert only(world).running
            world.die(key)
            eventually(lambda: not only(world).running, why="its process has ended")
        assert world.state(key) == "stopping", "podman says that for ever"
        assert only(world).exit is None, "nobody knows how it ended"

    def test_a_restart_policy_is_switched_off_and_put_back(self, world: World, told: Told) -> None:
        key = world.create("web", policy=world.always)
        world.runtime.stop(key, LONG)
        refused(world, key, NO_RESTART)
        world.runtime.start(key, world.always)
        assert only(world).restart_policy == world.always
        assert only(world).running

    def test_setting_a_policy_starts_nothing(self, world: World, told: Told) -> None:
        key = world.create("web")
        world.runtime.stop(key, LONG)
        refused(world, key, world.always)
        assert not only(world).running

    def test_a_paused_container_runs_and_can_be_stopped(self, world: World, told: Told) -> None:
        key = world.create("web")
        world.pause(key)
        assert only(world).frozen
        with pytest.raises(ContainerError, match="running or paused"):
            world.runtime.stop(key, LONG)
        assert only(world).running
        world.resume(key)
        world.runtime.stop(key, LONG)
        assert not only(world).running

    def test_a_container_that_was_paused_is_started_and_paused_again(self, world: World, told: Told) -> None:
        key = world.create("web")
        world.runtime.stop(key, LONG)
        world.runtime.start(key, NO_RESTART, frozen=True)
        assert only(world).frozen

    def test_a_command_is_run_inside_of_a_container(self, world: World, told: Told) -> None:
        key = world.create("web")
        assert isinstance(world.runtime, Executing)
        code, output = world.runtime.run_inside(key, ("sh", "-c", "echo one; echo two >&2; exit 3"), 60)
        assert (code, sorted(output.split())) == (3, ["one", "two"])

    def test_a_death_of_one_to_be_removed_is_told_before_its_removal(self, world: World, told: Told) -> None:
        key = world.create("web", auto_remove=True)
        told.running(key)
        world.die(key)
        told.removed(key)

    def test_a_daemon_that_was_restarted_is_told_and_the_world_is_right_afterwards(
        self, world: World, told: Told
    ) -> None:
        key = world.create("web")
        run = told.running(key).run
        world.restart_daemon()
        assert eventually(lambda: told.of(RuntimeUp)[1:])
        assert (only(world).running, only(world).run) == (True, run)
        world.stop(key)
        assert not told.down(key).running
