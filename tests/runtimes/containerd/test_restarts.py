"""containerd's restart monitor does not bring back what cmgr has stopped, and is told again what it was told before."""

import threading
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from cmgr.errors import ContainerError
from cmgr.model.values.services.containers import NO_RESTART, ContainerKey, is_same_life
from cmgr.runtimes.containerd.record import SAVED_STATUS, SAVED_STREAMS, STATUS
from cmgr.runtimes.containerd.runtime import ContainerdRuntime
from cmgr.runtimes.containerd.wire import Limits
from tests.runtimes.containerd.world import ContainerdWorld
from tests.runtimes.contract import only
from tests.runtimes.told import Told
from tests.support.daemons.dockerd import IGNORES, OBEYS
from tests.support.waiting import PATIENCE, eventually

pytestmark = pytest.mark.containerd

LONG = timedelta(seconds=30)
TWO_PASSES = 7.0


def stays_down(world: ContainerdWorld, told: Told, key: ContainerKey, run: str) -> None:
    """Let the monitor look twice. A pass that had read the label before the stop may have begun a life in its midst."""
    known = {run, *(c.run for c in told.seen(key))}
    threading.Event().wait(TWO_PASSES)
    assert [c for c in told.seen(key) if c.running and c.run not in known] == []
    assert world.task(key)[1] == "STOPPED"


def test_what_is_stopped_stays_down_and_is_watched_over_again_after_its_start(
    world: ContainerdWorld, told: Told
) -> None:
    key = world.create("web", policy=world.always)
    run = world.runtime.stop(key, LONG).run
    assert only(world).restart_policy == NO_RESTART
    stays_down(world, told, key, run)
    new = world.runtime.start(key, world.always)
    labels = world.labels(key)
    assert '"containerd.io/restart.status": "running"' in labels
    assert "cmgr.io/restart-status" not in labels
    world.die(key)
    told.running(key, not_run=new)


def test_one_that_died_stays_down_once_its_policy_is_off(world: ContainerdWorld, told: Told) -> None:
    key = world.create("web", policy=world.always)
    run = told.running(key).run
    world.runtime.set_restart_policy(key, NO_RESTART)
    world.die(key)
    told.down(key)
    stays_down(world, told, key, run)


def test_what_was_taken_away_is_found_by_the_next_life_of_cmgr(world: ContainerdWorld) -> None:
    key = world.create("web", policy=world.always)
    world.runtime.stop(key, LONG)
    world.runtime.close()
    world.runtime = ContainerdRuntime(world.containerd.socket)
    assert '"cmgr.io/restart-status": "running"' in world.labels(key)
    world.runtime.start(key, NO_RESTART)
    assert only(world).restart_policy == world.always


def test_a_label_that_is_set_while_the_stop_is_under_way_is_taken_away_too(world: ContainerdWorld, told: Told) -> None:
    key = world.create("deaf", ignores_term=True)
    told.running(key)
    stopping = threading.Thread(target=world.runtime.stop, args=(key, timedelta(seconds=2)))
    stopping.start()
    eventually(lambda: "cmgr.io/saved-io" in world.labels(key), why="the stop is under way")
    world.label(key, "containerd.io/restart.status", "running")
    stopping.join(PATIENCE)
    assert only(world).restart_policy == NO_RESTART
    assert '"cmgr.io/restart-status": "running"' in world.labels(key)


def test_a_stop_is_silent_about_a_policy_when_the_container_was_down(world: ContainerdWorld, told: Told) -> None:
    key = world.create("web", policy=world.always)
    world.label(key, "containerd.io/restart.status", "stopped")
    eventually(lambda: world.task(key)[1] != "RUNNING", why="the monitor has ended it, as its label says now")
    world.runtime.stop(key, LONG)
    assert only(world).restart_policy == "status=stopped&policy=always"


