"""The traps of containerd: each is set here, and none is stepped into.

Those of the restart monitor are in `test_restarts`, those of a daemon that goes in `test_away`.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cmgr.errors import ContainerError, ContainerGone
from cmgr.model.values.messages.facts import RuntimeUp
from cmgr.model.values.services.containers import NO_RESTART, ContainerKey
from cmgr.runtimes.containerd import messages as calls
from cmgr.runtimes.containerd.wire import Limits, TimedOut, Wire
from cmgr.runtimes.following import Broken
from tests.runtimes.containerd.test_logs import fifos, logger
from tests.runtimes.containerd.world import ContainerdWorld
from tests.runtimes.contract import only
from tests.runtimes.told import Told
from tests.support.daemons.containerd import Containerd
from tests.support.daemons.dockerd import OBEYS
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.containerd

LONG = timedelta(seconds=30)
ENDS_LATE = """#!/bin/sh
# A logger that takes its time to end.
trap 'sleep 2; exit' TERM
exec 5>&-
while :; do sleep 100 & wait $!; done
"""
NEVER_READY = """#!/bin/sh
echo $$ >>"$2/pids"
exec sleep 1000
"""


@pytest.fixture
def world(containerd: Containerd) -> Iterator[ContainerdWorld]:
    world = ContainerdWorld(containerd, Limits(create=3.0, leftover=1.0))
    yield world
    world.close()


@pytest.fixture
def raw(containerd: Containerd) -> Iterator[Wire]:
    """A client that does what it should not."""
    wire = Wire(containerd.socket)
    yield wire
    wire.close()


def runs(world: ContainerdWorld, key: ContainerKey) -> bool:
    return world.task(key)[1] == "RUNNING"


def test_1_a_delete_goes_on_when_the_start_gives_up(world: ContainerdWorld, key: ContainerKey, tmp_path: Path) -> None:
    hasty = ContainerdWorld(world.containerd, Limits(delete_wait=0.2))
    hasty.run(key, *OBEYS, options=("--log-uri", logger(tmp_path, ENDS_LATE)))
    hasty.runtime.stop(key, timedelta())
    assert world.task(key)[1] == "STOPPED", "the stop does not wait for it"
    logger(tmp_path)
    with pytest.raises(ContainerError, match="its last task is still being deleted"):
        hasty.runtime.start(key, NO_RESTART)

    def started() -> bool:
        with suppress(ContainerError):
            return bool(hasty.runtime.start(key, NO_RESTART))
        return False

    eventually(started)
    assert runs(world, key)
    hasty.runtime.close()


def test_1_one_that_a_short_delete_has_wedged_is_started_all_the_same(
    world: ContainerdWorld, key: ContainerKey, raw: Wire, tmp_path: Path
) -> None:
    world.run(key, *OBEYS, options=("--log-uri", logger(tmp_path, ENDS_LATE)))
    world.runtime.stop(key, timedelta())
    # Whose timer is first says how it fails.
    with pytest.raises((TimedOut, Broken)):
        raw.call(calls.DELETE, "spoil", key.namespace, 0.5, container_id=key.id)
    logger(tmp_path)
    world.runtime.start(key, NO_RESTART)
    assert runs(world, key)


def test_2_fifos_that_nobody_reads_do_not_hang_a_start(world: ContainerdWorld, key: ContainerKey) -> None:
    world.run(key, *OBEYS, options=("--fifo-dir", str(world.containerd.folder / "fifo")))
    world.runtime.stop(key, LONG)
    assert all(fifos(world))
    world.runtime.start(key, NO_RESTART)
    assert runs(world, key)


def test_2_one_that_blocks_on_its_output_is_killed_and_starts(world: ContainerdWorld, key: ContainerKey) -> None:
    flood = (
        "sh",
        "-c",
        "trap 'echo bye; exit 0' TERM; while :; do echo 0123456789012345678901234567890123456789; done",
    )
    world.run(key, *flood, options=("--fifo-dir", str(world.containerd.folder / "fifo")))
    pid = world.task(key)[0]
    eventually(lambda: "pipe" in Path(f"/proc/{pid}/wchan").read_text(), why="it is blocked")
    world.runtime.stop(key, timedelta(seconds=0.2))
    world.runtime.start(key, NO_RESTART)
    assert runs(world, key)


def test_3_a_logger_that_is_never_ready_leaves_nothing_that_makes_the_next_start_hang(
    world: ContainerdWorld, key: ContainerKey, tmp_path: Path
) -> None:
    world.run(key, *OBEYS, options=("--log-uri", logger(tmp_path)))
    world.runtime.stop(key, LONG)
    logger(tmp_path, NEVER_READY)
    with pytest.raises(ContainerError):
        world.runtime.start(key, NO_RESTART)
    for pid in (tmp_path / "data/pids").read_text().split():
        eventually(lambda pid=pid: not alive(int(pid)), why="the logger has ended")  # type: ignore[misc]
    logger(tmp_path)

    def started() -> bool:
        with suppress(ContainerError):
            return bool(world.runtime.start(key, NO_RESTART))
        return False

    eventually(started)
    assert runs(world, key)


def alive(pid: int) -> bool:
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def test_4_a_folder_that_an_earlier_task_left_is_cleared_away(world: ContainerdWorld, key: ContainerKey) -> None:
    world.run(key, *OBEYS)
    world.runtime.stop(key, LONG)
    world.containerd.ctr("tasks", "delete", "web")
    bundle = world.containerd.state / "io.containerd.runtime.v2.task" / key.namespace / key.id
    (bundle / "rootfs").mkdir(parents=True)
    (bundle / "config.json").write_text("{}")
    world.runtime.start(key, NO_RESTART)
    assert runs(world, key)


def test_4_a_folder_with_anything_in_its_root_is_left_as_it_is(world: ContainerdWorld, key: ContainerKey) -> None:
    world.run(key, *OBEYS)
    world.runtime.stop(key, LONG)
    world.containerd.ctr("tasks", "delete", "web")
    bundle = world.containerd.state / "io.containerd.runtime.v2.task" / key.namespace / key.id
    (bundle / "rootfs" / "data").mkdir(parents=True)
    (bundle / "config.json").write_text("{}")
    with pytest.raises(ContainerError, match="an earlier task has left its directory") as caught:
        world.runtime.start(key, NO_RESTART)
    assert str(bundle) in caught.value.hint
    assert (bundle / "config.json").exists()
    (bundle / "rootfs" / "data").rmdir()
    world.runtime.start(key, NO_RESTART)
    assert runs(world, key)


def test_4_one_whose_snapshot_is_gone_gets_no_task_at_all(world: ContainerdWorld, key: ContainerKey) -> None:
    world.run(key, *OBEYS)
    world.runtime.stop(key, LONG)
    world.containerd.ctr("tasks", "delete", "web")
    world.containerd.ctr("snapshots", "--snapshotter", "native", "rm", "web")
    with pytest.raises(ContainerError, match="cannot start container web") as caught:
        world.runtime.start(key, NO_RESTART)
    assert not isinstance(caught.value, ContainerGone)
    assert "recreate the container" in caught.value.hint
    bundle = world.containerd.state / "io.containerd.runtime.v2.task" / key.namespace / key.id
    assert not bundle.exists()


def test_5_the_first_of_two_ends_counts(world: ContainerdWorld, key: ContainerKey, raw: Wire) -> None:
    told = Told()
    world.runtime.watch(told.tell)
    told.first(RuntimeUp)
    world.run(key, "sh", "-c", "trap 'exit 7' TERM; echo ready; while :; do sleep 1 & wait $!; done")
    world.ready(key, 0)
    told.running(key)
    pid = world.task(key)[0]
    world.kill(key)
    assert told.down(key).exit is not None
    now = {"seconds": int(datetime.now(UTC).timestamp())}
    ids = {"container_id": "web", "id": "web", "pid": pid}
    event = calls.MESSAGES["TaskExit"](**ids, exit_status=137, exited_at=now).SerializeToString()
    before = len(told.seen(key))
    payload = {"type_url": "containerd.events.TaskExit", "value": event}
    raw.call(calls.PUBLISH, "spoil", key.namespace, 5, topic="/tasks/exit", event=payload)
    eventually(lambda: len(told.seen(key)) > before)
    assert {c.exit.code for c in told.seen(key) if c.exit} == {7}


def test_5_the_end_of_a_process_beside_the_first_is_no_end(world: ContainerdWorld, key: ContainerKey) -> None:
    told = Told()
    world.runtime.watch(told.tell)
    told.first(RuntimeUp)
    world.run(key, *OBEYS)
    told.running(key)
    world.containerd.ctr("tasks", "exec", "--exec-id", "x1", "web", "true")
    world.label(key, "some", "label")
    eventually(lambda: len(told.seen(key)) > 2)
    assert all(container.running for container in told.seen(key) if container.run)


def test_6_one_whose_client_removes_it_at_its_end_is_gone(world: ContainerdWorld, key: ContainerKey) -> None:
    world.run_in_foreground(key, OBEYS, "0", {})
    world.ready(key, 0)
    run = only(world).run
    assert world.runtime.stop(key, LONG).run == run
    eventually(lambda: not world.runtime.list())
    with pytest.raises(ContainerGone):
        world.runtime.start(key, NO_RESTART)


def test_6_one_made_in_the_foreground_without_rm_starts_again(world: ContainerdWorld, key: ContainerKey) -> None:
    world.run_in_foreground(key, OBEYS, "0", {}, rm=False)
    world.ready(key, 0)
    world.runtime.stop(key, LONG)
    eventually(lambda: world.task(key)[1] == "", why="its client has deleted the task")
    world.runtime.start(key, NO_RESTART)
    assert runs(world, key)


def test_7_one_that_shares_a_namespace_of_one_that_has_gone_is_not_started(
    world: ContainerdWorld, key: ContainerKey
) -> None:
    mate = ContainerKey("containerd", world.namespace, "mate")
    world.run(mate, *OBEYS)
    path = f"network:/proc/{world.task(mate)[0]}/ns/net"
    world.run(key, *OBEYS, options=("--with-ns", path, "--log-uri", f"file://{world.log(key)}"))
    world.runtime.stop(key, LONG)
    world.runtime.start(key, NO_RESTART)
    assert runs(world, key)
    for each in (key, mate):
        world.runtime.stop(each, LONG)
    world.runtime.start(mate, NO_RESTART)
    with pytest.raises(ContainerError, match="shares a namespace of another container") as caught:
        world.runtime.start(key, NO_RESTART)
    assert f"nerdctl --namespace {key.namespace} start web" in caught.value.hint
    assert not runs(world, key)


def test_7_one_of_which_its_client_says_whose_namespace_it_joins_joins_the_next_life_of_that(
    world: ContainerdWorld, key: ContainerKey
) -> None:
    mate = ContainerKey("containerd", world.namespace, "mate")
    world.run(mate, *OBEYS)
    options = ("--with-ns", f"network:/proc/{world.task(mate)[0]}/ns/net", "--log-uri", f"file://{world.log(key)}")
    world.run(key, *OBEYS, chips="", options=options, labels={"nerdctl/networks": '["container:mate"]'})
    assert {c.key.id: set(c.joins) for c in world.runtime.list()} == {"mate": set(), "web": {"mate"}}
    for each in (key, mate):
        world.runtime.stop(each, LONG)
    with pytest.raises(ContainerError, match="mate, in whose namespaces it runs, does not run"):
        world.runtime.start(key, NO_RESTART)
    world.runtime.start(mate, NO_RESTART)
    world.runtime.start(key, NO_RESTART)
    networks = {os.readlink(f"/proc/{world.task(each)[0]}/ns/net") for each in (key, mate)}
    assert len(networks) == 1


def test_7_who_is_left_in_the_namespace_of_a_life_that_is_over_or_of_one_that_is_gone_is_told(
    world: ContainerdWorld, key: ContainerKey
) -> None:
    mate = ContainerKey("containerd", world.namespace, "mate")
    world.run(mate, *OBEYS)
    options = ("--with-ns", f"network:/proc/{world.task(mate)[0]}/ns/net", "--log-uri", f"file://{world.log(key)}")
    world.run(key, *OBEYS, options=options, labels={"nerdctl/networks": '["container:mate"]'})

    def cut_off() -> tuple[str, bool]:
        (found,) = [c for c in world.runtime.list() if c.key == key]
        return found.cut_off, found.orphaned

    assert cut_off() == ("", False)
    world.runtime.stop(mate, LONG)
    assert cut_off() == ("", False), "whoever has stopped it knows"
    world.runtime.start(mate, NO_RESTART)
    assert cut_off() == ("mate", False)
    world.runtime.stop(mate, LONG)
    world.containerd.ctr("tasks", "delete", "mate")
    world.containerd.ctr("containers", "delete", "mate")
    assert cut_off() == ("mate", True)


def test_9_a_shim_that_is_killed_ends_its_container_which_starts_again(
    world: ContainerdWorld, key: ContainerKey
) -> None:
    told = Told()
    world.runtime.watch(told.tell)
    told.first(RuntimeUp)
    world.run(key, *OBEYS)
    told.running(key)
    status = Path(f"/proc/{world.task(key)[0]}/stat").read_text()
    os.kill(int(status.rpartition(")")[2].split()[1]), signal.SIGKILL)
    exit_ = told.down(key).exit
    assert exit_ is not None
    assert (exit_.code, exit_.asked) == (137, None)
    world.runtime.start(key, NO_RESTART)
    assert runs(world, key)


def test_10_a_task_that_lives_has_not_ended_in_the_year_1(world: ContainerdWorld, key: ContainerKey) -> None:
    world.run(key, *OBEYS)
    assert only(world).exit is None


def test_11_other_programs_can_be_run_beside_the_connection(world: ContainerdWorld, key: ContainerKey) -> None:
    world.run(key, *OBEYS)
    threads = [threading.Thread(target=lambda: [world.task(key), world.runtime.list()]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert only(world).running