def test_a_stop_that_comes_before_the_news_of_the_end_gives_the_policy_back(
    world: ContainerdWorld, told: Told, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = world.create("web", policy=world.always)
    known = world.runtime._looks.known
    running = eventually(lambda: known.last(key), why="it is known")
    assert running is not None
    world.label(key, STATUS, "stopped")
    eventually(lambda: world.task(key)[1] != "RUNNING", why="the monitor has ended it")
    # Containerd tells of an end when it has happened: a stop may come in between, as it does here.
    labels = {**running.definition.labels, STATUS: "stopped"}
    late = replace(running, definition=replace(running.definition, labels=labels))
    with monkeypatch.context() as patch:
        patch.setattr(known, "last", lambda _: late)
        world.runtime.stop(key, LONG)
    assert only(world).restart_policy == "status=stopped&policy=always"


def test_a_monitor_that_had_read_the_label_just_before_is_stopped_too(world: ContainerdWorld) -> None:
    world.runtime.close()
    world.runtime = ContainerdRuntime(world.containerd.socket, limits=Limits(settle=4.0))
    key = world.create("web", policy=world.always)
    first = world.task(key)[0]
    stopping = threading.Thread(target=world.runtime.stop, args=(key, LONG))
    stopping.start()
    eventually(lambda: world.task(key)[1] == "STOPPED", why="it is stopped")
    # The monitor does this when its pass began before the label went.
    world.start(key)
    assert world.task(key)[0] != first
    stopping.join(PATIENCE)
    assert world.task(key)[1] == "STOPPED"


def begun_by_the_monitor(world: ContainerdWorld, key: ContainerKey) -> None:
    """Start it as the monitor does: without any streams, for its record names no log (monitor/change.go of 1.6)."""
    eventually(lambda: world.task(key)[1] == "STOPPED", why="it is stopped")
    with suppress(AssertionError):  # The real one may be faster, where the label lets it.
        world.containerd.ctr("tasks", "delete", key.id)
        world.containerd.ctr("tasks", "start", "-d", "--null-io", key.id)


@pytest.mark.parametrize("labels_come_back", [False, True])
def test_one_that_the_monitor_started_in_the_midst_of_its_stop_goes_on_in_its_log(
    world: ContainerdWorld, labels_come_back: bool
) -> None:
    world.runtime.close()
    world.runtime = ContainerdRuntime(world.containerd.socket, limits=Limits(settle=4.0))
    key = ContainerKey("containerd", world.namespace, "web")
    world.run(key, *OBEYS, labels={STATUS: "running"})
    world.ready(key, 0)
    stopping = threading.Thread(target=world.runtime.stop, args=(key, LONG))
    stopping.start()
    eventually(lambda: SAVED_STREAMS in world.labels(key), why="its labels are set")
    if labels_come_back:
        # The monitor counts its starts in a label, and writes with it all that it had read before.
        world.label(key, SAVED_STREAMS, "")
        world.label(key, SAVED_STATUS, "")
        world.label(key, STATUS, "running")
    begun_by_the_monitor(world, key)
    stopping.join(PATIENCE)
    assert world.task(key)[1] == "STOPPED"
    world.runtime.start(key, NO_RESTART)
    eventually(lambda: world.said(key) == "ready\nready\n", why="it goes on in its log")
    assert only(world).restart_policy == "status=running"


def test_one_that_the_monitor_started_goes_on_in_its_log_when_another_life_of_cmgr_stops_it(
    world: ContainerdWorld,
) -> None:
    key = ContainerKey("containerd", world.namespace, "web")
    world.run(key, *OBEYS)
    world.ready(key, 0)
    world.runtime.stop(key, LONG)
    begun_by_the_monitor(world, key)
    world.runtime.close()
    world.runtime = ContainerdRuntime(world.containerd.socket)
    world.runtime.stop(key, timedelta())
    world.runtime.start(key, NO_RESTART)
    eventually(lambda: world.said(key) == "ready\nready\n", why="it goes on in its log")


def test_one_that_is_killed_after_its_grace_is_not_brought_back(world: ContainerdWorld, told: Told) -> None:
    key = ContainerKey("containerd", world.namespace, "deaf")
    labels = {"containerd.io/restart.status": "running"}
    world.run(key, *IGNORES, labels=labels)
    world.ready(key, 0)
    run = world.runtime.stop(key, timedelta(seconds=4)).run
    last = told.down(key)
    assert is_same_life(last.run, run)
    assert last.exit is not None
    stays_down(world, told, key, run)


def test_a_policy_of_another_runtime_is_refused(world: ContainerdWorld) -> None:
    key = world.create("web")
    with pytest.raises(ContainerError, match="'always:0' is none of containerd's"):
        world.runtime.set_restart_policy(key, "always:0")
    assert only(world).restart_policy == NO_RESTART


def test_other_labels_stay_as_they_are(world: ContainerdWorld) -> None:
    key = ContainerKey("containerd", world.namespace, "web")
    labels = {"a": "1", "containerd.io/restart.status": "running", "nerdctl/name": "shop", "a.b/c": "x y"}
    world.run(key, *OBEYS, labels=labels)
    before = world.labels(key)
    world.runtime.stop(key, timedelta())
    world.runtime.start(key, NO_RESTART)
    after = "\n".join(line for line in world.labels(key).splitlines() if "cmgr.io/saved-io" not in line)
    assert set(before.replace(",", "").split("\n")) == set(after.replace(",", "").split("\n"))
    assert only(world).name == "shop"
